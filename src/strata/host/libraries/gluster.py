"""Files of a GlusterFS volume through libgfapi."""

from __future__ import annotations

import ctypes
import errno
import os
from ctypes import c_char_p, c_int, c_long, c_size_t, c_ssize_t, c_void_p

from strata.host.libraries.store import Address, load

PACKAGES = "libgfapi0 (Debian, Ubuntu) or libgfapi0 / glusterfs-api (Fedora, RHEL)"
PORT = 24007
LOG_ERRORS = 4
STATVFS_BYTES = 512
"""Room for a struct statvfs; it takes 112 bytes on 64-bit Linux."""


class Gluster:
    """A volume, as a client of its own. It is never taken down: the process ends instead, which is quicker."""

    def __init__(self, address: Address, patience_s: float) -> None:
        self._api = load("libgfapi.so.0", PACKAGES)
        _declare(self._api)
        host, volume = str(address["host"]), str(address["volume"])
        self._path = str(address["path"]).encode()
        self._fs = self._api.glfs_new(volume.encode())
        if not self._fs:
            raise _failed("the client library cannot use the volume")
        self._api.glfs_set_logging(self._fs, b"/dev/null", LOG_ERRORS)
        self._api.glfs_set_volfile_server(self._fs, b"tcp", host.encode(), PORT)
        if self._api.glfs_init(self._fs) != 0:
            failure = _failed(f"glusterd on {host} has no volume {volume}")
            # ENOENT is kept for the file: where there is no volume, none can be made.
            raise OSError(errno.ENXIO, failure.strerror) if failure.errno == errno.ENOENT else failure

    def open(self, write: bool) -> File:
        """ENOENT when there is no such file."""
        handle = self._api.glfs_open(self._fs, self._path, (os.O_RDWR if write else os.O_RDONLY) | os.O_NOFOLLOW)
        if not handle:
            raise _failed("cannot open the file")
        return File(self._api, self._fs, handle)

    def create(self, size: int) -> None:
        """EEXIST when anything of that name is there."""
        handle = self._api.glfs_creat(self._fs, self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        if not handle:
            raise _failed("cannot create the file")
        try:
            # Newer versions of the call take two places for what the file was and is.
            _checked(self._api.glfs_ftruncate(handle, size, None, None), "cannot set the size of the file")
        except OSError:
            self.remove()
            raise
        finally:
            self._api.glfs_close(handle)

    def remove(self) -> None:
        """By name."""
        _checked(self._api.glfs_unlink(self._fs, self._path), "cannot remove the file")


class File:
    def __init__(self, api: ctypes.CDLL, fs: int, handle: int) -> None:
        self._api, self._fs, self._handle = api, fs, handle

    def size(self) -> int:
        """Bytes."""
        return _checked(self._api.glfs_lseek(self._handle, 0, os.SEEK_END), "cannot read the size")

    def round_trip(self) -> None:
        """The volume's free space, from its bricks."""
        _checked(self._api.glfs_statvfs(self._fs, b"/", ctypes.create_string_buffer(STATVFS_BYTES)), "no answer")

    def read(self, offset: int, length: int) -> bytes:
        """Fewer bytes at the end."""
        buffer = ctypes.create_string_buffer(length)
        got = _checked(self._api.glfs_pread(self._handle, buffer, length, offset, 0, None), "cannot read")
        return buffer.raw[:got]

    def write(self, offset: int, data: bytes) -> None:
        """All of it."""
        put = _checked(self._api.glfs_pwrite(self._handle, data, len(data), offset, 0, None, None), "cannot write")
        if put != len(data):
            raise OSError(errno.EIO, f"{put} of {len(data)} bytes were written")

    def flush(self) -> None:
        """Every brick has it on its disk."""
        _checked(self._api.glfs_fsync(self._handle, None, None), "cannot flush")

    def close(self) -> None:
        """Errors of a close are those of what it had not written yet."""
        _checked(self._api.glfs_close(self._handle), "cannot close the file")


def _declare(api: ctypes.CDLL) -> None:
    for name, result, *arguments in (
        ("glfs_new", c_void_p, c_char_p),
        ("glfs_set_logging", c_int, c_void_p, c_char_p, c_int),
        ("glfs_set_volfile_server", c_int, c_void_p, c_char_p, c_char_p, c_int),
        ("glfs_init", c_int, c_void_p),
        ("glfs_open", c_void_p, c_void_p, c_char_p, c_int),
        ("glfs_creat", c_void_p, c_void_p, c_char_p, c_int, c_int),
        ("glfs_close", c_int, c_void_p),
        ("glfs_unlink", c_int, c_void_p, c_char_p),
        ("glfs_ftruncate", c_int, c_void_p, c_long, c_void_p, c_void_p),
        ("glfs_lseek", c_long, c_void_p, c_long, c_int),
        ("glfs_statvfs", c_int, c_void_p, c_char_p, c_void_p),
        ("glfs_pread", c_ssize_t, c_void_p, c_void_p, c_size_t, c_long, c_int, c_void_p),
        ("glfs_pwrite", c_ssize_t, c_void_p, c_char_p, c_size_t, c_long, c_int, c_void_p, c_void_p),
        ("glfs_fsync", c_int, c_void_p, c_void_p, c_void_p),
    ):
        call = getattr(api, name)
        call.restype, call.argtypes = result, arguments


def _failed(what: str) -> OSError:
    number = ctypes.get_errno() or errno.EIO
    return OSError(number, f"{what}: {os.strerror(number)}")


def _checked(code: int, what: str) -> int:
    if code < 0:
        raise _failed(what)
    return code
