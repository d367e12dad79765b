"""What the kernel refuses: io_uring, locked memory. The measurement goes on with less, and says so."""

from __future__ import annotations

import ctypes
import resource
import struct

import pytest
from commands import QUICK, measured, strata, working_disk

IO_URING_SETUP = 425
EPERM = 1
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, PR_CAPBSET_DROP = 38, 22, 2, 24
CAP_IPC_LOCK = 14
SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO = 0x7FFF0000, 0x00050000
BPF_LOAD_WORD, BPF_JUMP_EQUAL, BPF_RETURN = 0x20, 0x15, 0x06

READ = ("--rw", "randread", "--iodepth", 4, "--runtime", "150ms", "--size", "8m")


class _Program(ctypes.Structure):
    _fields_ = (("len", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def without_io_uring() -> None:
    """As a container's seccomp profile does it: io_uring_setup fails with EPERM from here on."""
    code = b"".join(
        struct.pack("=HBBI", *one)
        for one in (
            (BPF_LOAD_WORD, 0, 0, 0),  # the number of the system call
            (BPF_JUMP_EQUAL, 0, 1, IO_URING_SETUP),
            (BPF_RETURN, 0, 0, SECCOMP_RET_ERRNO | EPERM),
            (BPF_RETURN, 0, 0, SECCOMP_RET_ALLOW),
        )
    )
    memory = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.addressof(memory))
    libc = ctypes.CDLL(None, use_errno=True)
    for arguments in ((PR_SET_NO_NEW_PRIVS, 1), (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program))):
        padded = [*arguments, *[0] * (5 - len(arguments))]
        if libc.prctl(*(ctypes.c_ulong(a) if isinstance(a, int) else a for a in padded)):
            raise OSError(ctypes.get_errno(), "prctl")


def _locked_memory(limit: int) -> None:
    """An ordinary user's limit, also for root: it keeps everything but the right to go beyond it."""
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (limit, limit))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_CAPBSET_DROP, CAP_IPC_LOCK, 0, 0, 0)


# A user's locked memory is one sum over his processes: rings and buffers of other tests would be in it.
ONE_SUM = pytest.mark.alone


def room_for_a_ring() -> None:
    """Rings of small depth fit (newer kernels count them too), their buffers do not."""
    _locked_memory(128 * 1024)


def room_for_a_small_ring() -> None:
    """Enough for the ring that is tried first, not for one of a great depth."""
    _locked_memory(24 * 1024)


@pytest.fixture(scope="module")
def has_io_uring() -> None:
    with working_disk() as disk:
        kind = measured(f"file:{disk}/x.dat", *READ)["result"]["engine"]["kind"]
    if kind != "io_uring":
        pytest.skip("this machine refuses io_uring to everybody")


@pytest.mark.ci
@pytest.mark.usefixtures("has_io_uring")
def test_a_refused_ring_falls_back_to_threads_and_says_why() -> None:
    with working_disk() as disk:
        document = measured(f"file:{disk}/x.dat", *READ, before=without_io_uring)
        assert document["result"]["engine"]["kind"] == "pool"
        assert "Operation not permitted" in document["result"]["engine"]["fallback_reason"]
        assert document["result"]["read"]["ops"] > 0
        assert document["result"]["effective"]["direct"] is True
        text = strata("measure", f"file:{disk}/x.dat", *READ, *QUICK, before=without_io_uring)
        assert text.returncode == 0, text.stderr
        assert "io_uring is refused" in text.stdout


@pytest.mark.ci
@ONE_SUM
@pytest.mark.usefixtures("has_io_uring")
def test_refused_locked_memory_goes_on_without_registered_buffers() -> None:
    words = ("--rw", "read", "--bs", "64k", "--iodepth", 4, "--runtime", "150ms", "--size", "8m")
    with working_disk() as disk:
        document = measured(f"file:{disk}/x.dat", *words, before=room_for_a_ring)
        engine = document["result"]["engine"]
        assert engine["kind"] == "io_uring"
        said = [s for s in engine["setup"] if s.startswith("unregistered_buffers")]
        assert said, engine["setup"]
        assert "registered_buffers" not in engine["setup"]
        assert document["result"]["errored"] == 0
        assert document["result"]["read"]["ops"] > 0
        text = strata("measure", f"file:{disk}/x.dat", *words, *QUICK, before=room_for_a_ring)
        assert "unregistered buffers" in text.stdout


@pytest.mark.ci
@ONE_SUM
@pytest.mark.usefixtures("has_io_uring")
def test_rings_beyond_the_limit_of_locked_memory_fall_back_too() -> None:
    """Kernels that do not count rings carry it by io_uring; either way it is measured, and a fallback is explained."""
    words = ("--rw", "randread", "--iodepth", 1024, "--runtime", "150ms", "--size", "8m")
    with working_disk() as disk:
        document = measured(f"file:{disk}/x.dat", *words, before=room_for_a_small_ring)
    engine = document["result"]["engine"]
    assert document["result"]["read"]["ops"] > 0
    assert (engine["kind"] == "pool") == ("Cannot allocate memory" in (engine["fallback_reason"] or ""))
