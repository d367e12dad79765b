"""The page of a watching that goes on (``strata watch PATH --every …``), and the look back into what it kept."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from functools import partial
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool

from strata.app import watch_every
from strata.errors import UsageError
from strata.report.html import watch
from strata.serve.feeds import ALIVE_S, event
from strata.serve.shown import Shown, render, site

SHOWN_S = 900.0
"""Of what was kept last."""
EVERY_S = 1.0
PATH_MOST = 1000


def shown(asked: dict[str, str]) -> Shown:
    """The newest of a path, or a time that is looked back to; without a path, the form for one. Raises `UsageError`."""
    path, around = asked.get("path", "").strip(), asked.get("around", "").strip()
    if not path:
        return Shown(partial(render, "watch.html", "/watch"), lambda: "{}")
    _check(path)
    if around:
        found = watch_every.look_back(path, around)
        above = site("/watch", ("Now", f"/watch?path={quote(path)}"))
        return Shown(partial(watch.render, found, None, above), partial(found.model_dump_json, indent=2))
    newest = watch_every.newest(path, SHOWN_S)
    if newest is None:
        hint = f"strata watch {path} --every 10s keeps the last hours"
        raise UsageError("cannot show", path, "nothing was kept of it", hint)
    above = site("/watch", ("Look back", "/watch"), ("JSON", f"/watch.json?path={quote(path)}"))
    html = partial(watch.render, newest, f"/watch/events?path={quote(path)}", above)
    return Shown(html, partial(newest.model_dump_json, indent=2))


def follow(path: str) -> AsyncIterator[str]:
    """Events for as long as somebody listens: a watching has no end. Raises `UsageError`."""
    _check(path)
    return _followed(path)


async def _followed(path: str) -> AsyncIterator[str]:
    yield "retry: 500\n\n"
    sent: dict[str, str] = {}
    last, said = -1, time.monotonic()
    while True:
        found = await run_in_threadpool(watch_every.newest, path, SHOWN_S)
        now = time.monotonic()
        if found is not None and found.to_unix_ns != last:
            last, said = found.to_unix_ns, now
            for name, html in (await run_in_threadpool(watch.parts, found)).items():
                if sent.get(name) != html:
                    sent[name] = html
                    yield event("part", {"name": name, "html": html}, last)
        elif now - said > ALIVE_S:
            said = now
            yield ": nothing new\n\n"
        await asyncio.sleep(EVERY_S)


def _check(path: str) -> None:
    if len(path) > PATH_MOST or "\0" in path:
        raise UsageError("cannot show", repr(path[:100]), "it is not a path", "give what strata watch was given")
