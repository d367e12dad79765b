"""Our NBD client beside others, each against the same server."""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .. import fio, ours, tools
from ..context import MIB, Context, Leg, say
from ..estimate import paired
from ..rows import Row
from ..sample import NotHere, Sample

MUST = 1.2
SMALL, LARGE = "NBD client, 4 KiB random read, depth 32", "NBD client, 256 KiB sequential read, depth 16"
PATTERN, ZEROES = ["pattern"], ["--filter=noextents", "null"]
"""Neither has holes that a client could skip. The pattern is computed for each read: at 256 KiB two thirds of the
server's time, which no client can save. Zeroes cost it little more than to send them."""
NO_WORSE = 1.0
"""Large reads are copies, the server's out of its memory and the client's into its own, the same for every client. What
is asked is that nothing comes on top, with both ends on one processor, where the work of both counts; a server with one
of its own limits every client."""


@dataclass(frozen=True)
class Served:
    """A server of one export."""

    uri: str
    size: int
    pid: int

    def busy_ns(self) -> float:
        """Processor time it has had, in ns, in steps of the system's tick; connections that ended included."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * 1e9 / os.sysconf("SC_CLK_TCK")


def rows(ctx: Context) -> list[Row]:
    """Small random reads against fio and qemu-img; large sequential ones against nbdcopy and qemu-img."""
    say("nbd")
    if not shutil.which("nbdkit"):
        why = "nbdkit is not on this machine"
        return [Row(m, "fastest peer", "×", ">=", must, why_not=why) for m, must in ((SMALL, MUST), (LARGE, NO_WORSE))]
    small, large = (64, 64) if ctx.smoke else (1024, 4096)
    with served(ctx, PATTERN, small * MIB, ctx.other) as server:
        job = ours.job({"kind": "nbd", "uri": server.uri}, server.size, ctx.seconds)
        legs: dict[str, Leg] = {
            "ours": lambda: ours.sample(ctx, job),
            "fio, nbd engine": lambda: _fio(ctx, server),
            "qemu-img bench": lambda: _qemu(ctx, server, 4096, 32, 40_000),
        }
        made = [_against_the_fastest(ctx, SMALL, server, legs)]
    # So much that the start of nbdcopy's process, which is in its time, is below a hundredth of it.
    with served(ctx, ZEROES, large * MIB, ctx.cpu) as server:
        made.append(_large(ctx, server))
    return made


def _large(ctx: Context, server: Served) -> Row:
    target = {"kind": "nbd", "uri": server.uri}
    job = ours.job(target, server.size, ctx.seconds, rw="read", bs=256 << 10, iodepth=16)
    legs: dict[str, Leg] = {
        "ours": lambda: ours.sample(ctx, job),
        "nbdcopy": lambda: _nbdcopy(ctx, server),
        "qemu-img bench": lambda: _qemu(ctx, server, 256 << 10, 16, 8_000),
    }
    return _against_the_fastest(ctx, LARGE, server, legs, NO_WORSE)


def _against_the_fastest(ctx: Context, measure: str, server: Served, legs: dict[str, Leg], must: float = MUST) -> Row:
    busy: dict[str, list[float]] = {name: [] for name in legs}

    def watched(name: str, leg: Leg) -> Leg:
        def run() -> Sample:
            before = server.busy_ns()
            sample = leg()
            busy[name].append((server.busy_ns() - before) / sample.ios / 1e3)
            return sample

        return run

    got, absent = ctx.rounds_of({name: watched(name, leg) for name, leg in legs.items()})
    peers = [name for name in got if name != "ours"]
    if "ours" in absent or not peers:
        return Row(measure, "fastest peer", "×", ">=", must, why_not="; ".join(absent.values()))
    rates = {name: sum(s.iops for s in got[name]) / len(got[name]) for name in got}
    fastest = max(peers, key=lambda name: rates[name])
    estimate = paired([s.iops for s in got["ours"]], [s.iops for s in got[fastest]])
    said = [
        f"{name}: {rate:,.0f} /s (server {statistics.median(busy[name]):.3g} µs of processor)"
        for name, rate in rates.items()
    ]
    return Row(measure, fastest, "×", ">=", must, estimate, "; ".join([", ".join(said), *absent.values()]))


@contextmanager
def served(ctx: Context, plugin: list[str], size: int, cpu: int) -> Iterator[Served]:
    """nbdkit with this plugin on a unix socket, on that processor."""
    socket = ctx.directory / "nbd.sock"
    words = ["nbdkit", "--foreground", "--exit-with-parent", "--unix", str(socket), *plugin, f"size={size}"]
    server = subprocess.Popen(["taskset", "-c", str(cpu), *words], stderr=subprocess.DEVNULL)
    try:
        _await(socket, server)
        yield Served(f"nbd+unix:///?socket={socket}", size, server.pid)
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


def _fio(ctx: Context, server: Served) -> Sample:
    command = [word for word in fio.words(ctx, "nbd", 32, False) if not word.startswith(("--filename", "--size"))]
    return fio.sample(ctx, [*command, f"--uri={server.uri}", f"--size={server.size}"])


def _qemu(ctx: Context, server: Served, block: int, depth: int, a_second: int) -> Sample:
    """It takes a count, not a time: one that lasts about as long as the others."""
    if not (tool := shutil.which("qemu-img")):
        raise NotHere("qemu-img is not on this machine")
    count = max(1000, int(a_second * ctx.seconds))
    words = [tool, "bench", "-f", "raw", "-c", str(count), "-d", str(depth), "-s", str(block), server.uri]
    said = re.search(r"completed in ([\d.]+) seconds", tools.run(words, {ctx.cpu}).stdout)
    if not said:
        raise NotHere("qemu-img bench did not say how long it took")
    return Sample(count, count / float(said[1]))


def _nbdcopy(ctx: Context, server: Served) -> Sample:
    """Start and end of the process are in it: it tells no time of its own."""
    if not (tool := shutil.which("nbdcopy")):
        raise NotHere("nbdcopy is not on this machine")
    words = [tool, "--connections=1", "--requests=16", f"--request-size={256 << 10}", server.uri, "null:"]
    done = tools.run(words, {ctx.cpu})
    count = server.size // (256 << 10)
    return Sample(count, count / done.wall_s)
