"""What fio is given of a cluster's image or file: its name, for the cluster's own client library inside fio.

fio's gfapi engine makes a file that is not there, and lengthens one that is too short and writes to it, also for a
workload that only reads: so that it is there and long enough is looked at right before.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from strata.engine.fio.command import last_byte
from strata.engine.port import Request
from strata.engine.remote import remote_size
from strata.errors import RunFailed
from strata.model import cluster_uri
from strata.model.endpoint import EndpointKind
from strata.model.workload import Sync

CONF = Path("/etc/ceph/ceph.conf")


class Reached:
    """The endpoint of one request while fio runs. What its library did with the words is not told by anything."""

    descriptors: tuple[int, ...] = ()
    filename, read_back, differs = "", False, False

    def __init__(self, request: Request) -> None:
        self._request = request
        self._held = ExitStack()
        self.environment: Mapping[str, str] = {}

    def __enter__(self) -> Reached:
        """Raises `RunFailed` when it cannot be reached or is too short."""
        self._check()
        if self._request.endpoint.kind is EndpointKind.RBD:
            self.environment = {"CEPH_CONF": str(self._conf())}
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    @property
    def direct(self) -> bool:
        """As asked: O_DIRECT for a file; for an image, the library without its cache."""
        return self._request.workload.direct

    @property
    def sync(self) -> str:
        """``dsync``: the file is opened so; an image has no other writes where the library keeps nothing."""
        return "dsync" if self._request.workload.sync is Sync.DSYNC else "none"

    def look(self, pid: int) -> None:
        """The library opens nothing that the kernel knows."""

    def after(self) -> None:
        """Of a cluster that went away gfapi_async tells nothing, and its I/Os go on failing in no time."""
        if self._request.endpoint.kind is EndpointKind.GLUSTER:
            self._check()

    def _check(self) -> None:
        where, end = self._request.endpoint.uri, last_byte(self._request)
        size = remote_size(self._request.endpoint)
        if end > size:
            raise RunFailed("cannot drive", where, f"it ends at byte {size}, the range at byte {end}")

    def _conf(self) -> Path:
        """Ceph's configuration; unbuffered without the library's cache, which older fios leave on."""
        there = cluster_uri.rbd(self._request.endpoint.uri)
        conf = Path(there.conf or os.environ.get("CEPH_CONF") or CONF).absolute()
        if not self._request.workload.direct:
            return conf
        try:
            said = conf.read_text(encoding="utf-8")
        except (OSError, ValueError) as e:
            hint = "?conf=PATH gives the configuration file of the cluster"
            raise RunFailed("cannot read", str(conf), getattr(e, "strerror", None) or str(e), hint) from e
        folder = Path(self._held.enter_context(tempfile.TemporaryDirectory(prefix="strata-ceph-")))
        # Under the same name: the library takes the cluster's from it.
        made = folder / conf.name
        sections = ("client", f"client.{there.user or 'admin'}")
        off = "".join(f"\n[{section}]\nrbd cache = false\n" for section in sections)
        made.write_text(f"{said}\n{off}", encoding="utf-8")
        return made
