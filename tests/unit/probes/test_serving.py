"""Which sockets are the other ends of one's own, where two network namespaces may have the same addresses."""

from __future__ import annotations

import socket

from strata.probes.serving import over_tcp
from strata.probes.tcp.diag import is_loopback

MAPPED = bytes(10) + b"\xff\xff"


def end(address: str, port: int) -> bytes:
    return port.to_bytes(2, "big") + MAPPED + socket.inet_aton(address)


def pair(inode: int, here: bytes, there: bytes) -> tuple[int, bytes, bytes]:
    return inode, here, there


CLIENT, SERVER = end("127.0.0.1", 40000), end("127.0.0.1", 5432)
FAR_CLIENT, FAR_SERVER = end("10.0.0.2", 40000), end("10.0.0.1", 5432)


def test_a_loopback_leads_to_nobody_in_another_namespace() -> None:
    """Each container has a 127.0.0.1: what is connected there in the same way is a neighbour."""
    mine = [pair(1, CLIENT, SERVER), pair(2, SERVER, CLIENT)]
    neighbours = [pair(11, CLIENT, SERVER), pair(12, SERVER, CLIENT)]
    assert over_tcp([mine, neighbours], {1}) == over_tcp([neighbours, mine], {1}) == {2}
    assert over_tcp([mine[:1], neighbours], {1}) == set()
    six = (5432).to_bytes(2, "big") + bytes(15) + b"\x01"
    assert is_loopback(CLIENT) and is_loopback(six) and not is_loopback(FAR_SERVER)


def test_an_address_that_two_other_namespaces_have_names_neither_of_them() -> None:
    mine, one = [pair(1, FAR_CLIENT, FAR_SERVER)], [pair(2, FAR_SERVER, FAR_CLIENT)]
    other = [pair(3, FAR_SERVER, FAR_CLIENT)]
    assert over_tcp([mine, one], {1}) == {2}
    assert over_tcp([mine, one, other], {1}) == set()
    assert over_tcp([mine + one, other], {1}) == {2}


def test_who_is_connected_to_itself_is_served_by_nobody_else() -> None:
    both = [pair(1, CLIENT, SERVER), pair(2, SERVER, CLIENT)]
    assert over_tcp([both], {1, 2}) - {1, 2} == set()
