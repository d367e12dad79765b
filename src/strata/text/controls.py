"""Characters that a terminal obeys instead of showing: made visible, so that a name can only be read."""

from __future__ import annotations

import re
import struct

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet takes a text that begins with one of these for a formula, which can run programs."""

_OBEYED = (
    "\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f"  # C0 without tab and line feed, DEL, C1
    "\\xad\\u061c\\u180e\\u200b\\u200e\\u200f\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb"  # unseen; order of writing
    "\\u2028-\\u202e"  # other ends of a line; order of writing
    "\\ud800-\\udfff"  # halves of characters: bytes of a path that are no text
    "\\U000e0000-\\U000e007f"  # tags: unseen
)
_IN_A_LINE = re.compile(f"[\\t\\n{_OBEYED}]")
_HALF = re.compile("[\ud800-\udfff]")
_IN_LINES = re.compile(f"[{_OBEYED}]")


def escaped(text: str) -> str:
    r"""Every character of ``text`` as ``\x1b``, ``\u202e``, or two of them: what stands behind C0 is valid in JSON."""
    codes = (code for (code,) in struct.iter_unpack(">H", text.encode("utf-16-be", "surrogatepass")))
    return "".join(f"\\x{code:02x}" if code < 0x20 else f"\\u{code:04x}" for code in codes)


def line(text: str) -> str:
    """``text`` in one line that a terminal shows and does not obey: a name, a path, a cell of a table."""
    return text if text.isascii() and text.isprintable() else _IN_A_LINE.sub(_shown, text)


def lines(text: str) -> str:
    """The same for text that was laid out: its line ends and tabs stay."""
    # A page places thousands of short ones.
    return text if text.isascii() and text.isprintable() else _IN_LINES.sub(_shown, text)


def halves(text: str) -> str:
    """Only what no encoding has is shown, such as the bytes of a path that are no text."""
    try:
        # A tenth of what looking for it takes, in a document of megabytes.
        text.encode()
    except UnicodeEncodeError:
        return _HALF.sub(_shown, text)
    return text


def _shown(found: re.Match[str]) -> str:
    return escaped(found[0])
