"""CPU cycles per byte and per I/O at both ends, kernel and user apart.

The sources' measure is cycles/byte = %privileged CPU × clock × CPUs ÷ bytes per second (Talpey and Lovinger,
"SMB3 Application Workload Performance", metric "Overhead"): privileged time only, so that the load generator's own user
time is not in it. Where the CPUs count cycles, the counters are used instead; else the clock is stated with the
result, and a name plate is called one: under a hypervisor or with a varying frequency it is not what really ran.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from strata.analyse.stats import estimate
from strata.model.counters import Counter, Key, Readings, cpu, servers
from strata.model.ends import CycleCost
from strata.model.estimate import Estimate
from strata.model.groups import grouped

IDLE = 0.005
"""Of the machine's cycles: what a server spends that has nothing to do."""
COUNTED = "counted by the CPUs"


@dataclass(frozen=True)
class RoundWork:
    """One round: bytes and I/Os per second, what the counters said, and the generator's own CPU time (s/s)."""

    bytes_per_second: float
    iops: float
    told: Readings
    own_user: float | None = None
    own_system: float | None = None


@dataclass(frozen=True)
class _End:
    """``process``: the server's, None where it is no server."""

    words: str
    node: str | None
    process: str | None = None


@dataclass(frozen=True)
class _Spent:
    """Cycles per second of one end in one round."""

    kernel: float
    user: float | None
    clock_hz: float | None
    source: str


def cycle_costs(rounds: Sequence[RoundWork]) -> tuple[CycleCost, ...]:
    """Every end whose CPU time is known in all rounds, with intervals over the rounds."""
    if not rounds or any(r.bytes_per_second <= 0 or r.iops <= 0 for r in rounds):
        return ()
    ends = grouped(told for one in rounds for told in _ends(one))
    whole = ends.get(_End("machine", None), [])
    return tuple(
        _cost(end, spent, rounds)
        for end, spent in ends.items()
        if len(spent) == len(rounds) and not (end.process is not None and _idle(spent, whole))
    )


def _idle(server: Sequence[_Spent], machine: Sequence[_Spent]) -> bool:
    """A server that took no part: another layer's, running beside."""
    mine, all_ = (sum(s.kernel + (s.user or 0.0) for s in some) for some in (server, machine))
    return mine == 0 or mine < IDLE * all_


def _ends(one: RoundWork) -> Iterator[tuple[_End, _Spent]]:
    told = one.told
    clocks = told.each(cpu.FREQUENCY, "node", "source")
    spent, counted = _by_node(told, cpu.SECONDS), _by_node(told, cpu.CYCLES)
    for node, modes in spent.items():
        rings = counted.get(node, {})
        if all(ring in rings for ring in cpu.RINGS):
            yield _End("machine", node), _Spent(rings["kernel"], rings["user"], None, COUNTED)
        elif (clock := _clock(clocks, node)) is not None and "system" in modes:
            hz, source = clock
            kernel = sum(modes.get(m, 0.0) for m in cpu.KERNEL_MODES)
            yield _End("machine", node), _Spent(kernel * hz, modes.get("user", 0.0) * hz, hz, source)
    here = _clock(clocks, None)
    if here is None:
        return
    hz, source = here
    if one.own_user is not None and one.own_system is not None:
        yield _End("generator", None), _Spent(one.own_system * hz, one.own_user * hz, hz, source)
    # A namespace's processes run on this machine's processors; another machine's are not seen.
    ends: dict[_End, dict[str, float]] = {}
    for r in told.of(servers.CPU_SECONDS):
        ends.setdefault(_End(f"server {r['process']}", r.node, r["process"]), {})[r["mode"]] = r.value
    for end, modes in ends.items():
        if all(mode in modes for mode in servers.MODES):
            yield end, _Spent(modes["system"] * hz, modes["user"] * hz, hz, source)


def _by_node(told: Readings, counter: Counter) -> dict[str | None, dict[str, float]]:
    """Of each node what it spent in each mode, over its CPUs."""
    found: dict[str | None, dict[str, float]] = {}
    for (node, mode), value in told.each(counter, "node", "mode").items():
        found.setdefault(node, {})[str(mode)] = value
    return found


def _clock(clocks: Mapping[Key, float], node: str | None) -> tuple[float, str] | None:
    for source, words in (("cpufreq", "CPU time × clock ({}, as cpufreq reads it)"),
                          ("cpuinfo", "CPU time × clock ({}, nominal, from /proc/cpuinfo)")):  # fmt: skip
        if (hz := clocks.get((node, source))) is not None:
            return hz, words.format(f"{hz / 1e9:.2f} GHz")
    return None


def _cost(end: _End, spent: Sequence[_Spent], rounds: Sequence[RoundWork]) -> CycleCost:
    def over(what: Sequence[float | None], by: Sequence[float], unit: str) -> Estimate | None:
        known = [w / b for w, b in zip(what, by, strict=True) if w is not None]
        return estimate(known, unit) if len(known) == len(what) else None

    sizes, ios = [r.bytes_per_second for r in rounds], [r.iops for r in rounds]
    kernel, user = [s.kernel for s in spent], [s.user for s in spent]
    per_byte, per_io = over(kernel, sizes, "cycles/B"), over(kernel, ios, "cycles")
    assert per_byte is not None and per_io is not None, "the kernel's part is always known"
    return CycleCost(
        end=end.words,
        node=end.node,
        kernel_per_byte=per_byte,
        user_per_byte=over(user, sizes, "cycles/B"),
        kernel_per_io=per_io,
        user_per_io=over(user, ios, "cycles"),
        clock_hz=spent[0].clock_hz,
        source=spent[0].source,
    )
