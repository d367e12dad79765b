"""Checks of the machine: load, processors, memory, limits."""

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
        signs.append(f"processors {units.percent(load.cpu_busy)} busy")
    names = {d.name for d in survey.devices}
    signs += [f"{n} {units.count(r)} IOPS" for n, r in load.disk_iops.items() if n in names and r > BUSY_IOPS]
    signs += [f"{n} {units.rate(r)}" for n, r in load.net_bytes.items() if r > BUSY_NET_BYTES]
    if signs:
        yield warn(
            "machine.busy",
            f"the machine is busy already: {', '.join(signs)}",
            "others' work queues with ours: figures are lower and vary more, and the cause looks like the storage",
            "stop the other work (top, iotop), or ask for more rounds so that the intervals stay honest",
        )
    if load.cpu_steal > STEAL_SHARE:
        yield warn(
            "machine.steal",
            f"the hypervisor took {units.percent(load.cpu_steal)} of the processor time for others",
            "latency tails then are the host's scheduling, not the storage",
            "move to a host with dedicated processors, or repeat at a quieter time",
        )


def clocks(survey: Survey) -> Iterator[Notice]:
    """Processors that change speed, clocks that cost."""
    cpu = survey.cpu
    if cpu.governor is not None and cpu.governor != "performance":
        yield warn(
            "machine.governor",
            f"the frequency governor is {cpu.governor}",
            "a processor that waits for I/O clocks down, and every completion then takes longer than it need",
            "cpupower frequency-set -g performance, for the time of the measurement",
        )
    if cpu.idle_wake_us is not None and cpu.idle_wake_us > WAKE_UP_US:
        yield warn(
            "machine.deep-sleep",
            f"processors may sleep as deep as {cpu.idle_state}, and take {cpu.idle_wake_us} µs to wake up",
            "at small queue depths they sleep between two I/Os: waking up is part of each latency, and differs from one"
            " start to the next",
            "tuned-adm profile latency-performance, or cpupower idle-set -D 20, for the time of the measurement",
        )
    if cpu.clocksource is not None and cpu.clocksource not in _GOOD_CLOCKS:
        yield warn(
            "machine.clocksource",
            f"the clock source is {cpu.clocksource}",
            "each reading of the clock costs a system call and up to microseconds: fast devices look slower",
            "find out why the TSC was given up: dmesg | grep -i tsc",
        )
    if cpu.turbo:
        yield info(
            "machine.turbo",
            "turbo is on",
            "the clock depends on temperature and on how many cores work, so early cells may run faster than late ones",
            "the rounds are interleaved against this; for the last percent switch it off",
        )


def processors(survey: Survey) -> Iterator[Notice]:
    """Too few to drive and to serve at once."""
    if survey.cpu.usable < 2:
        yield warn(
            "machine.few-processors",
            f"{survey.cpu.usable:g} processor(s) may be used",
            "the load generator, the kernel and a local server share them: the generator may be the limit",
            "give the machine or its group at least two, or drive the load from elsewhere",
        )
    if survey.cpu.hypervisor:
        yield info(
            "machine.virtual",
            f"this is a virtual machine ({survey.cpu.hypervisor})",
            "the host's other guests are not visible from here and take their share",
            "look at steal time and at the noise floor beside every figure",
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
                "requests above it wait before the disk sees them: the device looks idle and the application slow",
                "run outside of the group, or name the limit as what you want to measure",
            )
    if "cpu" in limits:
        yield warn(
            "machine.cgroup-cpu",
            f"a control group limits this process to {limits['cpu']} processor(s)",
            "when the quota is used up everything stands still until the next period: tails near 100 ms",
            "run outside of the group, or raise its quota",
        )
    if "memory" in limits:
        yield info(
            "machine.cgroup-memory",
            f"a control group limits memory to {units.size(float(limits['memory']))}",
            "the page cache counts against it: buffered figures differ from those outside of the group",
        )
    if "io_uring_disabled" in limits:
        yield info(
            "machine.no-io-uring",
            "io_uring is switched off (kernel.io_uring_disabled)",
            "the thread-pool engine is used: it costs more processor time per request",
            "sysctl kernel.io_uring_disabled=0, if the site's rules allow it",
        )


def memory(survey: Survey) -> Iterator[Notice]:
    """Caches that answer instead of the disk."""
    main, fs = survey.memory, survey.file_system
    cache = min(main.total, main.limit or main.total)
    if fs.available and cache > min(fs.available // 2, SENSIBLE_FILE_BYTES):
        yield info(
            "machine.page-cache",
            f"{units.size(cache)} of memory can cache more than a sensible test file "
            f"({units.size(fs.available)} are free on {fs.mount_point})",
            "buffered reads of the file come from memory after the first pass",
            "measure unbuffered (the default), or say that the cache is what you want to know",
        )
    if main.dirty > main.total * DIRTY_SHARE:
        yield warn(
            "machine.dirty",
            f"{units.size(main.dirty)} wait in memory to be written",
            "the kernel writes them out during the measurement",
            "sync, and wait until it returns",
        )


def kernel(survey: Survey) -> Iterator[Notice]:
    """A kernel built to find its own faults."""
    if "debug" in survey.kernel:
        yield warn(
            "machine.debug-kernel",
            f"the kernel is a debug build ({survey.kernel})",
            "its checks cost processor time in every request",
            "boot the release build of the same kernel",
        )


CHECKS = (busy, clocks, processors, cgroups, memory, kernel)
