"""``smb://``: a file on an SMB 3.1.1 share, without a mount."""

from strata.schemes.declared import Message, Number, Scheme

_PLAIN = ((0, "00"), (4, "fe534d42"))
"""In the frame of a session; encrypted and compressed ones begin otherwise and are not read."""
_ID = Number(28, 8)
_FRAME = (Number(1, 3),)
_ASKS, _REPLIES = (20, "00", "01"), (20, "01", "01")
MESSAGES = (
    *(
        Message("question", (*_PLAIN, _ASKS, (16, code)), 68, 4, _ID, _FRAME, deed=deed)
        for code, deed in (("0800", "read"), ("0900", "write"), ("0700", "sync"))
    ),
    # A cancel has no reply of its own.
    Message("other", (*_PLAIN, _ASKS, (16, "0c00")), 68, 4, None, _FRAME),
    Message("question", (*_PLAIN, _ASKS), 68, 4, _ID, _FRAME),
    # What is told meanwhile (pending), and what nobody asked for (a break).
    Message("part", (*_PLAIN, _REPLIES, (12, "03010000")), 68, 4, _ID, _FRAME),
    Message("other", (*_PLAIN, _REPLIES, (28, "ffffffffffffffff")), 68, 4, None, _FRAME),
    Message("reply", (*_PLAIN, _REPLIES), 68, 4, _ID, _FRAME),
)
"""By the message's number ([MS-SMB2] 2.2.1); of a compound, which is answered as one, by that of its first request."""

SCHEME = Scheme(
    name="smb",
    forms={"smb": "smb://user@host/share/file"},
    file=True,
    port=445,
    messages=MESSAGES,
    login=True,
    secrets=("STRATA_SMB_PASSWORD",),
    unbuffered=True,
    verified=False,
    caches="this SMB client has no cache, and the server's cache",
    not_fio="fio has no I/O engine for SMB shares",
)
