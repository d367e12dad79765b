"""Drafts the stack file from a survey: the disk and its paths, the file system, its server, a share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from urllib.parse import quote

from strata.discover import clusters
from strata.model.endpoint import address as at
from strata.model.survey import Device, Survey
from strata.text.toml import comment, value

FILE_SYSTEM_OVERHEAD, SHARE_OVERHEAD = 0.05, 0.15
# File systems whose FIEMAP gives places on the one device below.
_MAPS_TO_DEVICE = {"ext2", "ext3", "ext4", "xfs"}
DISK, FILE_SYSTEM, SHARE, PAST_MOUNT = "disk", "file system", "share", "past the mount"
_SPEC = """\
# Its specification, if you know it (docs/guide/stack-file.md says what each is compared with):
# expect.iops = 1640           # random reads of 8 KiB, at depth
# expect.latency = "2.4ms"     # one of them alone
# expect.bandwidth = "180MB/s" # large sequential reads"""


@dataclass(frozen=True)
class _Table:
    """One ``[[layer]]``. ``note``: the comment before it. ``off``: why it is commented out; None where it is not."""

    name: str
    endpoint: str
    note: str
    on: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    expect: tuple[str, ...] = ()
    more: str = ""
    off: str | None = None


def draft(survey: Survey, data_path: str, nbd_uri: str | None) -> str:
    """The stack file (TOML) for a test file at ``data_path``, as `Stack.from_toml` reads it.

    What is known and cannot be measured from here is there but commented out, with the reason; what cannot be known is
    a comment that says what to fill in. ``nbd_uri`` adds a share of the same file.
    """
    tables = [*_paths(survey), _disk(survey), *_past_the_mount(survey, data_path)]
    below = tuple(t.name for t in tables if t.off is None)
    tables.append(_file_system(survey, data_path, below))
    if nbd_uri:
        tables.append(
            _Table(
                name=SHARE,
                endpoint=nbd_uri,
                note="the same file over the network block protocol",
                on=(FILE_SYSTEM,),
                against=(FILE_SYSTEM,),
                expect=_cost(
                    SHARE_OVERHEAD, "10 to 15 percent where the CPU is the limit; a slower network costs more"
                ),
            )
        )
    parts = [
        "# Drafted by strata survey. All layers must reach the same data: check this before you use a ratio.\n"
        "# on: what a layer's requests pass through next. against: what it is compared with.",
        f"[stack]\nname = {value(_name(survey))}",
        f"[[node]]\nname = {value(survey.hostname)}{'' if survey.file_system.remote else chr(10) + 'owner = true'}",
        *_server(survey),
        *_other_nodes(survey),
        *(_written(survey, t) for t in tables),
        *_from_other_nodes(survey, data_path),
    ]
    return "\n\n".join(parts) + "\n"


def no_disk_layer(survey: Survey) -> str | None:
    """Why the device below cannot be a layer; None when it can."""
    fs = survey.file_system
    if fs.remote:
        return f"{fs.kind} has its disk on another machine"
    if not survey.devices:
        return f"{fs.kind} has no visible block device below it"
    if fs.kind in clusters.KINDS:
        device = survey.devices[0].path
        return f"the map of blocks of {fs.kind} was not tried on a cluster, and other nodes may write to {device}"
    if fs.kind not in _MAPS_TO_DEVICE:
        return f"the blocks of a file on {fs.kind} do not map to places on one device"
    if any(o.startswith("rtdev=") for o in fs.options):
        return "files may lie on the XFS realtime device"
    return _unreadable(survey.devices[0])


def _unreadable(device: Device) -> str | None:
    answer = device.detail.get("raw_read", "not tried")
    return None if answer == "yes" else f"{device.path} may not be read raw: {answer}"


def _paths(survey: Survey) -> list[_Table]:
    """Each path of a multipath device that carries the file system: its blocks lie at the same places there."""
    if not survey.devices or survey.devices[0].kind != "multipath":
        return []
    top = survey.devices[0]
    off = no_disk_layer(survey)
    return [
        _Table(
            name=f"path {path.name}",
            endpoint=f"block:{path.path}",
            note=f"one path of {top.name}; a standby path refuses reads: then remove it, here and below",
            off=off or _unreadable(path),
        )
        for path in survey.devices
        if path.name in top.members
    ]


def _disk(survey: Survey) -> _Table:
    top = survey.devices[0] if survey.devices else None
    paths = tuple(t.name for t in _paths(survey) if t.off is None)
    below = " on ".join(f"{d.name} ({d.kind})" for d in survey.devices) or "unknown"
    note = f"{below}; read only, and only the blocks of the test file"
    for deeper in (d for d in survey.devices[1:] if d.kind == "multipath"):
        note += f"; the paths of {deeper.name} ({', '.join(deeper.members)}) have other offsets: no layers"
    if top is not None and top.detail.get("endpoint", "").startswith("rbd:"):
        note += f"; the image past the kernel is {top.detail['endpoint']} (needs fio with its rbd engine)"
    elif top is not None and (top.detail.get("medium") == "remote" or top.transport in ("iscsi", "fc")):
        note += "; its server is another machine, with its own layers"
    return _Table(
        name=DISK,
        endpoint=f"block:{top.path if top else '/dev/…'}",
        note=note,
        on=paths,
        against=paths,
        expect=('expect.faster = "paths"',) if len(paths) > 1 else (),
        more=_SPEC,
        off=no_disk_layer(survey),
    )


def _past_the_mount(survey: Survey, data_path: str) -> list[_Table]:
    """The same file by a client of Strata's own or of the cluster's library, where the mount tells its address."""
    fs = survey.file_system
    form = fs.detail.get("endpoint", "") if fs.remote else ""
    if not form.endswith("/FILE"):
        return []
    path = PurePath(data_path)
    inner = path.relative_to(fs.mount_point) if path.is_relative_to(fs.mount_point) else PurePath(path.name)
    needs = {
        "smb": "it needs a password (docs/guide/shares.md says where to put it); then uncomment it, and against below",
        "gluster": "it needs fio with its gfapi engine; then uncomment it, and against below",
    }.get(form.partition(":")[0])
    return [
        _Table(
            name=PAST_MOUNT,
            endpoint=form.removesuffix("FILE") + quote(str(inner)),
            note=f"the same file without the kernel's client or the mount of {fs.mount_point}",
            off=needs,
        )
    ]


def _file_system(survey: Survey, data_path: str, below: tuple[str, ...]) -> _Table:
    fs = survey.file_system
    # What goes past a mount is beside it, not below it.
    on = tuple(name for name in below if name == DISK)
    against = on or tuple(name for name in below if name == PAST_MOUNT)
    note, more = f"{fs.kind} at {fs.mount_point}", ""
    if fs.remote:
        note += f"; its requests go to {comment(_server_name(survey))}: add on = […] once its layers are defined"
    if fs.remote and "endpoint" in fs.detail and not against:
        more = f"# against = {value([PAST_MOUNT])}"
    source = "usual for a local file system with preallocated files; Strata's own assumption"
    return _Table(
        name=FILE_SYSTEM,
        endpoint=f"file:{data_path}",
        note=note,
        on=on,
        against=against,
        expect=_cost(FILE_SYSTEM_OVERHEAD, source) if on else (),
        more=more,
    )


def _server(survey: Survey) -> list[str]:
    """What is known of the other machine, and what is not: comments."""
    fs = survey.file_system
    if not fs.remote:
        return []
    name = _server_name(survey)
    lines = [
        f"# The data of {fs.mount_point} is on another machine, not visible from here. Fill in and uncomment:",
        "# [[node]]",
        f"# name = {value(name)}",
        "# owner = true",
        f"# counters = {value(f'http://{name}:9100/metrics')}   # if a node_exporter runs there",
        "# A layer there needs an address that can be reached from here (NBD, iSCSI …); its [[layer]] stands first.",
    ]
    if "bricks" in fs.detail:
        lines.append(f"# Its bricks, as this machine knows them: {fs.detail['bricks']}")
    if fs.kind in ("ceph", "fuse.ceph", "fuse.ceph-fuse"):
        lines.append("# A file of CephFS has no address for Strata; an RBD image has: rbd:POOL/IMAGE")
    return ["\n".join(map(comment, lines))]


def _members(survey: Survey) -> tuple[str, ...]:
    """The other nodes of a cluster's volume, as this machine knows them; ``NODE`` where it knows none of them."""
    fs = survey.file_system
    if fs.kind not in clusters.KINDS or fs.detail.get("locks") == "here only":
        return ()
    return tuple(fs.detail.get("cluster_nodes", "NODE").split(", "))


def _other_nodes(survey: Survey) -> list[str]:
    """Who else has the volume mounted: comments, as none of them was asked."""
    fs = survey.file_system
    lines = []
    for number, member in enumerate(_members(survey)):
        if not number:
            of = f" of {fs.detail['cluster']}" if "cluster" in fs.detail else ""
            lines.append(
                f"# {fs.mount_point} is a cluster's volume{of} ({fs.kind}): other nodes may have the same device "
                "mounted. Check, fill in and uncomment:"
            )
        name, _, address = member.removesuffix(")").partition(" (")
        lines += [
            "# [[node]]",
            f"# name = {value(name)}",
            f"# counters = {value(f'http://{at(address or name, 9100)}/metrics')}   # if a node_exporter runs there",
        ]
    return ["\n".join(map(comment, lines))] if lines else []


def _from_other_nodes(survey: Survey, data_path: str) -> list[str]:
    """The same file as the other nodes reach it: each node drives its own layer (strata node, --nodes)."""
    found = []
    for member in _members(survey):
        name = member.partition(" (")[0]
        layer = f"{FILE_SYSTEM}, {name}"
        keys = (
            f"# No layer {value(layer)}: it needs that node (docs/guide/nodes.md); then uncomment it.",
            "# [[layer]]",
            f"# name = {value(layer)}",
            f"# node = {value(name)}",
            f"# against = {value((FILE_SYSTEM,))}",
            f"# endpoint = {value(f'file:{data_path}')}",
        )
        found.append("\n".join(map(comment, keys)))
    return found


def _server_name(survey: Survey) -> str:
    fs = survey.file_system
    host = fs.source.removeprefix("//") if fs.source.startswith("//") else fs.source.partition(":")[0]
    return fs.detail.get("server") or host.partition("/")[0] or "SERVER"


def _cost(overhead: float, source: str) -> tuple[str, ...]:
    return (f"expect.overhead_max = {overhead}", f"expect.source = {value(source)}")


def _written(survey: Survey, table: _Table) -> str:
    keys = ["[[layer]]", f"name = {value(table.name)}", f"node = {value(survey.hostname)}"]
    for key, names in (("on", table.on), ("against", table.against)):
        keys += [f"{key} = {value(names)}"] if names else []
    keys += [f"endpoint = {value(table.endpoint)}", *table.expect, *table.more.splitlines()]
    if table.off is None:
        return "\n".join([f"# {comment(table.note)}", *keys])
    reason = f"# No layer {value(table.name)}: {comment(table.off)}."
    return "\n".join([reason, *(key if key.startswith("#") else f"# {key}" for key in keys)])


def _name(survey: Survey) -> str:
    return f"{survey.hostname}:{survey.file_system.mount_point}"
