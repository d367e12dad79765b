"""Our NBD client beside others, each against the same server."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .. import fio, ours, tools
from ..context import MIB, Context, Leg, say
from ..estimate import paired
from ..rows import Row
from ..sample import NotHere, Sample

MUST = 1.2
SMALL, LARGE = "NBD client, 4 KiB random read, depth 32", "NBD client, 256 KiB sequential read, depth 16"


def rows(ctx: Context) -> list[Row]:
    """Small random reads against fio and qemu-img; large sequential ones against nbdcopy. The faster peer counts."""
    say("nbd")
    if not shutil.which("nbdkit"):
        why = "nbdkit is not on this machine"
        return [Row(measure, "fastest peer", "×", ">=", MUST, why_not=why) for measure in (SMALL, LARGE)]
    size = (64 if ctx.smoke else 1024) * MIB
    with served(ctx, size) as uri:
        target = {"kind": "nbd", "uri": uri}
        small: dict[str, Leg] = {
            "ours": lambda: ours.sample(ctx, ours.job(target, size, ctx.seconds)),
            "fio, nbd engine": lambda: _fio(ctx, uri, size),
            "qemu-img bench": lambda: _qemu(ctx, uri),
        }
        mine = ours.job(target, size, ctx.seconds, rw="read", bs=256 << 10, iodepth=16)
        large: dict[str, Leg] = {
            "ours": lambda: ours.sample(ctx, mine),
            "nbdcopy": lambda: _nbdcopy(ctx, uri, size),
        }
        return [_against_the_fastest(ctx, SMALL, small), _against_the_fastest(ctx, LARGE, large)]


def _against_the_fastest(ctx: Context, measure: str, legs: dict[str, Leg]) -> Row:
    got, absent = ctx.rounds_of(legs)
    peers = [name for name in got if name != "ours"]
    if "ours" in absent or not peers:
        return Row(measure, "fastest peer", "×", ">=", MUST, why_not="; ".join(absent.values()))
    rates = {name: sum(s.iops for s in got[name]) / len(got[name]) for name in got}
    fastest = max(peers, key=lambda name: rates[name])
    estimate = paired([s.iops for s in got["ours"]], [s.iops for s in got[fastest]])
    note = ", ".join(f"{name}: {rate:,.0f} /s" for name, rate in rates.items())
    return Row(measure, fastest, "×", ">=", MUST, estimate, "; ".join([note, *absent.values()]))


@contextmanager
def served(ctx: Context, size: int) -> Iterator[str]:
    """nbdkit's pattern (no holes that a client could skip) on a unix socket, on the other processor."""
    socket = ctx.directory / "nbd.sock"
    words = ["nbdkit", "--foreground", "--exit-with-parent", "--unix", str(socket), "pattern", f"size={size}"]
    server = subprocess.Popen(["taskset", "-c", str(ctx.other), *words], stderr=subprocess.DEVNULL)
    try:
        _await(socket, server)
        yield f"nbd+unix:///?socket={socket}"
    finally:
        server.terminate()
        server.wait()
        socket.unlink(missing_ok=True)


def _await(socket: Path, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 20
    while not socket.exists():
        if server.poll() is not None or time.monotonic() > until:
            raise RuntimeError("nbdkit did not come up")
        time.sleep(0.01)


def _fio(ctx: Context, uri: str, size: int) -> Sample:
    command = [word for word in fio.words(ctx, "nbd", 32, False) if not word.startswith(("--filename", "--size"))]
    return fio.sample(ctx, [*command, f"--uri={uri}", f"--size={size}"])


def _qemu(ctx: Context, uri: str) -> Sample:
    """It takes a count, not a time: one that lasts about as long as the others."""
    if not (tool := shutil.which("qemu-img")):
        raise NotHere("qemu-img is not on this machine")
    count = max(1000, int(40_000 * ctx.seconds))
    words = [tool, "bench", "-f", "raw", "-c", str(count), "-d", "32", "-s", "4096", uri]
    said = re.search(r"completed in ([\d.]+) seconds", tools.run(words, {ctx.cpu}).stdout)
    if not said:
        raise NotHere("qemu-img bench did not say how long it took")
    return Sample(count, count / float(said[1]))


def _nbdcopy(ctx: Context, uri: str, size: int) -> Sample:
    """Start and end of the process are in it: it tells no time of its own."""
    if not (tool := shutil.which("nbdcopy")):
        raise NotHere("nbdcopy is not on this machine")
    words = [tool, "--connections=1", "--requests=16", f"--request-size={256 << 10}", uri, "null:"]
    done = tools.run(words, {ctx.cpu})
    count = size // (256 << 10)
    return Sample(count, count / done.wall_s)
