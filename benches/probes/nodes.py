"""What `strata watch … --every 10s --nodes` costs the node that samples: ``nodes.py [TIMES [SECONDS]]``, as root.

The node is a process here with a boot id of its own, so that it samples its whole machine. Its processor time is read
while it has nothing to do and while it is watched, in turns.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

STRATA = [sys.executable, "-m", "strata"]
STACK = '[stack]\nname = "cost"\n[[node]]\nname = "n1"\n[[layer]]\nname = "file"\nnode = "n1"\nendpoint = "file:{}"\n'
APART = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"']
SETTLE_S = 15.0
"""From the start of a watching: what is loaded and opened once."""


@contextmanager
def started(words: list[str], said: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process, once it has said that, with the line."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        yield process, next(line for line in process.stderr if said in line)
    finally:
        process.terminate()
        process.communicate(timeout=30)


def share(pid: int, seconds: float) -> float:
    """Of one CPU, all its threads together."""

    def spent() -> float:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    before, begun = spent(), time.monotonic()
    time.sleep(seconds)
    return (spent() - before) / (time.monotonic() - begun)


def main(times: int, seconds: float) -> None:
    idle, watched, watcher = [], [], []
    with tempfile.TemporaryDirectory() as home:
        os.environ["XDG_STATE_HOME"] = home
        boot, stack = Path(home, "boot"), Path(home, "stack.toml")
        boot.write_text("00000000-0000-4000-8000-000000000001\n")
        stack.write_text(STACK.format(Path.cwd() / "strata.dat"))
        serve = [*STRATA, "node", "serve", "--listen", "tcp://127.0.0.1:0"]
        with started(serve, "scheduler at ") as (_, line):
            address = line.split()[2]
            join = [*APART, str(boot), *STRATA, "node", "join", address, "--name", "n1"]
            with started(join, "has joined") as (node, _):
                for _ in range(times):
                    idle.append(share(node.pid, seconds))
                    words = [*STRATA, "watch", str(stack), "--every", "10s", "--nodes", address]
                    watch = subprocess.Popen(words, stdout=subprocess.DEVNULL)
                    try:
                        time.sleep(SETTLE_S)
                        watched.append(share(node.pid, seconds))
                        watcher.append(share(watch.pid, seconds / 2))
                    finally:
                        watch.terminate()
                        watch.wait(30)
                    # It is told within a heartbeat that nobody waits any more.
                    time.sleep(3)
    for what, found in (("node, idle", idle), ("node, watched", watched), ("who watches", watcher)):
        low, high = min(found) * 100, max(found) * 100
        print(f"{what:14} {statistics.median(found) * 100:.2f} % of one CPU ({low:.2f}–{high:.2f}), n = {len(found)}")


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:2] or ["3"]), *(float(word) for word in sys.argv[2:3] or ["30"]))
