"""Our netlink beside pyroute2's: what both say of the same bytes, and why the library is not in the sampler's way."""

from __future__ import annotations

import errno
import os
import socket
import struct
import threading
from ipaddress import IPv4Address

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroute2 import DiagSocket, IPRoute
from pyroute2.netlink.diag import MarshalDiag, inet_diag_msg, inet_diag_req
from pyroute2.netlink.rtnl.tcmsg import tcmsg

from strata.probes import qdisc
from strata.probes.netlink import ROUTE, SOCK_DIAG, Netlink, attributes
from strata.probes.tcp import diag

HEAD = struct.Struct("=IHHII")
MESSAGE, INFO = 72, 2
TCP_INFO = struct.Struct("=" + "".join(form for _, form in inet_diag_msg.tcp_info.fields))
# Our name of a field of struct tcp_info: the library's, which is the kernel's.
THEIRS = {
    "unacked": "tcpi_unacked",
    "rtt_us": "tcpi_rtt",
    "rttvar_us": "tcpi_rttvar",
    "cwnd": "tcpi_snd_cwnd",
    "retransmits": "tcpi_total_retrans",
    "acked_bytes": "tcpi_bytes_acked",
    "received_bytes": "tcpi_bytes_received",
    "notsent_bytes": "tcpi_notsent_bytes",
    "min_rtt_us": "tcpi_min_rtt",
    "delivery_rate": "tcpi_delivery_rate",
    "busy_us": "tcpi_busy_time",
    "rwnd_limited_us": "tcpi_rwnd_limited",
    "sndbuf_limited_us": "tcpi_sndbuf_limited",
    "dsack_dups": "tcpi_dsack_dups",
}


def message(info: bytes, end: bytes = bytes(MESSAGE - 4)) -> bytes:
    """An answer of SOCK_DIAG of an IPv4 socket, with its head."""
    body = struct.pack("=BBBB", socket.AF_INET, diag.ESTABLISHED, 0, 0) + end
    body += struct.pack("=HH", 4 + len(info), INFO) + info
    return HEAD.pack(HEAD.size + len(body), 20, 0, 1, 0) + body


@given(st.binary(min_size=MESSAGE - 4, max_size=MESSAGE - 4), st.binary(min_size=TCP_INFO.size, max_size=400))
def test_both_read_the_same_of_a_socket(end: bytes, info: bytes) -> None:
    raw = message(info[: len(info) & ~3], end)
    theirs = inet_diag_msg(raw)
    theirs.decode()
    ours = diag._socket(raw[HEAD.size :])
    assert (ours.local, ours.local_port) == (theirs["idiag_src"], theirs["idiag_sport"])
    assert (ours.peer, ours.peer_port) == (theirs["idiag_dst"], theirs["idiag_dport"])
    assert (ours.state, ours.inode) == (theirs["idiag_state"], theirs["idiag_inode"])
    told = theirs.get_attr("INET_DIAG_INFO")
    assert diag._info(raw[HEAD.size :]) == {ours: told[name] for ours, name in THEIRS.items()}


def test_both_ask_the_same() -> None:
    theirs = inet_diag_req()
    theirs["sdiag_family"], theirs["sdiag_protocol"] = socket.AF_INET, socket.IPPROTO_TCP
    theirs["idiag_ext"], theirs["idiag_states"] = diag._WITH_INFO, 1 << diag.LISTEN
    theirs.encode()
    ours = diag._REQUEST.pack(socket.AF_INET, diag._TCP, diag._WITH_INFO, 1 << diag.LISTEN) + bytes(48)
    assert ours == bytes(theirs.data[HEAD.size :])


def test_one_walk_tells_of_both_families() -> None:
    """And asks for what pyroute2 asks for in two."""
    with (
        socket.create_server(("127.0.0.1", 0)) as four,
        socket.create_server(("::1", 0), family=socket.AF_INET6) as six,
        socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True) as either,
    ):
        asked = [four.getsockname()[:2], six.getsockname()[:2], ("127.0.0.1", either.getsockname()[1])]
        clients = [socket.create_connection(at) for at in asked]
        own = Netlink(SOCK_DIAG)
        ours = {(one.peer, one.peer_port): one for one in diag.sockets(own, diag.ESTABLISHED)}
        inodes = {inode for inode, _, _ in diag.ends(own, diag.ESTABLISHED)}
        listen = {one.local_port for one in diag.sockets(own, diag.LISTEN)}
        assert {at[1] for at in asked} <= listen
        for client, at in zip(clients, asked, strict=True):
            one = ours[at]
            assert (one.family, one.inode) == (client.family, os.fstat(client.fileno()).st_ino)
            assert one.inode in inodes and (one.local, one.local_port) == client.getsockname()[:2]
            assert diag.info(own, one), "its key finds it again"
            client.close()
        with DiagSocket() as library:
            library.bind()
            told = {
                m["idiag_inode"]
                for family in (socket.AF_INET, socket.AF_INET6)
                for m in library.get_sock_stats(family=family, states=1 << diag.LISTEN)
            }
        mine = {os.fstat(server.fileno()).st_ino for server in (four, six, either)}
        assert mine <= told and mine <= {one.inode for one in diag.sockets(own, diag.LISTEN)}
        own.close()


def test_both_read_the_same_disciplines() -> None:
    """Those of this machine; a test beside may add or remove one meanwhile."""
    own = Netlink(ROUTE)

    def ours() -> set[qdisc.Key]:
        return set(qdisc.parse(own.ask(qdisc._GETQDISC, qdisc._TCMSG.pack(0, 0, 0, 0, 0), dump=True)))

    before = ours()
    with IPRoute() as library:
        all_of = [(m["index"], m["handle"], m.get_attr("TCA_KIND")) for m in library.get_qdiscs()]
    theirs, after = {key for key in all_of if key[2] != "noqueue"}, ours()
    own.close()
    assert before & after <= theirs <= before | after


@given(st.integers(0, (1 << 64) - 1), st.lists(st.integers(0, (1 << 32) - 1), min_size=6, max_size=6))
def test_both_read_the_same_of_a_discipline(size: int, rest: list[int]) -> None:
    def attribute(kind: int, content: bytes) -> bytes:
        return struct.pack("=HH", 4 + len(content), kind) + content + bytes(-len(content) % 4)

    stats = attribute(1, struct.pack("=QIxxxx", size, rest[0])) + attribute(3, struct.pack("=5I", *rest[1:]))
    body = qdisc._TCMSG.pack(0, 2, 0x10000, 0, 0) + attribute(1, b"fq\0") + attribute(7, stats)
    theirs = tcmsg(HEAD.pack(HEAD.size + len(body), 36, 0, 1, 0) + body)
    theirs.decode()
    told = theirs.get_attr("TCA_STATS2")
    basic, queue = told.get_attr("TCA_STATS_BASIC"), told.get_attr("TCA_STATS_QUEUE")
    names = ("drops", "requeues", "overlimits", "backlog", "qlen")
    expected = (basic["bytes"], basic["packets"], *(queue[name] for name in names))
    assert qdisc.parse([body]) == {(2, 0x10000, "fq"): expected}


def test_the_library_loses_all_of_a_socket_on_a_kernel_with_fewer_fields() -> None:
    """It takes all of Linux 5.4 or nothing. These are those of 4.10, which has all that we read but one."""
    info = TCP_INFO.pack(*range(len(inet_diag_msg.tcp_info.fields)))[:192]
    theirs = inet_diag_msg(message(info))
    with pytest.raises(TypeError):
        theirs.decode()
        theirs.get_attr("INET_DIAG_INFO")["tcpi_rtt"]
    assert set(diag.parse_info(info)) == set(THEIRS) - {"dsack_dups"}


def test_the_library_does_not_tell_a_refusal() -> None:
    """`DiagSocket` takes an error for an answer like others: who asks for a socket that is gone is not told so."""
    refused = HEAD.pack(36, 2, 0, 1, 0) + struct.pack("=i", -errno.ENOENT) + bytes(16)
    (told,) = MarshalDiag().parse(refused)
    assert told["header"]["error"] is None

    class Kernel(Netlink):
        def __init__(self) -> None:
            self._socket, self.kernel = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
            self._sequence = 0

    asked = Kernel()
    asked.kernel.send(refused)
    one = diag.Socket(bytes(48), socket.AF_INET, 1, "", 0, "", 0, 0)
    assert diag.info(asked, one) is None
    asked.kernel.close()
    asked.close()


def test_the_librarys_socket_is_another_one_in_every_thread() -> None:
    """Ours is opened by a thread that entered a namespace, and read by the sampler's, which is in another."""
    found: list[set[str]] = [set(), set()]
    own = Netlink(SOCK_DIAG)
    with DiagSocket() as library:

        def look() -> None:
            found[0].add(os.readlink(f"/proc/self/fd/{library.fileno()}"))  # noqa: PTH115
            found[1].add(os.readlink(f"/proc/self/fd/{own._socket.fileno()}"))  # noqa: PTH115

        look()
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    own.close()
    assert [len(sockets) for sockets in found] == [2, 1]


def test_what_a_kernel_would_not_send_ends_the_reading() -> None:
    """Attributes without a length, or beyond the message; an address is one whatever its bytes are."""
    assert list(attributes(struct.pack("=HH", 3, 1) + b"x" * 9)) == []
    assert list(attributes(struct.pack("=HH", 99, 1))) == []
    assert diag._socket(message(b"", b"\xff" * (MESSAGE - 4))[HEAD.size :]).peer == str(IPv4Address("255.255.255.255"))
