"""``nfs://``: a file on an NFS server, version 3, without a mount."""

from collections.abc import Mapping, Sequence

from strata.schemes.declared import Message, Number, Scheme

_XID = Number(4, 4)
_RECORD = (Number(0, 4, mask=0x7FFF_FFFF),)
"""A record begins with its length; the highest bit says that it is one piece."""
_CALL = ((0, "80", "80"), (8, "00000000"), (12, "00000002"), (16, "000186a3"))
_V3 = (20, "00000003")
MESSAGES = (
    *(
        Message("question", (*_CALL, _V3, (24, f"{procedure:08x}")), 28, 4, _XID, _RECORD, deed=deed)
        for procedure, deed in ((6, "read"), (7, "write"), (21, "sync"))
    ),
    Message("question", _CALL, 28, 4, _XID, _RECORD),
    Message("reply", ((0, "80", "80"), (8, "00000001")), 12, 4, _XID, _RECORD),
)
"""By the XID of the remote procedure call (RFC 5531), NFS version 3 and 4. What a compound of version 4 does is not in
its header."""


def _problem(names: Sequence[str], query: Mapping[str, Sequence[str]]) -> str | None:
    if not any(names) or not names[-1]:
        return "the path of the file is missing"
    version = query.get("version", ["3"])[0]
    return None if version == "3" else f"version {version} of NFS is not supported, only 3"


SCHEME = Scheme(
    name="nfs",
    forms={"nfs": "nfs://host[:port]/export/path/file"},
    file=True,
    port=2049,
    messages=MESSAGES,
    problem=_problem,
    caches="this NFS client has no cache, and the server's cache",
    hint="check that the server is running and exports the path",
    not_fio="Strata does not run fio over nfs: its nfs engine is not in common builds; mount the export and measure "
    "file:/…",
)
