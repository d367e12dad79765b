"""What `strata trace … --nodes` costs the node that traces: ``trace_nodes.py [TIMES [SECONDS]]``, as root, with fio.

Two nodes as processes, one with a boot id and a monotonic clock of its own, over a loop device each. fio reads one of
them at a fixed rate, in turns without and with a trace of so many seconds. The processor time of the node is that of
all its threads; the kernel's part (the events) is on the CPUs of whoever issues, and is told by the trace.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "tests" / "contract")]

from another_machine import another_machine  # noqa: E402
from loops import MIB, image, loop  # noqa: E402
from nodes import STRATA, share, started  # noqa: E402
from tracing import with_tracefs  # noqa: E402

HEAD = '[stack]\nname = "cost"\nscheduler = "{}"\n[[node]]\nname = "n1"\n[[node]]\nname = "n2"\n'
LAYER = '[[layer]]\nname = "{}"\nnode = "{}"\nendpoint = "block:{}"\n'
RATES = (0, 2000, 10000)
"""IOPS that fio asks of n1's device, 8 KiB each."""
EDGE_S = 3.0
"""Left out at both ends of a window."""


@contextmanager
def load(device: str, iops: int) -> Iterator[None]:
    """fio at that rate, or nothing."""
    if not iops:
        yield
        return
    words = ["fio", "--name=app", f"--filename={device}", "--direct=1", "--rw=randread", "--bs=8k", "--iodepth=4"]
    words += ["--ioengine=libaio", "--time_based", "--runtime=600", f"--rate_iops={iops}"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    try:
        time.sleep(2)
        yield
    finally:
        process.terminate()
        process.wait(30)


def said(what: str, found: Sequence[float], unit: str, scale: float) -> None:
    low, high = min(found) * scale, max(found) * scale
    print(f"  {what:24} {statistics.median(found) * scale:.3g} {unit} ({low:.3g}–{high:.3g}), n = {len(found)}")


def one(device: str, iops: int, argv: Sequence[str], node: int, times: int, seconds: float) -> None:
    """The figures of one rate."""
    idle, traced, late, bounds, skew, reading, events, added = [], [], [], [], [], [], [], []
    with load(device, iops):
        for _ in range(times):
            idle.append(share(node, seconds - 2 * EDGE_S))
            begun = time.monotonic()
            trace = subprocess.Popen([*argv, "--json", "--seconds", f"{seconds:g}"], stdout=subprocess.PIPE, text=True)
            # A start takes about two seconds.
            time.sleep(EDGE_S)
            traced.append(share(node, seconds - 2 * EDGE_S))
            out, _ = trace.communicate()
            found = json.loads(out)
            window = found["nodes"][0]
            late.append(time.monotonic() - (window["recording"]["began_ns"] + window["window_ns"]) / 1e9)
            bounds.append(window["bound_ns"] / 1e9)
            skew.append(abs(found["nodes"][1]["recording"]["began_ns"] - window["recording"]["began_ns"]) / 1e9)
            recorder = window["recording"]["recorder"]
            reading.append(recorder["cpu_ns"] / recorder["wall_ns"])
            events.append(window["events"] / (window["window_ns"] / 1e9))
            added.append(len(out))
            assert window["recording"]["whole"] and time.monotonic() - begun > seconds
    print(f"{iops} IOPS at n1's device:")
    said("node, not tracing", idle, "% of one CPU", 100)
    said("node, tracing", traced, "% of one CPU", 100)
    said("of that, reading events", reading, "% of one CPU", 100)
    said("events", events, "a second", 1)
    said("bound of n1's clock", bounds, "µs", 1e6)
    said("begins apart", skew, "ms", 1e3)
    said("end to printed document", late, "s", 1)
    said("document", added, "KB", 1e-3)


def main(times: int, seconds: float) -> None:
    with ExitStack() as open_:
        home = Path(open_.enter_context(tempfile.TemporaryDirectory()))
        devices = [
            open_.enter_context(loop(image(home / name, 256 * MIB), "--direct-io=on")) for name in ("first", "second")
        ]
        serve = [*STRATA, "node", "serve", "--listen", "tcp://127.0.0.1:0"]
        _, line = open_.enter_context(started(serve, "scheduler at "))
        address, nodes = line.split()[2], []
        for name, before in (("n1", another_machine(home)), ("n2", ["env"])):
            words = ["env", f"XDG_STATE_HOME={home / name}", *STRATA, "node", "join", address, "--name", name]
            (home / name).mkdir(mode=0o700)
            nodes.append(open_.enter_context(started(with_tracefs(*before, *words), "has joined"))[0])
        stack = home / "stack.toml"
        layers = zip(("disk", "other"), ("n1", "n2"), devices, strict=True)
        stack.write_text(HEAD.format(address) + "".join(LAYER.format(*layer) for layer in layers))
        argv = [*STRATA, "trace", str(stack)]
        for iops in RATES:
            one(devices[0], iops, argv, nodes[0].pid, times, seconds)
        with load(devices[0], RATES[-1]):
            print(subprocess.run([*argv, "--seconds", "5"], capture_output=True, text=True, check=True).stdout)


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:2] or ["3"]), *(float(word) for word in sys.argv[2:3] or ["16"]))
