"""The programs that load a lab: how each is started, what it says of its rate, and which labs it reaches.

fio keeps going for a time, and so does pgbench. `qemu-img bench` and dd end by themselves: they are begun again until
the time is over (`again`).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MARK, SIZE = 1 << 20, 48 << 20
"""Behind the mark of the lab's test file, and inside it."""
OFFSET = "1m"
REQUESTS = 4000
"""Of one `qemu-img bench`: a few seconds on a healthy lab."""
FILES = ("local-ext4", "local-xfs")
SOCKET = "/var/tmp/strata-watchbench-pg"
"""Where the PostgreSQL of a trial answers; one trial runs at a time."""
Figures = tuple[float, float]
"""(I/Os or transactions a second, 99th percentile in ns; 0: it says none)."""


@dataclass(frozen=True)
class Generator:
    """``words``: (words of the load, one at a time, endpoint, seconds, output) as the whole command. ``said``: of what
    is in the output, and how long it ran. ``measured``: whether that is a rate, and not only what it is less than.
    """

    words: Callable[[Sequence[str], bool, str, float, str], list[str]]
    said: Callable[[str, float], Figures]
    setups: tuple[str, ...]
    measured: Callable[[str], bool] = lambda _: True


def _fio(load: Sequence[str], one_at_a_time: bool, endpoint: str, seconds: float, output: str) -> list[str]:
    words = ["fio", "--name=app", *load, "--time_based", f"--runtime={seconds:g}", f"--offset={OFFSET}"]
    words += ["--size=48m", "--output-format=json", f"--output={output}", "--randrepeat=0", "--norandommap"]
    if endpoint.startswith("file:"):
        engine = "psync" if one_at_a_time else "libaio"
        return [*words, f"--ioengine={engine}", "--direct=1", f"--filename={endpoint.removeprefix('file:')}"]
    return [*words, "--ioengine=nbd", f"--uri={_uri(endpoint)}"]


def _of_fio(text: str, seconds: float) -> Figures:
    told = json.loads(text[text.index("{") :])
    iops, p99 = 0.0, 0.0
    for job in told["jobs"]:
        for way in ("read", "write"):
            iops += job[way]["iops"]
            percentiles = job[way].get("clat_ns", {}).get("percentile", {})
            p99 = max(p99, percentiles.get("99.000000", 0.0))
    return iops, p99


def _qemu_img(load: Sequence[str], one_at_a_time: bool, endpoint: str, seconds: float, output: str) -> list[str]:
    words = ["qemu-img", "bench", "-f", "raw", "-t", "none", "-o", str(MARK), "-c", str(REQUESTS), *load]
    return _again(seconds, output, [*words, endpoint.removeprefix("file:") if _is_file(endpoint) else _uri(endpoint)])


def _of_qemu_img(text: str, seconds: float) -> Figures:
    """Of one that was interrupted nothing is said: then it is less than this."""
    times = [float(x) for x in re.findall(r"Run completed in ([\d.]+) seconds", text)]
    return (REQUESTS * len(times) / sum(times) if times else REQUESTS / seconds), 0.0


def _dd(load: Sequence[str], one_at_a_time: bool, endpoint: str, seconds: float, output: str) -> list[str]:
    path, size = endpoint.removeprefix("file:"), _block_of_dd(load)
    first, count = MARK // size, SIZE // size
    if any(word.startswith("oflag=") for word in load):
        ends = ["if=/dev/zero", f"of={path}", f"seek={first}", "conv=notrunc"]
    else:
        ends = [f"if={path}", "of=/dev/null", f"skip={first}"]
    return _again(seconds, output, ["dd", *ends, f"count={count}", *load])


def _block_of_dd(load: Sequence[str]) -> int:
    return next(int(word.removeprefix("bs=")) for word in load if word.startswith("bs="))


def _of_dd(text: str, seconds: float) -> Figures:
    """Bytes a second: the block is the same before and after."""
    told = re.findall(r"^(\d+) bytes .*copied, ([\d.e-]+) s,", text, re.MULTILINE)
    spent = sum(float(s) for _, s in told)
    return (sum(int(n) for n, _ in told) / spent if spent else 0.0), 0.0


def _pgbench(load: Sequence[str], one_at_a_time: bool, endpoint: str, seconds: float, output: str) -> list[str]:
    words = ["pgbench", "-n", "-h", SOCKET, "-U", "strata", "-T", str(round(seconds)), *load, "postgres"]
    return ["sh", "-c", 'exec "$@" > "$0" 2>&1', output, *words]


def _of_pgbench(text: str, seconds: float) -> Figures:
    (tps,) = re.findall(r"^tps = ([\d.]+)", text, re.MULTILINE)
    return float(tps), 0.0


def _again(seconds: float, output: str, words: Sequence[str]) -> list[str]:
    return [sys.executable, "-I", str(Path(__file__).with_name("again.py")), f"{seconds:g}", output, *words]


def _is_file(endpoint: str) -> bool:
    return endpoint.startswith("file:")


def _uri(endpoint: str) -> str:
    return endpoint.partition("?")[0]


GENERATORS: Mapping[str, Generator] = {
    "fio": Generator(_fio, _of_fio, (*FILES, "block-nbd")),
    "qemu-img": Generator(_qemu_img, _of_qemu_img, (*FILES, "block-nbd"), lambda text: "Run completed" in text),
    "dd": Generator(_dd, _of_dd, FILES),
    "pgbench": Generator(_pgbench, _of_pgbench, ("local-ext4",)),
}
