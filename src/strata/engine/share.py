"""Strata's test file on an SMB share: made new, marked, and removed only while it still carries its mark."""

from __future__ import annotations

import errno
import json

from strata import _core
from strata.engine.native import said
from strata.engine.remote import PATIENCE_NS
from strata.errors import RunFailed, SafetyRefusal
from strata.model.endpoint import Endpoint


def size_on_share(endpoint: Endpoint, patience_ns: int = PATIENCE_NS) -> int | None:
    """Bytes of the file; None where there is none. Raises `RunFailed` when the share cannot be reached."""
    try:
        return int(json.loads(_core.smb_probe(*_who(endpoint), 0, patience_ns, endpoint.netns))["size_bytes"])
    except OSError as e:
        if e.errno == errno.ENOENT:
            return None
        raise RunFailed("cannot reach", endpoint.uri, _words(endpoint, e)) from e


def make_on_share(endpoint: Endpoint, size: int, header: bytes, patience_ns: int = PATIENCE_NS) -> None:
    """Makes the file with its mark, its room reserved where the server can, nothing else of it written.

    `SafetyRefusal` when there is something already; `RunFailed` when the server refuses, and nothing is left then.
    """
    try:
        _core.smb_create(*_who(endpoint), size, header, patience_ns, endpoint.netns)
    except OSError as e:
        if e.errno == errno.EEXIST:
            why, hint = "something is there already", "remove it, or give another path"
            raise SafetyRefusal("refused to make the test file", endpoint.uri, why, hint) from e
        raise RunFailed("cannot make the test file", endpoint.uri, _words(endpoint, e)) from e


def remove_from_share(endpoint: Endpoint, header: bytes, patience_ns: int = PATIENCE_NS) -> bool:
    """Removes the file if it still begins with the mark; whether it was there.

    `SafetyRefusal` where it is another file by now or somebody uses it; `RunFailed` when the server refuses.
    """
    try:
        return _core.smb_remove(*_who(endpoint), header, patience_ns, endpoint.netns)
    except OSError as e:
        failure = SafetyRefusal if e.errno in (errno.EPERM, errno.EBUSY) else RunFailed
        raise failure("cannot remove the test file", endpoint.uri, _words(endpoint, e)) from e


def _who(endpoint: Endpoint) -> tuple[str, str | None]:
    return endpoint.uri, endpoint.password


def _words(endpoint: Endpoint, error: OSError) -> str:
    return said(error).removeprefix(f"{endpoint.uri}: ")
