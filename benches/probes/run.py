"""What each probe costs here, and whether all together stay below the bar. ``run.py [--quick]``."""

from __future__ import annotations

import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import strata.cli  # noqa: F401 - the command's own settings of Python's memory: its samples are what is measured here
from strata.app.sampling_scope import sampling_scope_of_endpoints
from strata.app.watch_every import watch_on
from strata.engine import Backing, TargetConfig, TargetProcess
from strata.model.endpoint import Endpoint
from strata.probes import AT_EDGES, OF_NODE, PROBES, REMOTE, Probe, ProbedNode, ProbeScope, Sampler

BAR = 0.01
"""Of one core, at one sample a second."""
LINES = 1_500
WATCH = 10.0
"""Seconds of a slice; its samples are one second apart, as the bar says."""


def blocks(probe: Probe, count: int, reads: int) -> float:
    """Microseconds of one read, back to back: median of the blocks' means."""
    found = []
    for _ in range(count):
        begun = time.thread_time_ns()
        for _ in range(reads):
            probe.read()
        found.append((time.thread_time_ns() - begun) / reads / 1e3)
    return statistics.median(found)


def cold(probe: Probe, times: int) -> float:
    """Microseconds of one read after a pause in which other things filled the caches: median."""
    other = bytearray(16 << 20)
    found = []
    for _ in range(times):
        for at in range(0, len(other), 4096):
            other[at] ^= 1
        time.sleep(0.05)
        begun = time.thread_time_ns()
        probe.read()
        found.append((time.thread_time_ns() - begun) / 1e3)
    return statistics.median(found)


def children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def exporter_text() -> str:
    """As long as a node_exporter's of a small machine, a fifth of it known here."""
    made = []
    for i in range(LINES // 5):
        made.append(f'node_disk_read_bytes_total{{device="sd{i}"}} {i * 4096}')
        made += [f'node_other_{i}_total{{a="b{k}",c="d"}} {i + k}.5' for k in range(4)]
    return "\n".join(made) + "\n"


@contextmanager
def exporter() -> Iterator[str]:
    body = exporter_text().encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def namespaces() -> Iterator[tuple[ProbedNode, ...]]:
    """Two with a veth between them; none without root."""
    names = [f"sbench-{os.getpid()}-{n}" for n in (1, 2)]

    def ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True, capture_output=True)

    try:
        try:
            for name in names:
                ip("netns", "add", name)
            ip("-n", names[0], "link", "add", "wire", "type", "veth", "peer", "name", "wire", "netns", names[1])
        except (OSError, subprocess.CalledProcessError):
            print("namespaces: left out (root, ip)")
            yield ()
            return
        yield tuple(ProbedNode(name=name, netns=f"/run/netns/{name}") for name in names)
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)


@contextmanager
def connection() -> Iterator[int]:
    """A connection over loopback to a listener of this process; its port."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
    ):
        peer, _ = server.accept()
        with peer:
            client.sendall(b"x")
            yield int(server.getsockname()[1])


def table(scope: ProbeScope, count: int, reads: int) -> float:
    """Prints a row for each probe; the sum of what is read all the time, cold, in µs."""
    total = 0.0
    print(f"{'probe':12} {'columns':>7} {'open µs':>9} {'back to back µs':>16} {'after a pause µs':>17}  not here")
    for name, opener in PROBES.items():
        spent, begun = children_s(), time.thread_time_ns()
        probe = opener(scope)
        opening = (time.thread_time_ns() - begun) / 1e3
        few = max(reads // 40, 3) if name in AT_EDGES | REMOTE else reads
        probe.read()
        warm, late = blocks(probe, count, few), cold(probe, 9)
        children = (children_s() - spent) / (2 + count * few + 9) * 1e6
        absent = "; ".join(probe.absent)
        print(f"{name:12} {len(probe.columns):7} {opening:9.0f} {warm:16.1f} {late:17.1f}  {absent[:60]}")
        if children > 1:
            print(f"{'':12} and {children:.0f} µs of a process that is started for each reading")
        if name not in AT_EDGES | REMOTE:
            total += late
        probe.close()
    return total


def sampling(make: Callable[[float], Sampler], interval_s: float, seconds: float) -> float:
    """Share of one core while it samples, start and stop apart."""
    sampler = make(interval_s).start()
    begun, wall = time.process_time() + children_s(), time.monotonic()
    time.sleep(seconds)
    share = (time.process_time() + children_s() - begun) / (time.monotonic() - wall)
    sampler.stop()
    return share


def watching(seconds: float) -> float:
    """Share of a core that ``strata watch --every 10s`` takes once it runs: samples, slices, verdicts, the ring."""
    with tempfile.TemporaryDirectory() as state:
        before = os.environ.get("STRATA_STATE_DIR")
        os.environ["STRATA_STATE_DIR"] = state
        told: list[tuple[float, float]] = []
        try:
            watch_on(
                tempfile.gettempdir(), WATCH, lambda _: told.append((time.monotonic(), time.process_time())), seconds
            )
        finally:
            os.environ.pop("STRATA_STATE_DIR")
            if before is not None:
                os.environ["STRATA_STATE_DIR"] = before
    (begin, begun), (end, ended) = told[0], told[-1]
    return (ended - begun) / (end - begin)


def spent_ns(pid: int) -> int:
    """What all threads of a process spent on processors."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)


def target_cost(rounds: int) -> None:
    """The server's processor time for each request with and without statistics, alternating; the least of each."""
    from strata.app.measure import measure_endpoint, timing_of, workload_from_words

    costs: dict[bool, list[float]] = {False: [], True: []}
    workload, timing = workload_from_words("randread", "4k", iodepth=16), timing_of("0", "1s", "1s")
    for number in range(2 * rounds):
        counted = number % 2 == 1
        stats = f"/tmp/strata-bench-{os.getpid()}.sock" if counted else None
        config = TargetConfig(backing=Backing(kind="null", size_bytes=1 << 30), stats=stats)
        with tempfile.TemporaryDirectory(prefix="strata-bench-") as folder, TargetProcess(config) as target:
            before = spent_ns(target.pid)
            done = measure_endpoint(
                [target.uri()], workload, timing, size=None, keep=False, destructive=None,
                store=f"{folder}/runs.db",
            )  # fmt: skip
            # The connection's threads end with it and take their time along: the process's own clock has it.
            fields = Path(f"/proc/{target.pid}/stat").read_text().rpartition(")")[2].split()
            whole = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") * 1e9
        costs[counted].append(max(whole - before, 0) / done.result.completed)
    without, with_ = (min(costs[c]) for c in (False, True))
    print(f"\ntarget, null backing, depth 16: {without:,.0f} ns a request without statistics, {with_:,.0f} with")
    print(f"  rounds without {[round(c) for c in costs[False]]}, with {[round(c) for c in costs[True]]}")


def main(quick: bool) -> int:
    count, reads, seconds = (3, 40, 3.0) if quick else (9, 200, 10.0)
    sampled = sampling_scope_of_endpoints([Endpoint.parse(f"file:{Path.cwd()}")])
    with ExitStack() as held:
        port = held.enter_context(connection())
        url = held.enter_context(exporter())
        nodes = held.enter_context(namespaces())
        stats = f"/tmp/strata-bench-{os.getpid()}.stats"
        held.enter_context(TargetProcess(TargetConfig(backing=Backing(kind="null", size_bytes=1 << 30), stats=stats)))
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        held.callback(child.wait)
        held.callback(child.kill)
        print(
            f"{os.cpu_count()} processors, Linux {os.uname().release}, devices {', '.join(sampled.devices) or 'none'}\n"
        )
        scope = ProbeScope(
            devices=sampled.devices, paths=sampled.paths, ports=(port,), pids=(child.pid,), url=url, stats=stats
        )
        total = table(scope, count, reads)
        print(
            f"\nwhat is read all the time: {total:.0f} µs a sample after a pause, {total / 1e4:.3f} % of a core at 1 s"
        )
        here = ProbedNode(ports=(port,), pids=(child.pid,), stats=stats)

        def make(interval_s: float) -> Sampler:
            return Sampler(sampled.devices, interval_s, paths=sampled.paths, nodes=(here, *nodes))

        shares = {}
        for interval_s in (1.0, 0.25):
            shares[interval_s] = sampling(make, interval_s, seconds)
            what = f"{1 + len(nodes)} nodes" if nodes else "1 node"
            print(
                f"sampler, {what}, every {interval_s:g} s for {seconds:g} s: {shares[interval_s] * 100:.3f} % of a core"
            )
        begun, used = time.monotonic(), time.process_time()
        sampler = make(1.0).start()
        started, spent = (time.monotonic() - begun) * 1e3, (time.process_time() - used) * 1e3
        sampler.stop()
        print(f"start of the sampler: {started:.1f} ms, of which {spent:.1f} ms processor time")
        assert set(OF_NODE) <= set(PROBES)
    target_cost(2 if quick else 5)
    shares[WATCH] = watching(35.0 if quick else 125.0)
    missed = 0
    for what, share in (("the sampler at 1 s", shares[1.0]), ("strata watch --every 10s", shares[WATCH])):
        kept = share <= BAR
        missed += not kept
        word = "kept" if kept else "MISSED"
        print(f"\n{word}: {what} takes {share * 100:.3f} % of a core, the bar is {BAR * 100:g} %")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main("--quick" in sys.argv or os.environ.get("QUICK") == "1"))
