"""Processor cycles per byte and per I/O at both ends, kernel and user apart.

The sources' measure is cycles/byte = %privileged CPU × clock × processors ÷ bytes per second (Talpey and Lovinger,
"SMB3 Application Workload Performance", metric "Overhead"): privileged time only, so that the load generator's own user
time is not in it. Where the processors count cycles, the counters are used instead; else the clock is stated with the
result, and a name plate is called one: under a hypervisor or with a varying frequency it is not what really ran.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from strata.analyse.stats import estimate
from strata.model.ends import CycleCost
from strata.model.estimate import Estimate
from strata.model.series import counter_labels

KERNEL_MODES = ("system", "irq", "softirq")
IDLE = 0.005
"""Of the machine's cycles: what a server spends that has nothing to do."""
COUNTED = "counted by the processors"


@dataclass(frozen=True)
class RoundWork:
    """One round: bytes and I/Os per second, counters' rates, and the generator's own processor time (s/s)."""

    bytes_per_second: float
    iops: float
    counters: Mapping[str, float]
    own_user: float | None = None
    own_system: float | None = None


@dataclass(frozen=True)
class _Spent:
    """Cycles per second of one end in one round."""

    kernel: float
    user: float | None
    clock_hz: float | None
    source: str


def cycles_per_byte(privileged_share: float, clock_hz: float, processors: int, bytes_per_second: float) -> float:
    """The sources' formula; ``privileged_share`` is 0..1 of all processors, ``bytes_per_second`` above 0."""
    return privileged_share * clock_hz * processors / bytes_per_second


def cycle_costs(rounds: Sequence[RoundWork]) -> tuple[CycleCost, ...]:
    """Every end whose processor time is known in all rounds, with intervals over the rounds."""
    if not rounds or any(r.bytes_per_second <= 0 or r.iops <= 0 for r in rounds):
        return ()
    ends: dict[tuple[str, str | None], list[_Spent]] = {}
    for one in rounds:
        for end, spent in _ends(one):
            ends.setdefault(end, []).append(spent)
    whole = ends.get(("machine", None), [])
    return tuple(
        _cost(end, node, spent, rounds)
        for (end, node), spent in ends.items()
        if len(spent) == len(rounds) and not (end.startswith("server") and _idle(spent, whole))
    )


def _idle(server: Sequence[_Spent], machine: Sequence[_Spent]) -> bool:
    """A server that took no part: another layer's, running beside."""
    mine, all_ = (sum(s.kernel + (s.user or 0.0) for s in some) for some in (server, machine))
    return mine == 0 or mine < IDLE * all_


def _ends(one: RoundWork) -> Iterator[tuple[tuple[str, str | None], _Spent]]:
    by_node: dict[str | None, dict[str, float]] = {}
    counted: dict[str | None, dict[str, float]] = {}
    clocks: dict[tuple[str | None, str], list[float]] = {}
    servers: dict[tuple[str, str | None], dict[str, float]] = {}
    for key, value in one.counters.items():
        metric, labels = counter_labels(key)
        node = labels.get("node")
        # The sum over all is there beside the parts on this machine, the parts alone on others.
        if metric == "cpu_seconds" and labels.get("cpu") != "all":
            modes = by_node.setdefault(node, {})
            modes[labels["mode"]] = modes.get(labels["mode"], 0.0) + value
        elif metric == "cpu_cycles":
            modes = counted.setdefault(node, {})
            modes[labels["mode"]] = modes.get(labels["mode"], 0.0) + value
        elif metric == "cpu_frequency_hz":
            clocks.setdefault((node, labels["source"]), []).append(value)
        elif metric == "server_cpu_seconds":
            servers.setdefault((f"server {labels['process']}", node), {})[labels["mode"]] = value
    for node, modes in by_node.items():
        if node in counted and {"kernel", "user"} <= counted[node].keys():
            yield ("machine", node), _Spent(counted[node]["kernel"], counted[node]["user"], None, COUNTED)
        elif (clock := _clock(clocks, node)) is not None and "system" in modes:
            hz, source = clock
            kernel = sum(modes.get(m, 0.0) for m in KERNEL_MODES)
            yield ("machine", node), _Spent(kernel * hz, modes.get("user", 0.0) * hz, hz, source)
    here = _clock(clocks, None)
    if here is None:
        return
    hz, source = here
    if one.own_user is not None and one.own_system is not None:
        yield ("generator", None), _Spent(one.own_system * hz, one.own_user * hz, hz, source)
    # A namespace's processes run on this machine's processors; another machine's are not seen.
    for end, modes in servers.items():
        if {"user", "system"} <= modes.keys():
            yield end, _Spent(modes["system"] * hz, modes["user"] * hz, hz, source)


def _clock(clocks: Mapping[tuple[str | None, str], list[float]], node: str | None) -> tuple[float, str] | None:
    for source, words in (("cpufreq", "processor time × clock ({}, as cpufreq reads it)"),
                          ("cpuinfo", "processor time × clock ({}, the name plate of /proc/cpuinfo)")):  # fmt: skip
        if values := clocks.get((node, source)):
            hz = sum(values) / len(values)
            return hz, words.format(f"{hz / 1e9:.2f} GHz")
    return None


def _cost(end: str, node: str | None, spent: Sequence[_Spent], rounds: Sequence[RoundWork]) -> CycleCost:
    def over(what: Sequence[float | None], by: Sequence[float], unit: str) -> Estimate | None:
        known = [w / b for w, b in zip(what, by, strict=True) if w is not None]
        return estimate(known, unit) if len(known) == len(what) else None

    sizes, ios = [r.bytes_per_second for r in rounds], [r.iops for r in rounds]
    kernel, user = [s.kernel for s in spent], [s.user for s in spent]
    per_byte, per_io = over(kernel, sizes, "cycles/B"), over(kernel, ios, "cycles")
    assert per_byte is not None and per_io is not None, "the kernel's part is always known"
    return CycleCost(
        end=end,
        node=node,
        kernel_per_byte=per_byte,
        user_per_byte=over(user, sizes, "cycles/B"),
        kernel_per_io=per_io,
        user_per_io=over(user, ios, "cycles"),
        clock_hz=spent[0].clock_hz,
        source=spent[0].source,
    )
