"""What a command line of ``qemu-img bench`` says of its load."""

from __future__ import annotations

import getopt
from collections.abc import Sequence

DEPTH = 64
"""I/Os that it keeps outstanding where nothing is said."""
NBD_MOST = 16
"""Requests that qemu's client of NBD has on its connection at once (``MAX_NBD_REQUESTS`` of block/nbd.c)."""
_SHORT = "hc:d:f:i:no:qs:S:t:wUT:"
_LONG = ("help", "object=", "image-opts", "flush-interval=", "no-drain", "pattern=", "depth=", "count=", "format=",
         "aio=", "native", "offset=", "quiet", "buffer-size=", "step-size=", "step=", "cache=", "write",
         "force-share", "trace=")  # fmt: skip


def outstanding_of_bench_line(words: Sequence[str]) -> int | None:
    """I/Os that ``qemu-img bench WORDS`` keeps outstanding at the most; None where the words are not understood."""
    if not words or words[0] != "bench":
        return None
    try:
        options, rest = getopt.gnu_getopt(list(words[1:]), _SHORT, list(_LONG))
    except getopt.GetoptError:
        return None
    depth = dict(options).get("-d", dict(options).get("--depth", str(DEPTH)))
    if len(rest) != 1 or not depth.isdecimal() or not int(depth):
        return None
    return min(int(depth), NBD_MOST) if "nbd://" in rest[0] or "nbd+unix://" in rest[0] else int(depth)
