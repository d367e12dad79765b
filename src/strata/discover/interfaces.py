"""The network interfaces that are up: kind, rate, RDMA, MTU, offloads."""

from __future__ import annotations

import socket

from strata.host import ethtool
from strata.host.proc import Sys
from strata.model.hardware import Interface

INTERFACES_MOST = 64
"""A host of containers has hundreds; cards come first."""
_NET, _RDMA = "/sys/class/net", "/sys/class/infiniband"
_TYPES = {
    1: "ethernet",
    32: "infiniband",
    772: "loopback",
    768: "tunnel",
    776: "tunnel",
    778: "tunnel",
    801: "wireless",
}
_MEGABIT = 1_000_000


def interfaces(sys: Sys) -> tuple[Interface, ...]:
    """Those that are up in this network namespace, cards first, at most `INTERFACES_MOST`."""
    up = [name for name in sys.names(_NET) if _is_up(name, sys)]
    rdma = _rdma(sys)
    found = sorted((_interface(name, rdma.get(name, ()), sys) for name in up), key=lambda one: (not one.card, one.name))
    return tuple(found[:INTERFACES_MOST])


def link_rates(sys: Sys) -> dict[str, int]:
    """In bit/s as negotiated, of the cards that are up and of bonds; what is virtual has none, whatever it says.

    One that this network namespace has not, though its files are seen here, is left out.
    """
    own = {name: index for index, name in socket.if_nameindex()} if sys.live else None
    found = {}
    for name in sys.names(_NET):
        home = f"{_NET}/{name}"
        hardware = sys.exists(f"{home}/device") or _kind(name, sys) == "bond"
        here = own is None or own.get(name) == sys.int(f"{home}/ifindex")
        if hardware and here and _is_up(name, sys) and (rate := _rate(name, sys)) is not None:
            found[name] = rate
    return found


def _rate(name: str, sys: Sys) -> int | None:
    # Reading the rate of a card without a link is an error (EINVAL), which is not one of the survey.
    missed = set(sys.missed)
    speed = sys.int(f"{_NET}/{name}/speed")
    sys.missed.intersection_update(missed)
    return speed * _MEGABIT if speed is not None and speed > 0 else None


def _is_up(name: str, sys: Sys) -> bool:
    flags = sys.text(f"{_NET}/{name}/flags") or "0x0"
    return flags.startswith("0x") and int(flags, 16) & 1 == 1


def _interface(name: str, rdma: tuple[str, ...], sys: Sys) -> Interface:
    home = f"{_NET}/{name}"
    told = ethtool.told(name) if sys.live else ethtool.Told()
    missed = set(sys.missed)
    duplex = sys.text(f"{home}/duplex")
    numa = sys.int(f"{home}/device/numa_node")
    sys.missed.intersection_update(missed)
    driver = (sys.real(f"{home}/device/driver") or "").rpartition("/")[2] or told.driver
    queues = sum(queue.startswith("rx-") for queue in sys.names(f"{home}/queues"))
    return Interface(
        name=name,
        kind=_kind(name, sys),
        driver=driver,
        firmware=told.firmware,
        rate=_rate(name, sys),
        duplex=duplex if duplex in ("full", "half") else None,
        mtu=sys.int(f"{home}/mtu"),
        queues=queues or None,
        numa_node=numa if numa is not None and numa >= 0 else None,
        rdma=rdma,
        members=tuple(lower[6:] for lower in sys.names(home) if lower.startswith("lower_")),
        offloads=told.offloads,
        card=sys.exists(f"{home}/device"),
    )


def _kind(name: str, sys: Sys) -> str:
    """What the driver calls it (``DEVTYPE``), else what its files show, else the type of its frames."""
    lines = sys.lines(f"{_NET}/{name}/uevent")
    if said := next((line[8:] for line in lines if line.startswith("DEVTYPE=")), None):
        return said
    for sign in ("bonding", "bridge", "wireless"):
        if sys.exists(f"{_NET}/{name}/{sign}"):
            return {"bonding": "bond"}.get(sign, sign)
    kind = _TYPES.get(sys.int(f"{_NET}/{name}/type") or 0, "other")
    # A pair's other end stands as its link; nothing of hardware is there.
    index, link = sys.int(f"{_NET}/{name}/ifindex"), sys.int(f"{_NET}/{name}/iflink")
    paired = index != link and not sys.exists(f"{_NET}/{name}/device")
    return "veth" if kind == "ethernet" and paired else kind


def _rdma(sys: Sys) -> dict[str, tuple[str, ...]]:
    """Interfaces -> their RDMA devices: ``mlx5_0 RoCE`` (frames of Ethernet), ``InfiniBand``, ``iWARP``."""
    found: dict[str, tuple[str, ...]] = {}
    for device in sys.names(_RDMA):
        home = f"{_RDMA}/{device}"
        port = next((p for p in sys.names(f"{home}/ports")), "1")
        layer = sys.text(f"{home}/ports/{port}/link_layer")
        # 1: a channel adapter; 4: an RDMA network card (iWARP), as the kernel's ib_sysfs writes them.
        iwarp = (sys.text(f"{home}/node_type") or "").startswith("4")
        protocol = "iWARP" if iwarp else {"Ethernet": "RoCE", None: "RDMA"}.get(layer, layer)
        for name in sys.names(f"{home}/device/net"):
            found[name] = (*found.get(name, ()), f"{device} {protocol}")
    return found
