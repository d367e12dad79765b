"""Checks of the machine: load, CPUs, memory, limits."""

from __future__ import annotations

from collections.abc import Iterator

from strata import units
from strata.discover.notices.say import info, warn
from strata.model.survey import Notice, Survey

BUSY_SHARE, STEAL_SHARE = 0.20, 0.02
BUSY_IOPS, BUSY_NET_BYTES = 50.0, units.MIB
DIRTY_SHARE = 0.05
WAKE_UP_US = 20
"""Between the light states (C1, C1E: 2 and 10 µs) and the deep ones (C3, C6: 40 and 133) of Linux's intel_idle."""
SENSIBLE_FILE_BYTES = 8 * units.GIB
"""Larger test files take so long to fill that nobody waits for them."""

_GOOD_CLOCKS = {"tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "timebase", "riscv_clocksource"}


def busy(survey: Survey) -> Iterator[Notice]:
    """Somebody else is at work."""
    load = survey.load
    signs = []
    if load.cpu_busy > BUSY_SHARE:
        signs.append(f"CPUs {units.percent(load.cpu_busy)} busy")
    names = {d.name for d in survey.devices}
    signs += [f"{n} {units.count(r)} IOPS" for n, r in load.disk_iops.items() if n in names and r > BUSY_IOPS]
    signs += [f"{n} {units.rate(r)}" for n, r in load.net_bytes.items() if r > BUSY_NET_BYTES]
    if signs:
        yield warn(
            "machine.busy",
            f"the machine is busy already: {', '.join(signs)}",
            "other work competes with the measurement: figures are lower and vary more, as if the storage were slow",
            "stop the other work (see top, iotop), or use more --rounds",
        )
    if load.cpu_steal > STEAL_SHARE:
        yield warn(
            "machine.steal",
            f"the hypervisor gave {units.percent(load.cpu_steal)} of the CPU time to other guests (steal)",
            "latency tails are then caused by scheduling on the host, not by the storage",
            "use a host with dedicated CPUs, or repeat at a quieter time",
        )


def clocks(survey: Survey) -> Iterator[Notice]:
    """CPUs that change speed, clocks that cost."""
    cpu = survey.cpu
    slow = {name: cpus for name, cpus in cpu.governors.items() if name != "performance"}
    if slow or cpu.governor not in (None, "performance", *cpu.governors):
        # Of one governor all CPUs, of several those that are slower.
        which = ", ".join(f"{name} (CPU {cpus})" for name, cpus in slow.items())
        said = f"the CPU frequency governor is {cpu.governor}" if len(cpu.governors) < 2 else f"CPUs run under {which}"
        yield warn(
            "machine.governor",
            said,
            "a CPU that waits for I/O lowers its clock, so every completion takes longer"
            + ("" if len(cpu.governors) < 2 else ", on these CPUs and not on others"),
            "during the measurement: cpupower frequency-set -g performance",
        )
    if cpu.idle_wake_us is not None and cpu.idle_wake_us > WAKE_UP_US:
        yield warn(
            "machine.deep-sleep",
            f"CPUs may enter idle state {cpu.idle_state}, with a wake-up latency of {cpu.idle_wake_us} µs",
            "at small queue depths they sleep between two I/Os: the wake-up is part of each latency, and differs from "
            "run to run",
            "during the measurement: tuned-adm profile latency-performance, or cpupower idle-set -D 20",
        )
    if cpu.clocksource is not None and cpu.clocksource not in _GOOD_CLOCKS:
        yield warn(
            "machine.clocksource",
            f"the clock source is {cpu.clocksource}",
            "each clock read is a system call that takes up to microseconds: fast devices look slower",
            "find out why the kernel rejected the TSC: dmesg | grep -i tsc",
        )
    if cpu.turbo:
        yield info(
            "machine.turbo",
            "turbo is on",
            "the clock depends on temperature and on the number of active cores, so early cells may run faster",
            "interleaved rounds reduce the effect; for the last percent, switch turbo off",
        )


def threads(survey: Survey) -> Iterator[Notice]:
    """Two logical CPUs of one core are not two CPUs."""
    cpu = survey.cpu
    if cpu.smt and (cpu.threads_per_core or 1) > 1:
        yield info(
            "machine.smt",
            f"SMT is on: {cpu.threads_per_core} logical CPUs share a core",
            "a load generator, an interrupt and a server on one core slow each other down, and a CPU at 50 % may be "
            "its core at 100 %",
            "compare CPU figures per core (--cpus with one thread of each); echo off > "
            "/sys/devices/system/cpu/smt/control",
        )


def cards(survey: Survey) -> Iterator[Notice]:
    """A link that came up worse than its card."""
    for card in survey.interfaces:
        if card.card and card.duplex == "half":
            yield warn(
                "machine.half-duplex",
                f"{card.name} runs in half duplex",
                "both directions share the wire, and collisions delay packets",
                f"check the cable and the switch port: ethtool {card.name}",
            )


def processors(survey: Survey) -> Iterator[Notice]:
    """Too few to drive and to serve at once."""
    if survey.cpu.usable < 2:
        yield warn(
            "machine.few-processors",
            f"only {units.plural(survey.cpu.usable, 'CPU')} can be used",
            "the load generator, the kernel and a local server share them: the generator may be the limit",
            "give the machine or its control group at least two, or generate the load on another machine",
        )
    if survey.cpu.hypervisor:
        yield info(
            "machine.virtual",
            f"this is a virtual machine ({survey.cpu.hypervisor})",
            "other guests of the host are not visible from here and use the same resources",
            "check the steal time and the noise floor with every figure",
        )


def cgroups(survey: Survey) -> Iterator[Notice]:
    """Limits that throttle, and would be taken for the storage's."""
    limits = survey.limits
    numbers = {d.devno: d.name for d in survey.devices}
    for key, value in limits.items():
        kind, _, rest = key.partition(" ")
        devno, _, what = rest.partition(" ")
        if kind == "io" and devno in numbers:
            said = units.rate(float(value)) if what.endswith("bps") else f"{units.count(float(value))} IOPS"
            yield warn(
                "machine.cgroup-io",
                f"a control group limits {numbers[devno]} to {said} ({what})",
                "requests above it wait before they reach the disk: the device looks idle and the application slow",
                "run outside of the group, unless the limit is what you want to measure",
            )
    if "cpu" in limits:
        yield warn(
            "machine.cgroup-cpu",
            f"a control group limits this process to {units.plural(float(limits['cpu']), 'CPU')}",
            "when the quota is used up, the process stops until the next period: tail latencies near 100 ms",
            "run outside of the group, or raise its quota",
        )
    if "memory" in limits:
        yield info(
            "machine.cgroup-memory",
            f"a control group limits memory to {units.size(float(limits['memory']))}",
            "the page cache counts towards it: buffered figures differ from those outside of the group",
        )
    if "io_uring_disabled" in limits:
        yield info(
            "machine.no-io-uring",
            "io_uring is switched off (kernel.io_uring_disabled)",
            "the thread-pool engine is used: it costs more CPU time per request",
            "sysctl kernel.io_uring_disabled=0, if your security policy allows it",
        )


def memory(survey: Survey) -> Iterator[Notice]:
    """Caches that answer instead of the disk."""
    main, fs = survey.memory, survey.file_system
    cache = min(main.total, main.limit or main.total)
    if fs.available and cache > min(fs.available // 2, SENSIBLE_FILE_BYTES):
        yield info(
            "machine.page-cache",
            f"{units.size(cache)} of memory can cache more than a typical test file "
            f"({units.size(fs.available)} are free on {fs.mount_point})",
            "buffered reads of the file come from memory after the first pass",
            "use direct I/O (the default), unless you want to measure the cache",
        )
    if main.dirty > main.total * DIRTY_SHARE:
        yield warn(
            "machine.dirty",
            f"{units.size(main.dirty)} of dirty pages wait to be written back",
            "the kernel writes them out during the measurement",
            "run sync, and wait until it returns",
        )


def kernel(survey: Survey) -> Iterator[Notice]:
    """A kernel built to find its own faults."""
    if "debug" in survey.kernel:
        yield warn(
            "machine.debug-kernel",
            f"the kernel is a debug build ({survey.kernel})",
            "its checks cost CPU time in every request",
            "boot a release build of the same kernel",
        )


CHECKS = (busy, clocks, threads, processors, cards, cgroups, memory, kernel)
