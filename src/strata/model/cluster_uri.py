"""``rbd:`` and ``gluster://`` addresses: what they say."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class RbdImage(NamedTuple):
    """``conf`` and ``user`` None: the ones that Ceph's library takes by itself."""

    pool: str
    image: str
    conf: str | None
    user: str | None


class GlusterFile(NamedTuple):
    """``path`` from the volume's root, without a slash in front."""

    host: str
    volume: str
    path: str


def rbd(uri: str) -> RbdImage:
    """Raises `ValueError` saying what is wrong with it."""
    name, _, query = uri.removeprefix("rbd:").partition("?")
    options = _options(query, {"conf", "user"})
    if ":" in name:
        raise ValueError("its options must follow a question mark")
    if "@" in name:
        raise ValueError("fio's rbd engine opens images, not snapshots")
    parts = [unquote(part) for part in name.removeprefix("//").split("/")]
    if len(parts) == 3:
        raise ValueError("fio's rbd engine does not support namespaces in a pool")
    if len(parts) != 2 or not all(parts):
        raise ValueError("pool and image are missing")
    if any("/" in part or "@" in part or _CONTROL.search(part) for part in parts):
        raise ValueError("its pool or image has an invalid character")
    conf = options.get("conf")
    if conf is not None and (not conf.startswith("/") or _CONTROL.search(conf)):
        raise ValueError("the path after conf= is not absolute")
    user = options.get("user")
    if user is not None and not re.fullmatch(r"[^\s/]+", user):
        raise ValueError(f"the option user cannot be {user!r}")
    return RbdImage(parts[0], parts[1], conf, None if user is None else user.removeprefix("client."))


def gluster(uri: str) -> GlusterFile:
    """Raises `ValueError` saying what is wrong with it."""
    parts = urlsplit(uri)
    _options(parts.query, set())
    if not parts.hostname:
        raise ValueError("the host is missing")
    if parts.port not in (None, 24007):
        raise ValueError("fio's gfapi engine supports only the default port of glusterd, 24007")
    if parts.username is not None or parts.fragment:
        raise ValueError("it holds an @ or a #: write %40, %23")
    names = [unquote(part) for part in parts.path.strip("/").split("/")]
    if len(names) < 2 or parts.path.endswith("/") or any(name in ("", ".", "..") for name in names):
        raise ValueError("the path of a file below the volume is missing")
    if any("/" in name or _CONTROL.search(name) for name in names):
        raise ValueError("its path has an invalid character")
    return GlusterFile(parts.hostname, names[0], "/".join(names[1:]))


def _options(query: str, known: set[str]) -> dict[str, str]:
    found = dict(parse_qsl(query, keep_blank_values=True))
    for key in found:
        if key not in known:
            can = f" ({', '.join(sorted(known))} are)" if known else ""
            raise ValueError(f"the option {key!r} is not supported{can}")
    return found
