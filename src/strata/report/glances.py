"""The counters of this moment in words: a line for each device and each node, what says most first."""

from __future__ import annotations

from strata import units
from strata.model.progress import DeviceNow, Glance, NodeNow
from strata.report.textual import cell_len, clean, fit, left

WIRE_IDLE = 100_000.0
"""Bytes per second below which a wire is not worth a word: what any machine chats."""
HERE = "here"
_NAME, _DEVICES, _NODES = 9, 4, 6
_HELD_BACK, _USED = 0.01, 0.005


def glances(now: Glance, room: int) -> list[str]:
    """Devices, this machine, other nodes, each in ``room`` cells: what does not fit is left out whole."""
    told = [(d.name, _device(d)) for d in now.devices[:_DEVICES]]
    machine = []
    if now.busy is not None:
        machine.append(f"cpu {units.percent(now.busy, 2)}")
    if now.own is not None:
        machine.append(f"strata {_processors(now.own)}")
    told += [(HERE, [*machine, *_node(n)]) for n in now.nodes if n.name is None]
    told += [(n.name, _node(n)) for n in [n for n in now.nodes if n.name is not None][:_NODES] if n.name]
    return [_line(clean(name), parts, room) for name, parts in told if parts]


def _line(name: str, parts: list[str], room: int) -> str:
    line = f"  {left(fit(name, _NAME), _NAME)} {parts[0]}"
    for part in parts[1:]:
        if cell_len(line) + 3 + cell_len(part) <= room:
            line += f" · {part}"
    return fit(line, room)


def _device(d: DeviceNow) -> list[str]:
    parts = []
    if d.depth is not None:
        parts.append(f"depth {units.significant(d.depth, 2) if d.depth >= 0.05 else '0'}")
    parts += [f"{units.count(d.iops)} IOPS", units.rate(d.bytes_per_second)]
    if d.request_s is not None:
        parts.append(f"{units.duration(d.request_s * 1e9)} each")
    return parts


def _node(n: NodeNow) -> list[str]:
    parts = [f"{clean(name)} {_processors(used)}" for name, used in n.servers if used >= _USED]
    sent, received = n.tx_bytes_per_second, n.rx_bytes_per_second
    if sent is not None and received is not None and max(sent, received) >= WIRE_IDLE:
        parts += [f"out {units.rate(sent)}", f"in {units.rate(received)}"]
    if n.resent:
        parts.append(f"{units.significant(n.resent, 2)} resent/s")
    if n.held_back is not None and n.held_back >= _HELD_BACK:
        parts.append(f"held back {units.significant(n.held_back, 2)} s/s")
    if n.waiting_bytes:
        parts.append(f"{units.size(round(n.waiting_bytes))} waiting")
    if n.rtt_s is not None:
        parts.append(f"rtt {units.duration(n.rtt_s * 1e9)}")
    return parts


def _processors(used: float) -> str:
    """``0.31 cpus``."""
    return f"{units.significant(used, 2) if used >= _USED else '0'} cpus"
