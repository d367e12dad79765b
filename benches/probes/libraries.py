"""What our readers of netlink and of OpenMetrics cost beside the libraries for it. ``libraries.py``, about 20 s.

Processor time of the thread (median, least and most of 9 blocks); connections are opened over loopback, none is used.
"""

from __future__ import annotations

import resource
import socket
import statistics
import struct
import time
from collections.abc import Callable
from contextlib import ExitStack

from prometheus_client.parser import text_string_to_metric_families
from pyroute2 import DiagSocket, IPRoute
from pyroute2.netlink.diag import inet_diag_req

from strata.parsing.exposition import Parser
from strata.probes import qdisc
from strata.probes.netlink import ROUTE, SOCK_DIAG, Netlink
from strata.probes.tcp import diag

BLOCKS = 9


def row(what: str, call: Callable[[], object], reads: int) -> None:
    """Microseconds of one call."""
    call()
    found = []
    for _ in range(BLOCKS):
        begun = time.thread_time_ns()
        for _ in range(reads):
            call()
        found.append((time.thread_time_ns() - begun) / reads / 1e3)
    print(
        f"{what:46} {statistics.median(found):10.1f} µs   {min(found):10.1f} … {max(found):10.1f}   n {BLOCKS}x{reads}"
    )


def request(one: diag.Socket) -> inet_diag_req:
    """The library's question for one socket by its key and cookie."""
    asked = inet_diag_req()
    asked["sdiag_family"], asked["sdiag_protocol"] = one.family, socket.IPPROTO_TCP
    asked["idiag_ext"], asked["idiag_states"] = 2, 0xFFFFFFFF
    asked["idiag_sport"], asked["idiag_dport"] = struct.unpack_from("!HH", one.key)
    asked["idiag_src"] = struct.unpack_from("!4I", one.key, 4)
    asked["idiag_dst"] = struct.unpack_from("!4I", one.key, 20)
    asked["idiag_if"], asked["idiag_cookie"] = struct.unpack_from("=IQ", one.key, 36)
    return asked


def netlink(pairs: tuple[int, ...]) -> None:
    """One socket, all sockets, the disciplines."""
    ours, theirs = Netlink(SOCK_DIAG), DiagSocket()
    families = (socket.AF_INET, socket.AF_INET6)
    with ExitStack() as held:
        server = held.enter_context(socket.create_server(("127.0.0.1", 0), backlog=max(pairs)))
        made = 0
        for number in pairs:
            while made < number:
                held.enter_context(socket.create_connection(server.getsockname())).sendall(b"x")
                held.enter_context(server.accept()[0])
                made += 1
            all_of = list(diag.sockets_and_info(ours, diag.ESTABLISHED))
            reads = max(400 // number, 4)
            row(f"{len(all_of)} sockets", lambda: list(diag.sockets_and_info(ours, diag.ESTABLISHED)), reads)
            row(
                f"{len(all_of)} sockets, pyroute2",
                lambda: [theirs.get_sock_stats(f, 1 << diag.ESTABLISHED, extensions=2) for f in families],
                max(reads // 4, 2),
            )
        one = all_of[0][0]
        row("one socket", lambda: diag.info(ours, one), 200)
        row("one socket, pyroute2", lambda: list(theirs.nlm_request(request(one), 20, 1)), 50)
    route, library = Netlink(ROUTE), IPRoute()
    row("disciplines", lambda: qdisc.parse(route.ask(38, qdisc._TCMSG.pack(0, 0, 0, 0, 0), dump=True)), 200)
    row("disciplines, pyroute2", lambda: list(library.get_qdiscs()), 50)


def openmetrics() -> None:
    """An exporter's 1,500 lines, and one line of 256 KiB."""
    from run import exporter_text

    text, parser = exporter_text(), Parser()
    row("1,500 lines, again", lambda: list(parser.values(text)), 3)
    row("1,500 lines, for the first time", lambda: list(Parser().values(text)), 3)
    row("1,500 lines, prometheus_client", lambda: list(text_string_to_metric_families(text)), 3)
    line = 'a{x="' + '\\"' * (1 << 17) + '"} 1\n'
    row("a line of 256 KiB", lambda: list(Parser().values(line)), 1)
    row("a line of 256 KiB, prometheus_client", lambda: list(text_string_to_metric_families(line)), 1)


if __name__ == "__main__":
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, most), most))
    netlink((1, 32, 500))
    openmetrics()
