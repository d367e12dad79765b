"""Drafts the stack file from a survey: the disk, the file system on it, and a share over it."""

from __future__ import annotations

import json

from strata.model.survey import Survey

FILE_SYSTEM_OVERHEAD, SHARE_OVERHEAD = 0.05, 0.15
# File systems whose FIEMAP gives places on the one device below.
_MAPS_TO_DEVICE = {"ext2", "ext3", "ext4", "xfs"}
DISK, FILE_SYSTEM, SHARE = "disk", "file system", "share"


def draft(survey: Survey, data_path: str, nbd_uri: str | None) -> str:
    """The stack file (TOML) for a test file at ``data_path``, as `Stack.from_toml` reads it.

    The disk layer is there but commented out, with the reason, when it cannot be measured from here. ``nbd_uri`` adds
    a share of the same file.
    """
    reason = no_disk_layer(survey)
    parts = [
        "# Drafted by strata survey. All layers reach the same data; check that this is so before you trust a ratio.",
        f"[stack]\nname = {_text(_name(survey))}",
        f"[[node]]\nname = {_text(survey.hostname)}\nowner = true",
        _disk(survey, reason),
        _layer(
            survey,
            FILE_SYSTEM,
            f"file:{data_path}",
            above=None if reason else DISK,
            overhead=FILE_SYSTEM_OVERHEAD,
            source="usual for a local file system with preallocated files; Strata's own assumption",
            note=f"{survey.file_system.kind} at {survey.file_system.mount_point}",
        ),
    ]
    if nbd_uri:
        parts.append(
            _layer(
                survey,
                SHARE,
                nbd_uri,
                above=FILE_SYSTEM,
                overhead=SHARE_OVERHEAD,
                source="10 to 15 percent where the processor is the limit; a slower wire costs more",
                note="the same file over the network block protocol",
            )
        )
    return "\n\n".join(parts) + "\n"


def no_disk_layer(survey: Survey) -> str | None:
    """Why the device below cannot be a layer; None when it can."""
    fs = survey.file_system
    if fs.remote:
        return f"{fs.kind} has its disk on another machine"
    if not survey.devices:
        return f"{fs.kind} has no block device below that can be seen"
    if fs.kind not in _MAPS_TO_DEVICE:
        return f"the blocks of a file on {fs.kind} do not map to places on one device"
    if any(o.startswith("rtdev=") for o in fs.options):
        return "files may lie on the XFS realtime device"
    answer = survey.devices[0].detail.get("raw_read", "not tried")
    return None if answer == "yes" else f"{survey.devices[0].path} may not be read raw: {answer}"


def _disk(survey: Survey, reason: str | None) -> str:
    path = survey.devices[0].path if survey.devices else "/dev/…"
    below = " on ".join(f"{d.name} ({d.kind})" for d in survey.devices) or "unknown"
    table = f"[[layer]]\nname = {_text(DISK)}\nnode = {_text(survey.hostname)}\nendpoint = {_text(f'block:{path}')}"
    if reason is None:
        return f"# {_comment(below)}; read only, and only the blocks of the test file\n{table}"
    off = "\n".join(f"# {line}" for line in table.splitlines())
    return f"# No disk layer: {_comment(reason)}.\n{off}"


def _layer(
    survey: Survey, name: str, endpoint: str, *, above: str | None, overhead: float, source: str, note: str
) -> str:
    lines = [f"# {_comment(note)}", "[[layer]]", f"name = {_text(name)}", f"node = {_text(survey.hostname)}"]
    if above:
        lines.append(f"above = [{_text(above)}]")
    lines.append(f"endpoint = {_text(endpoint)}")
    if above:
        lines.append(f"expect.overhead_max = {overhead}")
        lines.append(f"expect.source = {_text(source)}")
    return "\n".join(lines)


def _name(survey: Survey) -> str:
    return f"{survey.hostname}:{survey.file_system.mount_point}"


def _comment(text: str) -> str:
    """On one line, without what TOML forbids in a comment."""
    return "".join(c if c.isprintable() else "?" for c in text)


def _text(text: str) -> str:
    """A TOML basic string: JSON's escapes are a subset, but for DEL, which JSON leaves as it is."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
