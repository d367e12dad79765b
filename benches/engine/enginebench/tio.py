"""t/io_uring: fio's minimal engine. It prints a rate each second and no processor time, so whole seconds are run."""

from __future__ import annotations

import math
import re
import statistics

from . import tools
from .context import Context
from .sample import NotHere, Sample

SCALE = {"": 1.0, "K": 1e3, "M": 1e6}


def words(ctx: Context, depth: int, direct: bool, *more: str, seconds: int = 600, latency: bool = True) -> list[str]:
    """Registered file, fixed buffers, registered ring; batches of 8 as ours; its latency histogram on."""
    batch = str(min(8, depth))
    common = ["-d", str(depth), "-s", batch, "-c", batch, "-p0", f"-O{int(direct)}", "-B1", "-F1", "-X1", "-R1"]
    return [tools.t_io_uring(), *common, f"-t{int(latency)}", "-r", str(seconds), *more]


def sample(ctx: Context, depth: int, direct: bool, nop: bool = False) -> Sample:
    """Median of its seconds but the first (its latency begins with the second); processor time of the whole process."""
    if ctx.smoke:
        raise NotHere("t/io_uring counts whole seconds: not part of the smoke run")
    seconds = math.ceil(ctx.seconds) + 2
    # NOPs too are given the file, so that they take the same path as its I/Os until the last step.
    command = words(ctx, depth, direct, *(["-N1"] if nop else []), str(ctx.file), seconds=seconds)
    done = tools.run(command, {ctx.cpu})
    rates = [float(n) * SCALE[k] for n, k in re.findall(r"^IOPS=([\d.]+)([KM]?),", done.stdout, re.M)]
    if len(rates) < 2:
        raise NotHere(f"t/io_uring printed {len(rates)} rates")
    ios = statistics.mean(rates) * seconds
    return Sample(int(ios), statistics.median(rates[1:]), done.user_ns / ios, done.cpu_ns / ios)
