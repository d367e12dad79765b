"""Servers that mean harm: real sockets on the loopback that drip, send nothings, lie about lengths, or fall silent.

Each speaks just enough of its protocol to be listened to. All end by themselves, so that a client that is held for ever
shows as a wrong error and not as a test that never ends.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

LONGEST_S = 8.0
"""After this a liar hangs up: far beyond the patience that tests give, and the end of a client without any."""

Script = Callable[["Peer"], None]


@dataclass
class Peer:
    """One connection of a client."""

    sock: socket.socket
    heard: threading.Event
    until: float = field(default_factory=lambda: time.monotonic() + LONGEST_S)

    def say(self, what: bytes) -> None:
        """Send it all."""
        self.sock.sendall(what)

    def hear(self, least: int) -> bytes:
        """At least so many bytes; the test is told that there is a client."""
        got = b""
        while len(got) < least:
            more = self.sock.recv(65536)
            if not more:
                raise ConnectionError
            got += more
        self.heard.set()
        return got

    def exactly(self, count: int) -> bytes:
        """So many bytes."""
        got = b""
        while len(got) < count:
            more = self.sock.recv(count - len(got))
            if not more:
                raise ConnectionError
            got += more
        self.heard.set()
        return got

    def keep(self, what: bytes, pause_s: float = 0.01) -> None:
        """The same again and again."""
        self.heard.set()
        while time.monotonic() < self.until:
            self.say(what)
            time.sleep(pause_s)

    def mute(self) -> None:
        """Say nothing until the client is gone."""
        self.heard.set()
        self.sock.settimeout(LONGEST_S)
        while self.sock.recv(65536):
            pass


@dataclass
class Liar:
    """Where it listens, and whether a client spoke to it."""

    port: int
    heard: threading.Event


@contextmanager
def liar(script: Script) -> Iterator[Liar]:
    """A server that treats each connection by ``script``."""
    listener = socket.create_server(("127.0.0.1", 0))
    heard = threading.Event()
    served: list[tuple[threading.Thread, socket.socket]] = []

    def serve(sock: socket.socket) -> None:
        with suppress(OSError), sock:
            script(Peer(sock, heard))

    def accept() -> None:
        with suppress(OSError):
            while True:
                sock, _ = listener.accept()
                thread = threading.Thread(target=serve, args=(sock,))
                served.append((thread, sock))
                thread.start()

    accepting = threading.Thread(target=accept)
    accepting.start()
    try:
        yield Liar(listener.getsockname()[1], heard)
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        accepting.join()
        for thread, sock in served:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            thread.join()


def never_answers(peer: Peer) -> None:
    """It takes what it is told."""
    peer.mute()


def hangs_up(peer: Peer) -> None:
    """In the middle of the first thing it says."""
    peer.say(b"\0")
    peer.heard.set()


def drips(head: bytes, *, greets: bytes = b"", hears: int = 0) -> Script:
    """It begins a long message well, and goes on with a byte now and then."""

    def script(peer: Peer) -> None:
        peer.say(greets)
        if hears:
            peer.hear(hears)
        peer.say(head)
        peer.keep(b"\0")

    return script


def repeats(what: bytes, *, greets: bytes = b"", hears: int = 0, pause_s: float = 0.01) -> Script:
    """The same message again and again, which is none that was asked for."""

    def script(peer: Peer) -> None:
        peer.say(greets)
        if hears:
            peer.hear(hears)
        peer.keep(what, pause_s)

    return script


# NBD: what a greeting and replies to the options look like.
NBD_GREETING = b"NBDMAGIC" + b"IHAVEOPT" + struct.pack(">H", 3)
OPT_INFO, OPT_GO, OPT_STRUCTURED, REP_ACK, REP_INFO = 6, 7, 8, 1, 3


def nbd_option(kind: int, option: int, data: bytes = b"", length: int | None = None) -> bytes:
    """A reply to an option; ``length`` is what it says, the data what it has."""
    head = struct.pack(">QIII", 0x0003E889045565A9, option, kind, len(data) if length is None else length)
    return head + data


def nbd_until_the_load(peer: Peer, size: int = 1 << 24) -> None:
    """An honest handshake, structured replies included."""
    peer.say(NBD_GREETING)
    peer.exactly(4)
    while True:
        _, option, length = struct.unpack(">QII", peer.exactly(16))
        peer.exactly(length)
        if option == OPT_STRUCTURED:
            peer.say(nbd_option(REP_ACK, option))
            continue
        if option not in (OPT_INFO, OPT_GO):
            peer.say(nbd_option(REP_ACK, option))
            raise ConnectionError
        peer.say(nbd_option(REP_INFO, option, struct.pack(">HQH", 0, size, 1 | 1 << 8)) + nbd_option(REP_ACK, option))
        if option == OPT_GO:
            return


def nbd_request(peer: Peer) -> tuple[int, int, int]:
    """The next request of a load that reads: its cookie, offset and length."""
    _, _, command, cookie, offset, length = struct.unpack(">IHHQQI", peer.exactly(28))
    if command == 2:
        raise ConnectionError
    return cookie, offset, length


def nbd_disk(content: bytearray, written: list[tuple[int, int]]) -> Script:
    """An honest export of ``content``; what is written to it is noted as offset and length."""

    def script(peer: Peer) -> None:
        nbd_until_the_load(peer, len(content))
        while True:
            _, _, command, cookie, offset, length = struct.unpack(">IHHQQI", peer.exactly(28))
            if command == 2:
                return
            reply = struct.pack(">IIQ", 0x67446698, 0, cookie)
            if command == 1:
                peer.exactly(length)
                written.append((offset, length))
                peer.say(reply)
            else:
                peer.say(reply + content[offset : offset + length])

    return script


def chunk_of_nothing(cookie: int) -> bytes:
    """An error chunk of a structured reply that is not the last one."""
    return struct.pack(">IHHQI", 0x668E33EF, 0, 0x8001, cookie, 6) + struct.pack(">IH", 5, 0)


# iSCSI: a header of 48 bytes.
def pdu(opcode: int, flags: int, data_len: int = 0, *, tag: int = 1) -> bytes:
    """A header as a target sends it."""
    return struct.pack(">BBHI8sII", opcode, flags, 0, data_len, b"\0" * 8, tag, 0xFFFFFFFF).ljust(48, b"\0")


LOGIN_GOES_ON, LOGIN_IS_OVER = pdu(0x23, 0x00), pdu(0x23, 0x87)
NOTHING_IN = pdu(0x20, 0x80, tag=0xFFFFFFFF)


def iscsi_after_login(then: Script) -> Script:
    """An honest login in two stages, then ``then``."""

    def script(peer: Peer) -> None:
        for flags in (0x81, 0x87):
            length = struct.unpack(">I", peer.exactly(48)[4:8])[0] & 0xFFFFFF
            peer.exactly(length + -length % 4)
            peer.say(pdu(0x23, flags))
        peer.exactly(48)
        then(peer)

    return script


# SMB: a length of four bytes and a header of 64.
LATER = struct.pack(">I", 64) + struct.pack("<4sHHIHHIIQ", b"\xfeSMB", 64, 0, 0x103, 0, 1, 3, 0, 0) + b"\0" * 32

# RPC: a record mark alone.
EMPTY_FRAGMENT = struct.pack(">I", 0)
LONG_FRAGMENT = struct.pack(">I", 1 << 31 | 1 << 20)


def nfs_file(mute: threading.Event, mute_from: int) -> Script:
    """MOUNT and NFS with one file that clients make; from the first write behind ``mute_from`` on it says no word."""
    made = threading.Event()
    handle = struct.pack(">I4s", 4, b"file")

    def results(program: int, procedure: int, args: bytes) -> bytes | None:
        if program == 100_005:
            return struct.pack(">I", 0) + handle + struct.pack(">I", 0)
        match procedure:
            case 1:  # GETATTR
                return struct.pack(">II16xQ24xQ24x", 0, 1, 2 << 20, 7)
            case 3:  # LOOKUP
                return struct.pack(">I", 0) + handle if made.is_set() else struct.pack(">II", 2, 0)
            case 7:  # WRITE
                offset, count = struct.unpack(">QI", args[8:20])
                if offset >= mute_from:
                    mute.set()
                return struct.pack(">IIIII8x", 0, 0, 0, count, 2)
            case 8:  # CREATE
                made.set()
                return struct.pack(">II", 0, 1) + handle
            case 19:  # FSINFO
                return struct.pack(">II7I", 0, 0, 32768, 32768, 1, 32768, 32768, 1, 0)
            case _:
                return struct.pack(">III", 0, 0, 0)

    def script(peer: Peer) -> None:
        while not mute.is_set():
            length = struct.unpack(">I", peer.exactly(4))[0] & 0x7FFFFFFF
            call = peer.exactly(length)
            xid, _, _, program, _, procedure = struct.unpack(">6I", call[:24])
            # Behind the credentials (flavour, length, body) and an empty verifier.
            args = call[24 + 8 + struct.unpack(">I", call[28:32])[0] + 8 :]
            body = results(program, procedure, args)
            if not mute.is_set():
                reply = struct.pack(">6I", xid, 1, 0, 0, 0, 0) + (body or b"")
                peer.say(struct.pack(">I", 1 << 31 | len(reply)) + reply)
        peer.mute()

    return script
