"""The page of a watching that goes on (``strata watch PATH --every …``), and the look back into what it kept."""

from __future__ import annotations

import datetime
from collections.abc import AsyncIterator
from functools import partial
from urllib.parse import quote

from markupsafe import Markup

from strata.app import watch_every
from strata.errors import UsageError
from strata.model.pages import WatchPage
from strata.model.watch import LookBack
from strata.report.html import watch
from strata.serve.feeds import State, changes
from strata.serve.shown import Shown, own_page, part, site
from strata.units import NS_PER_S

SHOWN_S = 900.0
"""Of what was kept last."""
EVERY_S = 1.0
PATH_MOST = 1000


def shown(asked: dict[str, str]) -> Shown:
    """The newest of a path, or a time that is looked back to; without a path, the form for one. Raises `UsageError`."""
    path, around = asked.get("path", "").strip(), asked.get("around", "").strip()
    if not path:
        kept = WatchPage(watched=watch_every.kept_places())
        html = own_page("watch.html", "/watch", kept=kept.watched)
        return Shown(html, partial(kept.model_dump_json, indent=2))
    _check(path)
    if around:
        found = watch_every.look_back(path, around, untouched=True)
        return Shown(
            lambda twin: watch.render(found, None, _above(found, twin, back=True)),
            partial(found.model_dump_json, indent=2),
        )
    newest = watch_every.newest(path, SHOWN_S, untouched=True)
    if newest is None:
        raise UsageError("cannot show", path, "nothing was kept of it", watch_every.keeps(path))
    events = f"/watch/events?path={quote(path)}"
    return Shown(
        lambda twin: watch.render(newest, events, _above(newest, twin, back=False)),
        partial(newest.model_dump_json, indent=2),
    )


def _above(found: LookBack, twin: str, *, back: bool) -> Markup:
    """Where else to go: the time before what is shown, and after a look ``back`` the time after it and now."""
    here = f"/watch?path={quote(found.where)}"
    first, last = watch_every.ring_of(found.where, untouched=True).span or (found.from_unix_ns, found.to_unix_ns)
    links = {"Earlier": _around(here, found.from_unix_ns)} if first < found.from_unix_ns else {}
    if back:
        links |= {"Later": _around(here, found.to_unix_ns)} if last > found.to_unix_ns else {}
        links["Now"] = here
    return site("/watch", ("All that is watched", "/watch"), ("JSON", twin)) + part(
        "back.html", path=found.where, links=links
    )


def _around(here: str, unix_ns: int) -> str:
    at = datetime.datetime.fromtimestamp(unix_ns // NS_PER_S).isoformat()
    return f"{here}&around={quote(at)}"


def follow(path: str) -> AsyncIterator[str]:
    """Events for as long as somebody listens: a watching has no end. Raises `UsageError`."""
    _check(path)

    def look() -> State:
        found = watch_every.newest(path, SHOWN_S, untouched=True)
        return (-1, dict) if found is None else (found.to_unix_ns, partial(watch.parts, found))

    return changes(look, EVERY_S)


def _check(path: str) -> None:
    if len(path) > PATH_MOST or "\0" in path:
        raise UsageError("cannot show", repr(path[:100]), "it is not a path", "give what strata watch was given")
