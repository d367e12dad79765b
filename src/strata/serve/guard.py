"""Whom the server answers, and what every answer tells the browser: before any page sees a request.

* The name by which it was asked (``Host``) is one of its own: a page of another site that had its name point here (DNS
  rebinding) gets nothing.
* Who asks has the token: as ``Authorization: Bearer``, as a cookie, or once in the address, which makes the cookie.
* Nothing is changed by a GET; a POST comes from a page of this server, and only where ``--control`` allows it.
* What is sent is short: the address, the headers, and the body.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY_MOST = 16 * 1024
QUERY_MOST = 4096
HEADERS_MOST = 16 * 1024
COOKIE_S = 30 * 24 * 3600
_TOKEN = "token"
NO_TOKEN = "the request has no token"
OTHER_TOKEN = "the token is not the one of this server"

_ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not "no-referrer": a browser then says of a form that it comes from nowhere (Origin: null), which is refused.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True)
class Entrance:
    """Where the server listens, and what opens it. ``hosts``: how it may be asked, with the port."""

    hosts: frozenset[str]
    token: str
    port: int
    secure: bool = False
    control: bool = False

    @property
    def cookie(self) -> str:
        """Cookies know no ports: two servers of one machine have two."""
        return f"strata-{self.port}"

    @property
    def scheme(self) -> str:
        return "https" if self.secure else "http"


class TooLong(Exception):
    """More came than is taken."""


@dataclass
class Guard:
    """An ASGI application in front of ``app``. ``policy`` is the content policy of every answer; ``locked`` makes the
    page for a browser without the token, with the reason."""

    app: ASGIApp
    entrance: Entrance
    policy: str
    locked: Callable[[str], str]
    headers: Mapping[str, str] = field(default_factory=lambda: _ALWAYS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            # Neither a web socket nor a lifespan: there is nothing of either here.
            return
        answer = self._refused(scope) or self._entered(scope)

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update({**self.headers, "Content-Security-Policy": self.policy})
            await send(message)

        if answer is not None:
            await answer(scope, receive, told)
            return
        try:
            await self.app(scope, _bounded(receive), told)
        except TooLong:
            await PlainTextResponse("error: the request is too long\n", 413)(scope, receive, told)

    def _refused(self, scope: Scope) -> Response | None:
        """Why nobody is answered who asks so; None where there is no reason."""
        headers, method = Headers(scope=scope), scope["method"]
        if headers.get("host", "").lower() not in self.entrance.hosts:
            why = "error: this server is not called so\nhint: use the address that strata serve printed\n"
            return PlainTextResponse(why, 421)
        if sum(len(name) + len(value) for name, value in scope["headers"]) > HEADERS_MOST:
            return PlainTextResponse("error: the headers are too long\n", 431)
        if len(scope["query_string"]) > QUERY_MOST:
            return PlainTextResponse("error: the address is too long\n", 414)
        if method in ("GET", "HEAD"):
            return None
        if method != "POST":
            return PlainTextResponse("error: only GET, HEAD and POST are supported\n", 405)
        if not self.entrance.control:
            return PlainTextResponse("error: this server is read-only\nhint: strata serve --control\n", 403)
        if int(headers.get("content-length", "0") if headers.get("content-length", "0").isdecimal() else 0) > BODY_MOST:
            return PlainTextResponse("error: the request is too long\n", 413)
        own = {f"{self.entrance.scheme}://{host}" for host in self.entrance.hosts}
        if headers.get("origin") not in own or headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return PlainTextResponse("error: the request comes from another page\n", 403)
        return None

    def _entered(self, scope: Scope) -> Response | None:
        """What is answered to those who have no token, or have it in the address; None for those who may come in."""
        headers = Headers(scope=scope)
        asked = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        in_address = next((value for name, value in asked if name == _TOKEN), None)
        if in_address is not None and scope["method"] in ("GET", "HEAD") and self._is(in_address):
            left = urlencode([pair for pair in asked if pair[0] != _TOKEN])
            # One slash: behind two of them would be the name of another site.
            path = "/" + scope["path"].lstrip("/")
            answer = RedirectResponse(f"{path}{'?' if left else ''}{left}", 303)
            answer.set_cookie(
                self.entrance.cookie, self.entrance.token, httponly=True, samesite="strict",
                secure=self.entrance.secure, max_age=COOKIE_S,
            )  # fmt: skip
            return answer
        kind, _, bearer = headers.get("authorization", "").partition(" ")
        cookie = cookie_parser(headers.get("cookie", "")).get(self.entrance.cookie, "")
        if (kind.lower() == "bearer" and self._is(bearer.strip())) or self._is(cookie):
            return None
        why = NO_TOKEN if in_address is None and not kind and not cookie else OTHER_TOKEN
        refused = {"WWW-Authenticate": "Bearer"}
        if "text/html" in headers.get("accept", ""):
            return HTMLResponse(self.locked(why), 401, refused)
        return PlainTextResponse(f"error: {why}\nhint: open the address that strata serve printed\n", 401, refused)

    def _is(self, given: str) -> bool:
        return secrets.compare_digest(given.encode("utf-8", "replace"), self.entrance.token.encode())


def _bounded(receive: Receive) -> Receive:
    """A body without a length is counted."""
    size = 0

    async def counted() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > BODY_MOST:
            raise TooLong
        return message

    return counted
