"""``smb://`` addresses: what they say, and their password apart from them."""

from __future__ import annotations

from urllib.parse import parse_qsl, unquote, urlsplit

from strata.model.workload_options import connections_problem
from strata.text import secrets

SCHEME = "smb://"
WRITE = "write smb://user@host[:port]/share/path/to/file"
OPTIONS: dict[str, tuple[str, ...]] = {
    "connections": (),
    "multichannel": ("on", "off"),
    "spread": ("on", "off"),
    "sign": ("on", "off", "required"),
    "encrypt": ("on", "off"),
    "credentials": (),
}
"""Every option and the words it may be; none: another kind of value."""


def split(uri: str) -> tuple[str, str | None]:
    """The address without its password, and the password."""
    if not uri.startswith(SCHEME) or (found := secrets.user_info(uri)) is None or uri[found.end : found.end + 1] != "@":
        return uri, None
    secrets.know(uri)
    return uri[: found.start - 1] + uri[found.end :], unquote(uri[found.start : found.end])


def problem(uri: str) -> str | None:
    """What is wrong with an address without a password; None when it is sound."""
    try:
        parts = urlsplit(uri)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "its host or port cannot be read"
    if not host:
        return "the host is missing"
    if parts.fragment or "#" in uri:
        return "it holds a #: write %23"
    below = [unquote(part) for part in parts.path.strip("/").split("/")]
    if len(below) < 2 or any(part in ("", ".", "..") for part in below):
        return "the path of a file below the share is missing"
    for key, value in parse_qsl(parts.query, keep_blank_values=True):
        if key not in OPTIONS:
            return f"the option {key!r} is not supported ({', '.join(OPTIONS)} are)"
        if key == "connections" and (why := connections_problem(value)) is not None:
            return why
        if OPTIONS[key] and value not in OPTIONS[key]:
            return f"{key}={value} is not one of {', '.join(OPTIONS[key])}"
        if not value:
            return f"{key} has no value"
    return None


def connections(uri: str) -> int:
    """Connections that a sound address asks for."""
    return int(dict(parse_qsl(urlsplit(uri).query)).get("connections", "1"))
