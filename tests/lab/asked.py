"""A client that asks and a server that reads a device for it, both slow where told: `python asked.py serve|ask|…`.

A question is two numbers, offset and length; the answer is so many bytes. The client says how long each took by its
own clock, which is what a trace of them is compared with. ``nbd`` asks an NBD server, several questions at once;
``together`` reads with several processes; ``watched`` reads a file whose every read somebody else has to allow.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import socket
import struct
import sys
import time
from collections.abc import Iterable, Iterator
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Barrier

BLOCK = 4096
_QUESTION = struct.Struct("=QQ")


def serve(address: str, port: int, device: str, think_s: float) -> None:
    """One client after the other, until the process is ended."""
    disk = os.open(device, os.O_RDONLY | os.O_DIRECT)
    buffer = mmap.mmap(-1, BLOCK)
    with socket.create_server((address, port)) as listener:
        print("ready", flush=True)
        while True:
            connection, _ = listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with connection:
                while question := connection.recv(_QUESTION.size, socket.MSG_WAITALL):
                    offset, length = _QUESTION.unpack(question)
                    if think_s:
                        time.sleep(think_s)
                    os.preadv(disk, [buffer], offset)
                    connection.sendall(buffer[:length])


def ask(address: str, port: int, count: int, think_s: float) -> None:
    """``count`` questions one after the other; prints how long each took, in ns."""
    took = []
    with socket.create_connection((address, port), 30) as server:
        server.settimeout(None)
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for n in range(count):
            question = _QUESTION.pack(n * BLOCK, BLOCK)
            began = time.monotonic_ns()
            server.send(question)
            if think_s:
                time.sleep(think_s)
            server.recv(BLOCK, socket.MSG_WAITALL)
            took.append(time.monotonic_ns() - began)
    print(json.dumps(took))


def timed_reads(disk: int, blocks: Iterable[int]) -> list[tuple[int, int]]:
    """When each began and how long it took, in ns."""
    buffer = mmap.mmap(-1, BLOCK)
    took = []
    for n in blocks:
        began = time.monotonic_ns()
        os.preadv(disk, [buffer], n * BLOCK)
        took.append((began, time.monotonic_ns() - began))
    return took


def read(device: str, count: int) -> None:
    """Reads of a device by this program itself."""
    disk = os.open(device, os.O_RDONLY | os.O_DIRECT)
    print(json.dumps([ns for _, ns in timed_reads(disk, range(count))]))


def _next_of(count: int, taken: Synchronized[int]) -> Iterator[int]:
    while True:
        with taken.get_lock():
            n, taken.value = taken.value, taken.value + 1
        if n >= count:
            return
        yield n


def _one_of(device: str, count: int, taken: Synchronized[int], begin: Barrier, told: Connection) -> None:
    disk = os.open(device, os.O_RDONLY | os.O_DIRECT)
    begin.wait()
    told.send((os.getpid(), timed_reads(disk, _next_of(count, taken))))


def together(device: str, count: int, readers: int) -> None:
    """``count`` reads by so many processes, all of them until the end; prints (process, when, how long) of each."""
    context = get_context("fork")
    begin, taken = context.Barrier(readers), context.Value("i", 0)
    ends, processes = [], []
    for _ in range(readers):
        here, there = context.Pipe(duplex=False)
        processes.append(context.Process(target=_one_of, args=(device, count, taken, begin, there)))
        processes[-1].start()
        ends.append(here)
    told = [end.recv() for end in ends]
    for process in processes:
        process.join()
    print(json.dumps([(pid, at, ns) for pid, reads in told for at, ns in reads]))


_EVENT, _ALLOWED = struct.Struct("=IBBHQii"), struct.Struct("=iI")


def watched(path: str, count: int, think_s: float) -> None:
    """Reads of a file, each held up for ``think_s`` before the file system begins it, as by a scanner for viruses.

    fanotify (7): the kernel asks a listener before each read, and the reading call waits until it has been allowed.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    # FAN_CLASS_CONTENT, O_RDONLY; FAN_MARK_ADD, FAN_ACCESS_PERM, AT_FDCWD.
    listener = libc.fanotify_init(ctypes.c_uint(4), ctypes.c_uint(0))
    marked = libc.fanotify_mark(listener, ctypes.c_uint(1), ctypes.c_uint64(0x20000), -100, os.fsencode(path))
    if listener < 0 or marked < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    asker = os.getpid()
    scanner = os.fork()
    if scanner == 0:
        while os.getppid() == asker:
            _, _, _, _, _, about, _ = _EVENT.unpack(os.read(listener, _EVENT.size))
            time.sleep(think_s)
            os.write(listener, _ALLOWED.pack(about, 1))
            os.close(about)
        os._exit(0)
    try:
        read(path, count)
    finally:
        os.kill(scanner, 9)
        os.waitpid(scanner, 0)


_HELLO = struct.Struct(">8s8sH")
_ASKED, _ANSWERED = struct.Struct(">IHHQQI"), struct.Struct(">IIQ")


def nbd(address: str, port: int, count: int, depth: int, think_s: float) -> None:
    """``count`` reads, ``depth`` of them at once over one connection; prints how long each took, in ns, as they were
    sent. They are sent together while there is room, and one thread takes the replies in whichever order they come."""
    began, took = [0] * count, [0] * count
    with socket.create_connection((address, port), 30) as server:
        server.settimeout(None)
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _HELLO.unpack(server.recv(_HELLO.size, socket.MSG_WAITALL))
        # Fixed newstyle without zeroes; the default export by its empty name.
        server.sendall(struct.pack(">I8sII", 3, b"IHAVEOPT", 1, 0))
        server.recv(10, socket.MSG_WAITALL)
        sent = done = 0
        while done < count:
            while sent < count and sent - done < depth:
                began[sent] = time.monotonic_ns()
                server.send(_ASKED.pack(0x25609513, 0, 0, sent, sent * BLOCK, BLOCK))
                sent += 1
            if think_s:
                time.sleep(think_s)
            magic, error, cookie = _ANSWERED.unpack(server.recv(_ANSWERED.size, socket.MSG_WAITALL))
            assert (magic, error) == (0x67446698, 0)
            server.recv(BLOCK, socket.MSG_WAITALL)
            took[cookie] = time.monotonic_ns() - began[cookie]
            done += 1
    print(json.dumps(took))


if __name__ == "__main__":
    what, *words = sys.argv[1:]
    if what in ("together", "watched", "read"):
        # Others' work on this machine is no delay of a layer: what is compared runs before it.
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    if what == "serve":
        serve(words[0], int(words[1]), words[2], float(words[3]))
    elif what == "ask":
        ask(words[0], int(words[1]), int(words[2]), float(words[3]))
    elif what == "nbd":
        nbd(words[0], int(words[1]), int(words[2]), int(words[3]), float(words[4]))
    elif what == "together":
        together(words[0], int(words[1]), int(words[2]))
    elif what == "watched":
        watched(words[0], int(words[1]), float(words[2]))
    else:
        read(words[0], int(words[1]))
