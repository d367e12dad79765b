"""The facts of a survey in words, shared by the terminal and the page."""

from __future__ import annotations

from strata import units
from strata.model.hardware import NOT_TIERS, Geometry, Health, Interface, Multipath
from strata.model.survey import Cpu, Device, Survey
from strata.report import figures


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
        geometry_fact(device.geometry) if device.geometry else "",
        *(paths_facts(device.multipath) if device.multipath else ()),
        *(health_facts(device.health) if device.health else ()),
    )
    return (*filter(None, facts), *_details(device.detail))


def geometry_fact(array: Geometry) -> str:
    """``raid5 of 4: 3 × 64 KiB + 1 parity, full stripe 192 KiB``."""
    if array.level == "thin pool":
        return f"thin pool of {units.size(array.chunk)} chunks"
    of = f" of {array.members}" if array.members else ""
    more = f" + {array.parity} parity" if array.parity else f", {array.copies} copies" if array.copies > 1 else ""
    return f"{array.level}{of}: {array.data} × {units.size(array.chunk)}{more}, full stripe {units.size(array.stripe)}"


def paths_facts(paths: Multipath) -> tuple[str, ...]:
    """How many paths carry I/O, and by which policy."""
    works = sum(path.works for path in paths.paths)
    policy = f"policy {paths.policy}" if paths.policy else "policy unknown"
    groups = f" in {figures.plural(paths.groups, 'group')}" if paths.groups else ""
    return f"{paths.how}: {works} of {figures.plural(len(paths.paths), 'path')} work{groups}", policy


def health_facts(found: Health) -> tuple[str, ...]:
    """What a healthy device is worth saying of, and every error."""
    errors = (
        (found.reallocated, "reallocated"), (found.pending, "pending"), (found.uncorrected, "uncorrected"),
        (found.link_errors, "link errors"), (found.kernel_errors, "failed requests"),
    )  # fmt: skip
    facts = (
        "" if found.passed is None else "health passed" if found.passed else "health FAILED",
        "" if found.celsius is None else f"{found.celsius:g} °C",
        "" if found.used is None else f"{units.percent(found.used)} of its life used",
        "" if found.spare is None or found.spare >= 1 else f"{units.percent(found.spare)} spare left",
        "" if found.hours is None else f"{units.count(found.hours)} h in operation",
        *(f"{units.count(number)} {what}" for number, what in errors if number),
        f"{units.duration(found.hot_seconds * units.NS_PER_S)} too hot" if found.hot_seconds else "",
    )
    return tuple(filter(None, facts))


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
    facts += [geometry_fact(fs.geometry) if fs.geometry else "", fragments_fact(survey)]
    return (*filter(None, facts), *_details(fs.detail))


def fragments_fact(survey: Survey) -> str:
    """Of the file that was surveyed; empty where it is none."""
    file = survey.file
    if file is None or file.fragments is None:
        return ""
    at_least = "" if file.whole else "more than "
    return f"the file has {at_least}{figures.plural(file.fragments, 'fragment')}"


def cpu_facts(survey: Survey) -> tuple[str, ...]:
    """CPUs, clocks and who lends them."""
    cpu = survey.cpu
    wake = f"{units.count(cpu.idle_wake_us or 0)} µs wake-up latency, according to its driver"
    sockets = f"{figures.plural(cpu.sockets or 0, 'socket')} × {figures.plural(cpu.cores_per_socket or 0, 'core')}"
    more = (
        sockets if cpu.sockets and cpu.cores_per_socket else "",
        "" if cpu.smt is None else f"SMT on ({cpu.threads_per_core} threads)" if cpu.smt else "SMT off",
        f"{cpu.numa_nodes} NUMA nodes" if cpu.numa_nodes > 1 else "",
        f"{cpu.mhz:.0f} MHz" if cpu.mhz else "",
        _governor(cpu),
        "" if cpu.turbo is None else "turbo on" if cpu.turbo else "turbo off",
        f"deepest sleep {cpu.idle_state} ({wake})" if cpu.idle_state is not None else "",
        f"hypervisor {cpu.hypervisor}" if cpu.hypervisor else "",
        f"clock {cpu.clocksource}" if cpu.clocksource else "",
    )
    return (cpu.model, f"{cpu.usable:g} of {figures.plural(cpu.logical, 'CPU')} usable", *filter(None, more))


def _governor(cpu: Cpu) -> str:
    if len(cpu.governors) > 1:
        return "governors " + ", ".join(f"{name} on {cpus}" for name, cpus in cpu.governors.items())
    return f"governor {cpu.governor}" if cpu.governor else ""


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
    return (*facts, f"over {load.seconds:.3g} s")


def tier_facts(survey: Survey, every: bool = True) -> tuple[str, ...]:
    """Every cache and tier with its size; not ``every``: those that nothing else names."""
    found = []
    for tier in survey.tiers:
        if not every and tier.kind in NOT_TIERS:
            continue
        parts = (
            f"{tier.kind} of {tier.at}", units.size(tier.size) if tier.size is not None else "size unknown",
            tier.mode or "", f"on {tier.medium}" if tier.medium not in (None, "memory") else "",
            f"{units.size(tier.dirty)} dirty" if tier.dirty else "",
            "" if tier.hit_share is None else f"{units.percent(tier.hit_share)} hits",
        )  # fmt: skip
        found.append(", ".join(filter(None, parts)))
    return tuple(found)


def interface_facts(one: Interface, *, offloads: bool = False) -> str:
    """``ens3f0 ethernet, 25 Gbit/s, MTU 9 000, mlx5_0 RoCE, mlx5_core``."""
    parts = (
        f"{one.name} {one.kind}", units.bit_rate(one.rate) if one.rate else "rate unknown" if one.card else "",
        f"{one.duplex} duplex" if one.duplex == "half" or (offloads and one.duplex) else "",
        f"MTU {one.mtu}" if one.mtu else "", *one.rdma, one.driver or "",
        f"of {' and '.join(one.members)}" if one.members else "",
        f"firmware {one.firmware}" if offloads and one.firmware else "",
        figures.plural(one.queues, "queue") if offloads and one.queues else "",
        f"NUMA node {one.numa_node}" if offloads and one.numa_node is not None else "",
    )  # fmt: skip
    on, off = ([name for name, is_on in one.offloads.items() if is_on is wanted] for wanted in (True, False))
    told = [f"on: {' '.join(on)}"] * bool(on) + [f"off: {' '.join(off)}"] * bool(off)
    return ", ".join(filter(None, parts)) + (f"; offloads {', '.join(told)}" if offloads and told else "")


def cards(survey: Survey) -> tuple[str, ...]:
    """The cards, and what is made of several (bonds, bridges)."""
    return tuple(interface_facts(one) for one in survey.interfaces if one.card or one.members)


def log_fact(survey: Survey) -> str:
    """How many errors of storage the kernel has logged, and of which devices; empty where it could not be read."""
    log = survey.kernel_log
    if log is None:
        return ""
    since = "since the start" if log.whole else "in what is left of it (older lines are lost)"
    if not log.count:
        return f"no storage errors {since}"
    ours = sorted({line.device for line in log.lines if line.device})
    whose = f"of {', '.join(ours)}" if ours else "none of these devices"
    return f"{figures.plural(log.count, 'storage error')} {since}, {whose}"


def log_lines(survey: Survey) -> tuple[str, ...]:
    """The last lines, each with its instant; one that follows itself is counted."""
    told: list[tuple[str, str, int]] = []
    for line in survey.kernel_log.lines if survey.kernel_log else ():
        at = units.duration(line.seconds * units.NS_PER_S)
        if told and told[-1][1] == line.text:
            told[-1] = (told[-1][0], line.text, told[-1][2] + 1)
        else:
            told.append((at, line.text, 1))
    return tuple(f"{at}: {text}{f' ({times} times)' if times > 1 else ''}" for at, text, times in told)


def placing_facts(survey: Survey) -> tuple[str, ...]:
    """What follows from the allocation unit and from the array, with the arithmetic."""
    placing, array = survey.file_system.placing, survey.array
    if placing is None:
        return ()
    facts = [
        f"allocation unit {units.size(placing.unit)}: 1 GiB of a file lies in at most "
        f"{units.count(placing.fragments_per_gib)} fragments (size ÷ unit)"
    ]
    if placing.unit_advised and placing.unit_advised != placing.unit:
        fewer = units.count(units.GIB // placing.unit_advised)
        facts.append(
            f"{units.size(placing.unit_advised)} is advised for large files, virtual disks and databases where it can "
            f"be chosen (NTFS, ReFS, ZFS): at most {fewer} fragments a GiB"
        )
    if placing.align:
        facts.append(f"partitions and volumes begin at multiples of {units.size(placing.align)}")
    if array is not None and array.data > 1:
        aligned, other = array.pieces(2 * array.chunk, array.chunk), array.pieces(2 * array.chunk, placing.unit)
        facts.append(
            f"an I/O of {units.size(2 * array.chunk)} touches {aligned} members when it is aligned to "
            f"{units.size(array.chunk)}, up to {other} when only to {units.size(placing.unit)}"
        )
    if array is not None and array.parity:
        facts.append(
            f"a write within a chunk causes {array.small_write_requests} requests (2 × (1 + {array.parity} parity)); "
            f"one of {units.size(array.stripe)}, aligned, reads nothing"
        )
    if placing.stripe_width:
        facts.append(f"the file system aligns to {units.size(placing.stripe_width)}")
    if placing.mkfs:
        facts.append(f"for a new file system: {placing.mkfs}")
    if placing.free_groups:
        facts.append(
            f"{units.count(placing.free_groups_small or 0)} of {units.count(placing.free_groups)} block groups have no "
            "free MiB in one piece"
        )
    return tuple(facts)
