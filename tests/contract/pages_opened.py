"""A page of ``strata serve`` in a real browser, as somebody opens it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from serving import Served


@contextmanager
def opened(chromium: Any, server: Served, path: str, width: int = 1440, scheme: str = "light") -> Iterator[Any]:
    """A page of somebody who opened the address that was printed; what it said is checked at its end.

    The address leads to the list of runs: it is asked for what it lets in with, and that page is not drawn each time.
    All pages of a server are of one person, as a profile for each costs a quarter of a page.
    """
    known = [one for one in chromium.contexts if getattr(one, "opened", None) == server.url]
    context = known[0] if known else chromium.new_context()
    if not known:
        context.opened = server.url
        context.request.get(server.url, max_redirects=0)
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    said: list[str] = []
    asked: list[str] = []
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("console", lambda message: said.append(message.text))
    page.on("request", lambda request: asked.append(request.url))
    answer = page.goto(server.base + path.format(**server.runs))
    page.status = answer.status
    page.said, page.asked = said, asked
    yield page
    page.close()
