"""``iscsi://``: a logical unit of an iSCSI target, without the system's initiator."""

from collections.abc import Mapping, Sequence

from strata.schemes.declared import Message, Number, Scheme

_TASK = Number(16, 4)
_LENGTH = (Number(4, 1, scale=4), Number(5, 3, pad=4))
"""Additional headers in words, and data filled up to words; without digests, which nobody asks for by default."""
_COMMAND = ((0, "01", "3f"), (2, "000000"))
_COMMANDS = {"read": ("28", "88", "a8"), "write": ("2a", "8a", "aa"), "sync": ("35", "91")}


def _kind(role: str, code: str, *more: tuple[int, str, str], task: bool = True) -> Message:
    return Message(role, ((0, code, "3f"), *more), 48, 48, _TASK if task else None, _LENGTH)


MESSAGES = (
    *(
        Message("question", (*_COMMAND, (32, code)), 48, 48, _TASK, _LENGTH, deed=deed)
        for deed, codes in _COMMANDS.items()
        for code in codes
    ),
    Message("question", _COMMAND, 48, 48, _TASK, _LENGTH),
    _kind("more", "05"),
    _kind("reply", "21"),
    # Data of which the last part holds the status, so no other reply follows.
    _kind("reply", "25", (1, "01", "01")),
    _kind("part", "25"),
    # The target asks for data: the question goes on.
    _kind("other", "31", task=False),
    *(
        _kind("other", code, task=False)
        for code in ("00", "02", "03", "04", "06", "20", "22", "23", "24", "26", "32", "3f")
    ),
)
"""By the initiator task tag (RFC 7143)."""


def _problem(names: Sequence[str], _query: Mapping[str, Sequence[str]]) -> str | None:
    there = [name for name in names if name]
    return None if len(there) == 2 and there[1].isdigit() else "target and logical unit are missing"


SCHEME = Scheme(
    name="iscsi",
    forms={"iscsi": "iscsi://host[:port]/iqn.2026-01.example:target/lun"},
    file=False,
    port=3260,
    messages=MESSAGES,
    problem=_problem,
    caches="an iSCSI client has no cache, and the server's cache",
    hint="check that the target is running, and its name and LUN",
    not_fio="Strata does not run fio over iscsi: its libiscsi engine is not in common builds; log in with the system's "
    "initiator and measure block:/dev/…",
    figure="iqn.2000-01.invalid:figures/0",
)
