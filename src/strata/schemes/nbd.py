"""``nbd://`` and ``nbd+unix://``: an export of an NBD server."""

from strata.schemes.declared import Message, Number, Scheme

_ASKED, _ASKED_LONG = (0, "25609513"), (0, "21e41c71")
_COOKIE = Number(8, 8)
_DEEDS = ((0, "read"), (1, "write"), (3, "sync"))


def _questions() -> tuple[Message, ...]:
    """28 bytes, or 32 where both sides agreed on extended headers; a write's data follows."""
    found = []
    for magic, header, length in ((_ASKED, 28, Number(24, 4)), (_ASKED_LONG, 32, Number(24, 8))):
        for command, deed in _DEEDS:
            more = (length,) if deed == "write" else ()
            brings = length if deed == "read" else None
            holds = (magic, (6, f"{command:04x}"))
            found.append(Message("question", holds, header, header, _COOKIE, more, brings, deed=deed))
        # A disconnect has no reply; trims, zeroes and the like have one without data.
        found.append(Message("other", (magic, (6, "0002")), header, header))
        found.append(Message("question", (magic,), header, header, _COOKIE))
    return tuple(found)


_SIMPLE, _CHUNK, _LONG_CHUNK = (0, "67446698"), (0, "668e33ef"), (0, "6e8a278c")
_LAST = (5, "01", "01")
MESSAGES = (
    *_questions(),
    Message("reply", (_SIMPLE, (4, "00000000")), 16, 16, _COOKIE, brought=True),
    Message("reply", (_SIMPLE,), 16, 16, _COOKIE),
    Message("reply", (_CHUNK, _LAST), 20, 20, _COOKIE, (Number(16, 4),)),
    Message("part", (_CHUNK,), 20, 20, _COOKIE, (Number(16, 4),)),
    Message("reply", (_LONG_CHUNK, _LAST), 32, 32, _COOKIE, (Number(24, 8),)),
    Message("part", (_LONG_CHUNK,), 32, 32, _COOKIE, (Number(24, 8),)),
)
"""By the cookie. https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md"""

SCHEME = Scheme(
    name="nbd",
    forms={"nbd": "nbd://host:port/export", "nbd+unix": "nbd+unix:///?socket=/path"},
    file=False,
    port=10809,
    caches="an NBD client has no cache, and the server's cache",
    hint="check that the server is running and that the export name is correct",
    fio="nbd",
    messages=MESSAGES,
)
