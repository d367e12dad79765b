"""The survey for the terminal: what stands under the path, and what will spoil a measurement."""

from __future__ import annotations

from strata import units
from strata.model.survey import Device, Severity, Survey
from strata.report import figures
from strata.report.text_layout import Paint, clean, field, wrap

_LABEL = 12


def device_facts(device: Device) -> tuple[str, ...]:
    """What is known of a device, in the order of interest. Unknown facts are absent."""
    # Behind a virtual disk the flag is the hypervisor's guess.
    sure = device.rotational is not None and "virtual" not in device.detail.get("medium", "")
    blocks = f"{device.logical_block}/{device.physical_block}" if device.logical_block and device.physical_block else ""
    depth = f" of {device.nr_requests}" if device.nr_requests else ""
    facts = (
        units.size(device.size) if device.size is not None else "",
        (device.model or "").strip(),
        f"firmware {device.firmware}" if device.firmware else "",
        device.transport or "",
        ("rotating" if device.rotational else "not rotating") if sure else "",
        f"write cache: {device.write_cache}" if device.write_cache else "",
        f"scheduler {device.scheduler}" if device.scheduler else "",
        f"blocks {blocks} B logical/physical" if blocks else "",
        f"{figures.plural(device.queues, 'queue')}{depth}" if device.queues else "",
        f"misaligned by {device.alignment_offset} B" if device.alignment_offset else "",
        "read-only" if device.read_only else "",
        f"members {', '.join(device.members)}" if device.members else "",
    )
    return (*filter(None, facts), *_details(device.detail))


def _details(detail: dict[str, str]) -> list[str]:
    """Free facts as `name value`: sizes scaled, underscores gone."""
    facts = []
    for key, value in detail.items():
        for ending, factor in (("_bytes", 1), ("_kib", units.KIB)):
            if key.endswith(ending) and value.isdigit():
                facts.append(f"{key.removesuffix(ending).replace('_', ' ')} {units.size(int(value) * factor)}")
                break
        else:
            facts.append(f"{key.replace('_', ' ')} {value}")
    return facts


def file_system_facts(survey: Survey) -> tuple[str, ...]:
    """Source, sizes and options of the file system."""
    fs = survey.file_system
    facts = [f"from {fs.source}", f"{units.size(fs.available)} available of {units.size(fs.size)}"]
    facts += [f"block {units.size(fs.block_size)}", ",".join(fs.options), "remote" if fs.remote else ""]
    return (*filter(None, facts), *_details(fs.detail))


def cpu_facts(survey: Survey) -> tuple[str, ...]:
    """Processors, clocks and who lends them."""
    cpu = survey.cpu
    wake = f"{units.count(cpu.idle_wake_us or 0)} µs wake-up latency, according to its driver"
    more = (
        f"{cpu.numa_nodes} NUMA nodes" if cpu.numa_nodes > 1 else "",
        f"{cpu.mhz:.0f} MHz" if cpu.mhz else "",
        f"governor {cpu.governor}" if cpu.governor else "",
        "" if cpu.turbo is None else "turbo on" if cpu.turbo else "turbo off",
        f"deepest sleep {cpu.idle_state} ({wake})" if cpu.idle_state is not None else "",
        f"hypervisor {cpu.hypervisor}" if cpu.hypervisor else "",
        f"clock {cpu.clocksource}" if cpu.clocksource else "",
    )
    return (cpu.model, f"{cpu.usable:g} of {figures.plural(cpu.logical, 'CPU')} usable", *filter(None, more))


def memory_facts(survey: Survey) -> tuple[str, ...]:
    """Memory, what of it holds file data, and the limit that binds."""
    m = survey.memory
    facts = [f"{units.size(m.available)} available of {units.size(m.total)}", f"{units.size(m.cached)} cached"]
    limit = () if m.limit is None else (f"cgroup limit {units.size(m.limit)}",)
    return (*facts, f"{units.size(m.dirty)} dirty", *limit)


def load_facts(survey: Survey) -> tuple[str, ...]:
    """How busy the machine was before anything of Strata ran."""
    load = survey.load
    facts = [f"CPUs {figures.percent(load.cpu_busy)} busy", f"{figures.percent(load.cpu_steal)} steal"]
    facts += [f"{name} {units.count(iops)} IOPS" for name, iops in load.disk_iops.items() if iops >= 1]
    facts += [f"{name} {units.rate(rate)}" for name, rate in load.net_bytes.items() if rate >= 1024]
    return (*facts, f"over {load.seconds:g} s")


def survey_text(survey: Survey, width: int, color: bool = False) -> str:
    """The survey in at most ``width`` columns."""
    paint = Paint(color)
    out = [paint(clean(survey.path), "bold")]
    out += wrap(f"{survey.hostname} · {survey.os} · kernel {survey.kernel}", width, "  ")
    out.append("")
    fs = survey.file_system
    out += field("path", f"{fs.mount_point} · {fs.kind}", width, column=_LABEL)
    out += wrap(" · ".join(file_system_facts(survey)), width, " " * (_LABEL + 4))
    for i, device in enumerate(survey.devices):
        last = i == len(survey.devices) - 1
        arrow = "└─ " if last else "├─ "
        out += field("medium" if last else "on", f"{arrow}{device.path} · {device.kind}", width, column=_LABEL)
        out += wrap(" · ".join(device_facts(device)), width, " " * (_LABEL + 7))
    out.append("")
    out += field("CPUs", " · ".join(cpu_facts(survey)), width, column=_LABEL)
    out += field("memory", " · ".join(memory_facts(survey)), width, column=_LABEL)
    out += field("load", " · ".join(load_facts(survey)), width, column=_LABEL)
    for name, value in survey.limits.items():
        out += field("limit", f"{name}: {value}", width, column=_LABEL)
    if not survey.privileged:
        out += field("rights", "not root: raw devices and some counters cannot be read", width, column=_LABEL)
    if survey.unreadable:
        out += field("unreadable", ", ".join(survey.unreadable), width, column=_LABEL)
    for notice in sorted(survey.notices, key=lambda n: n.severity is not Severity.WARNING):
        out.append("")
        sign = "!" if notice.severity is Severity.WARNING else "·"
        style = ("yellow", "bold") if notice.severity is Severity.WARNING else ("bold",)
        out += [paint(line, *style) for line in wrap(f"{sign} {notice.what}", width, "", "  ")]
        out += wrap(notice.why, width, "  ")
        if notice.next_step:
            out += wrap(f"→ {notice.next_step}", width, "  ", "    ")
    return "\n".join(out)
