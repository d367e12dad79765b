"""Where ``strata serve`` listens, by which names it may be asked, and the token that opens it."""

from __future__ import annotations

import ipaddress
import os
import re
import secrets
import socket
import ssl
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from strata.errors import RunFailed, SafetyRefusal, UsageError
from strata.host import atomic_write
from strata.host.ownership import folder
from strata.host.xdg import ELSEWHERE, state_dir

LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
_TOKEN, _HOLDS = "token", r"\.?token.*"
_HOST_NAME = r"[A-Za-z0-9]([A-Za-z0-9.-]{0,252}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]"


@dataclass(frozen=True)
class Listening:
    """A checked address, what protects it, and the store that is shown."""

    host: str
    port: int
    token: str
    more_names: frozenset[str] = frozenset()
    certificate: str | None = None
    key: str | None = None
    control: bool = False
    store: str | None = None

    @property
    def secure(self) -> bool:
        """Whether what is said can be read by nobody else."""
        return self.certificate is not None

    def names(self, port: int) -> frozenset[str]:
        """How a browser may call the server: the value of ``Host``."""
        own = LOOPBACK | {_written(self.host)} | self.more_names
        if not _is_loopback(self.host):
            own |= {socket.gethostname().lower(), socket.getfqdn().lower()}
        usual = 443 if self.secure else 80
        return frozenset({f"{name}:{port}" for name in own} | (own if port == usual else frozenset()))

    def address(self, port: int) -> str:
        """What to open."""
        host = self.host
        if not _is_loopback(host) and ipaddress.ip_address(host).is_unspecified:
            host = next(iter(sorted(self.more_names)), socket.gethostname().lower())
        scheme = "https" if self.secure else "http"
        return f"{scheme}://{_written(host)}:{port}/?token={self.token}"

    @contextmanager
    def bound(self) -> Iterator[socket.socket]:
        """A socket at the address, not listening yet. Raises `RunFailed`."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as made:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                made.bind((self.host, self.port))
            except OSError as e:
                why = (e.strerror or str(e)).lower()
                hint = "give another port: --listen 127.0.0.1:0 selects a free one"
                raise RunFailed("cannot listen at", f"{_written(self.host)}:{self.port}", why, hint) from e
            yield made


def listening(
    listen: str, names: tuple[str, ...], certificate: Path | None, key: Path | None, *, control: bool, new_token: bool,
    store: str | None,
) -> Listening:  # fmt: skip
    """From the words of the command line.

    Raises `UsageError`, and `SafetyRefusal` where others could read what is said, or the key.
    """
    host, port = _parsed(listen)
    if (certificate is None) != (key is None):
        raise UsageError("cannot serve with", "half of a certificate", "", "give both --certificate and --key")
    if not _is_loopback(host) and certificate is None:
        why = "the token can be read on the network"
        hint = "give --certificate and --key (strata node trust NAME makes them), or listen on 127.0.0.1 and use ssh -L"
        raise SafetyRefusal("will not listen at", listen, f"without a certificate {why}", hint)
    if certificate is not None and key is not None:
        _check(certificate, key)
    for name in names:
        if re.fullmatch(_HOST_NAME, name) is None:
            raise UsageError(
                "cannot use --host", repr(name), "it is not a host name", "for example: --host lab.example"
            )
    return Listening(
        host=host,
        port=port,
        token=_token(new=new_token),
        more_names=frozenset(name.lower() for name in names),
        certificate=None if certificate is None else str(certificate),
        key=None if key is None else str(key),
        control=control,
        store=store,
    )


def load() -> None:
    """Loads what the first of each page would wait for: libraries of numbers and of the store, and how the values that
    are kept are read."""
    from strata.analyse import changes, fair, gate, peers, two
    from strata.analyse.scaling import result
    from strata.analyse.stats import t_quantile
    from strata.app import watch_every
    from strata.formats import diskspd, fio
    from strata.model import live, matrix, scale
    from strata.model.base import build_all
    from strata.report import json_
    from strata.store import open_store

    del changes, diskspd, fair, fio, gate, json_, live, matrix, open_store, peers, result, scale, two, watch_every
    # The first quantile loads scipy's functions.
    t_quantile(0.975, 1)
    build_all()


def _parsed(listen: str) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{listen}")
        host, port = parts.hostname, parts.port
        if host == "localhost":
            host = "127.0.0.1"
        if host is None or port is None or parts.netloc != listen or parts.username is not None:
            raise ValueError("it is not ADDRESS:PORT")
        ipaddress.ip_address(host)
    except ValueError as e:
        raise UsageError("cannot listen at", repr(listen), str(e), "for example 127.0.0.1:8765") from e
    return host, port


def _is_loopback(host: str) -> bool:
    return ipaddress.ip_address(host).is_loopback


def _written(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _check(certificate: Path, key: Path) -> None:
    """Both can be used, and the key is the user's alone."""
    try:
        found = key.stat()
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=_no_password)
    except (OSError, ValueError) as e:
        why = getattr(e, "strerror", None) or str(e)
        raise UsageError("cannot use the certificate", f"{certificate} with {key}", why, "give PEM files") from e
    if found.st_uid not in (0, os.geteuid()) or stat.S_IMODE(found.st_mode) & 0o077:
        raise SafetyRefusal("will not use the key", str(key), "other users may read it", f"chmod 600 {key}")


def _no_password() -> str:
    raise ValueError("the key has a password, which is not supported")


def _token(*, new: bool) -> str:
    """The same one after a restart, so that open pages go on."""
    place = folder(state_dir() / "serve", ELSEWHERE, _HOLDS)
    with atomic_write.directory(place) as fd:
        known = None if new else atomic_write.read_in(fd, _TOKEN)
        if known is not None and re.fullmatch(rb"[A-Za-z0-9_-]{32,128}", known):
            return known.decode()
        made = secrets.token_urlsafe(32)
        atomic_write.replace_in(fd, _TOKEN, made.encode())
    return made
