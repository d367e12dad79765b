"""Several paths to one device: device mapper's multipath and NVMe's own."""

from __future__ import annotations

import re
from collections.abc import Iterator

from strata.discover import dm
from strata.discover.tools import Tools
from strata.host.block import BASE
from strata.host.proc import Sys
from strata.model.hardware import DevicePath, Multipath
from strata.model.survey import Device

_SUBSYSTEMS = "/sys/class/nvme-subsystem"
_STATES = {"A": "active", "F": "failed"}
_GROUPS = {"A": "active group", "E": "enabled group", "D": "disabled group"}


def multipath(device: Device, sys: Sys, tools: Tools) -> Multipath | None:
    """Of the device; None where it has one path."""
    if device.kind == "multipath":
        return _device_mapper(device, sys, tools)
    return _nvme(device.name, sys) if device.kind == "nvme" else None


def _device_mapper(device: Device, sys: Sys, tools: Tools) -> Multipath:
    """Without root the paths and their states; policy, groups and what happens without a path are in its table."""
    name = device.detail.get("dm_name", device.name)
    table = next((t for t in dm.targets(name, "table", tools) if t.kind == "multipath"), None)
    status = next((t for t in dm.targets(name, "status", tools) if t.kind == "multipath"), None)
    states = {} if status is None else dict(_states(status, sys))
    paths = tuple(
        DevicePath(
            name=member,
            state=states.get(member, (None, None))[0] or sys.text(f"{BASE}/{member}/device/state"),
            group=states.get(member, (None, None))[1],
            address=_address(member, sys),
        )
        for member in device.members
    )
    if table is None:
        return Multipath(how="dm-multipath", paths=paths)
    options = table.number(0) or 0
    at = 1 + options
    at += 1 + (table.number(at) or 0)
    groups = table.number(at)
    policy = table.words[at + 2] if len(table.words) > at + 2 else None
    queues = "queue_if_no_path" in table.words[1 : 1 + options]
    return Multipath(how="dm-multipath", policy=policy, groups=groups, queues_without_path=queues, paths=paths)


def _states(status: dm.TableLine, sys: Sys) -> Iterator[tuple[str, tuple[str | None, str | None]]]:
    """Each path with its state and its group: ``A 0 2 0 8:32 A 0 8:48 F 3`` after a group's letter."""
    group = None
    for i, word in enumerate(status.words[:-1]):
        if word in _GROUPS and not re.fullmatch(r"\d+:\d+", status.words[i - 1] if i else ""):
            group = _GROUPS[word]
        elif re.fullmatch(r"\d+:\d+", word) and (name := status.device(i, sys)):
            yield name, (_STATES.get(status.words[i + 1]), group)


def _address(name: str, sys: Sys) -> str | None:
    """The port that a path goes through: of Fibre Channel, SAS or iSCSI, from its place in the device tree."""
    place = sys.real(f"{BASE}/{name}") or ""
    found = re.findall(r"/(rport-[\d:-]+|end_device-[\d:]+|session\d+|host\d+)(?=/)", place)
    return " ".join(found) or None


def _nvme(name: str, sys: Sys) -> Multipath | None:
    """Of a namespace that its subsystem reaches through several controllers."""
    for subsystem in sys.names(_SUBSYSTEMS):
        home = f"{_SUBSYSTEMS}/{subsystem}"
        if not sys.exists(f"{home}/{name}"):
            continue
        controllers = [one for one in sys.names(home) if re.fullmatch(r"nvme\d+", one)]
        if len(controllers) < 2:
            return None
        paths = tuple(_nvme_path(home, controller, name, sys) for controller in controllers)
        return Multipath(how="NVMe", policy=sys.text(f"{home}/iopolicy"), paths=paths)
    return None


def _nvme_path(home: str, controller: str, name: str, sys: Sys) -> DevicePath:
    namespace = re.sub(r"^nvme\d+n", "n", name)
    hidden = next((n for n in sys.names(f"{home}/{controller}") if re.fullmatch(rf"nvme\d+c\d+{namespace}", n)), None)
    transport, address = (sys.text(f"{home}/{controller}/{key}") for key in ("transport", "address"))
    return DevicePath(
        name=controller,
        state=sys.text(f"{home}/{controller}/state"),
        group=None if hidden is None else sys.text(f"{home}/{controller}/{hidden}/ana_state"),
        address=" ".join(filter(None, (transport, address))) or None,
    )
