"""RBD images through librados and librbd."""

from __future__ import annotations

import ctypes
import errno
import os
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint64, c_void_p

from strata.host.libraries.store import Address, load

PACKAGES = "librbd1 (the package has this name on Debian, Ubuntu, Fedora and RHEL)"
OBJECT_ORDER = 22
"""Objects of 2^22 bytes, Ceph's default."""
LAYERING = 1


class Rbd:
    """A pool of a cluster, connected as the address says."""

    def __init__(self, address: Address, patience_s: float) -> None:
        self._rados, self._rbd = load("librados.so.2", PACKAGES), load("librbd.so.1", PACKAGES)
        self._image, self._cluster, self._pool = str(address["image"]).encode(), c_void_p(), c_void_p()
        user, conf, pool = address["user"], address["conf"], str(address["pool"])
        made = self._rados.rados_create(byref(self._cluster), _or_none(user))
        _checked(made, "the client library cannot use this user")
        _there(
            self._rados.rados_conf_read_file(self._cluster, _or_none(conf)),
            f"cannot read {conf or 'the configuration of Ceph (?conf=PATH gives another)'}",
        )
        seconds = str(max(1, round(patience_s))).encode()
        for key in (b"client_mount_timeout", b"rados_mon_op_timeout", b"rados_osd_op_timeout"):
            self._rados.rados_conf_set(self._cluster, key, seconds)
        self._rados.rados_conf_set(self._cluster, b"rbd_cache", b"false")
        _there(self._rados.rados_connect(self._cluster), "cannot connect to the cluster")
        _there(
            self._rados.rados_ioctx_create(self._cluster, pool.encode(), byref(self._pool)), f"there is no pool {pool}"
        )

    def open(self, write: bool) -> Image:
        """ENOENT when there is no such image."""
        handle = c_void_p()
        do = self._rbd.rbd_open if write else self._rbd.rbd_open_read_only
        _checked(do(self._pool, c_char_p(self._image), byref(handle), None), "cannot open the image")
        return Image(self._rados, self._rbd, self._pool, handle)

    def create(self, size: int) -> None:
        """EEXIST when there is an image of that name."""
        order = c_int(OBJECT_ORDER)
        made = self._rbd.rbd_create2(
            self._pool, c_char_p(self._image), c_uint64(size), c_uint64(LAYERING), byref(order)
        )
        _checked(made, "cannot create the image")

    def remove(self) -> None:
        """EBUSY while somebody has it open."""
        _checked(self._rbd.rbd_remove(self._pool, c_char_p(self._image)), "cannot remove the image")


class Image:
    def __init__(self, rados: ctypes.CDLL, rbd: ctypes.CDLL, pool: c_void_p, handle: c_void_p) -> None:
        self._rados, self._rbd, self._pool, self._handle = rados, rbd, pool, handle
        for call in (rbd.rbd_read, rbd.rbd_write):
            call.argtypes, call.restype = (c_void_p, c_uint64, c_size_t, c_void_p), ctypes.c_ssize_t

    def size(self) -> int:
        """Bytes."""
        found = c_uint64()
        _checked(self._rbd.rbd_get_size(self._handle, byref(found)), "cannot read the size")
        return found.value

    def round_trip(self) -> None:
        """The state of the pool's list of images, from the OSD that has it."""
        size, changed = c_uint64(), ctypes.c_long()
        _checked(self._rados.rados_stat(self._pool, b"rbd_directory", byref(size), byref(changed)), "no answer")

    def read(self, offset: int, length: int) -> bytes:
        """Fewer bytes at the end."""
        buffer = ctypes.create_string_buffer(length)
        got = _checked(self._rbd.rbd_read(self._handle, offset, length, buffer), "cannot read")
        return buffer.raw[:got]

    def write(self, offset: int, data: bytes) -> None:
        """All of it."""
        put = _checked(self._rbd.rbd_write(self._handle, offset, len(data), data), "cannot write")
        if put != len(data):
            raise OSError(errno.EIO, f"{put} of {len(data)} bytes were written")

    def flush(self) -> None:
        """Every copy has what was written."""
        _checked(self._rbd.rbd_flush(self._handle), "cannot flush")

    def close(self) -> None:
        """Its watch is given back: an image that is watched cannot be removed."""
        _checked(self._rbd.rbd_close(self._handle), "cannot close the image")


def _or_none(text: str | None) -> c_char_p:
    return c_char_p(None if text is None else text.encode())


def _there(code: int, what: str) -> None:
    # ENOENT is kept for the image: what has no cluster or pool is not an image that can be made.
    if code < 0:
        raise OSError(errno.ENXIO if -code == errno.ENOENT else -code, f"{what}: {os.strerror(-code)}")


def _checked(code: int, what: str) -> int:
    if code < 0:
        raise OSError(-code, f"{what}: {os.strerror(-code)}")
    return code
