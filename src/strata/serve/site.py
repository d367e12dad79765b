"""The addresses: each page, its twin in JSON, the events of a run, and the metrics."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from urllib.parse import parse_qsl, quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from strata.app.export import metrics
from strata.errors import Exit, StrataError, UsageError
from strata.serve import watch
from strata.serve.feeds import Feeds
from strata.serve.guard import Entrance, Guard
from strata.serve.remembered import RememberedPages
from strata.serve.runs import RunPages
from strata.serve.shown import Shown, locked, policy, refusal
from strata.text import controls

OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_JSON = "application/json"

Look = Callable[[Request], Shown]


def application(store: str | None, entrance: Entrance) -> ASGIApp:
    """What is served of the ``store``, behind its guard."""
    feeds = Feeds(store)
    runs, remembered = RunPages(store, feeds, control=entrance.control), RememberedPages(store)
    one = "/runs/{run}"
    routes = [
        Route("/", lambda _: RedirectResponse("/runs", 303)),
        *_twins("/runs", lambda r: runs.listed(dict(r.query_params))),
        *_twins("/compare", lambda r: remembered.compared(
            r.query_params.getlist("run"), anyway="anyway" in r.query_params, by_age="by_age" in r.query_params)),
        *_twins("/fleet", lambda r: remembered.fleet(r.query_params.getlist("run"))),
        *_twins("/history", lambda r: remembered.histories(dict(r.query_params))),
        *_twins("/baselines", lambda _: remembered.baselines()),
        *_twins("/gate", lambda r: remembered.gate(r.query_params.get("baseline", "main"),
                                                   r.query_params.getlist("run"))),
        Route(f"{one}/report.html", lambda r: _saved(runs, r.path_params["run"])),
        Route(f"{one}/events", _events(feeds)),
        *_twins(f"{one}/edit", lambda r: runs.edited(r.path_params["run"])),
        Route(f"{one}/label", _posted(lambda run, form: runs.label(run, form.get("name", ""), form.get("note", "")),
                                      one), methods=["POST"]),
        Route(f"{one}/delete", _posted(lambda run, _: runs.delete(run), "/runs"), methods=["POST"]),
        *_twins(one, lambda r: runs.one(r.path_params["run"], dict(r.query_params))),
        Route("/watch/events", lambda r: _streamed(watch.follow(r.query_params.get("path", "")))),
        *_twins("/watch", lambda r: watch.shown(dict(r.query_params))),
        Route("/metrics", lambda _: Response(metrics(store, feeds.look), media_type=OPENMETRICS)),
    ]  # fmt: skip
    app = Starlette(routes=routes, exception_handlers={StrataError: _refused, HTTPException: _unknown})
    return Guard(app, entrance, policy(), locked)


def _twins(path: str, look: Look) -> tuple[Route, Route]:
    """The page and the same as JSON. Both run in a thread: they read the store."""

    def html(request: Request) -> Response:
        shown = look(request)
        return HTMLResponse(shown.html(_twin(request)), shown.status)

    def as_json(request: Request) -> Response:
        shown = look(request)
        # What no encoding has is shown, as everywhere.
        return Response(controls.halves(shown.json()), shown.status, media_type=_JSON)

    return Route(f"{path}.json", as_json), Route(path, html)


def _twin(request: Request) -> str:
    """The address of the same as JSON."""
    asked = request.scope["query_string"].decode("latin-1")
    # One slash: behind two of them would be the name of another site.
    return f"/{quote(request.scope['path'].lstrip('/'))}.json{'?' if asked else ''}{asked}"


def _saved(runs: RunPages, run: str) -> Response:
    name, text = runs.saved(run)
    return HTMLResponse(text, headers={"Content-Disposition": f"attachment; filename*=utf-8''{quote(name)}"})


def _events(feeds: Feeds) -> Callable[[Request], Response]:
    def followed(request: Request) -> Response:
        return _streamed(feeds.follow(request.path_params["run"]))

    return followed


def _streamed(events: AsyncIterator[str]) -> Response:
    return StreamingResponse(events, media_type="text/event-stream")


def _posted(change: Callable[[str, dict[str, str]], None], then: str) -> Callable[[Request], Awaitable[Response]]:
    """A change that a form asks for, and where its page goes on. Only what came through the guard gets here."""
    from starlette.concurrency import run_in_threadpool

    async def changed(request: Request) -> Response:
        body = await request.body()
        # Bounded by the guard.
        form = dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))
        run = request.path_params["run"]
        await run_in_threadpool(change, run, form)
        return RedirectResponse(then.replace("{run}", quote(run)), 303)

    return changed


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, StrataError)
    url = request.url
    could = url.path == "/compare" and error.exit_code == Exit.INCONCLUSIVE and "anyway" not in request.query_params
    anyway = f"{url.path}?{url.query}&anyway=1" if could else None
    # What a form asked for is below its run, whose page has the form.
    back = f"{url.path.rpartition('/')[0]}/edit" if request.method == "POST" else None
    return _answer(request, refusal(error, anyway, back))


def _unknown(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code != 404:
        return PlainTextResponse(f"error: {error.detail}\n", error.status_code)
    return _answer(request, refusal(UsageError("there is no page", request.url.path, "", "the pages: /runs")))


def _answer(request: Request, shown: Shown) -> Response:
    if request.url.path.endswith(".json"):
        return Response(controls.halves(shown.json()), shown.status, media_type=_JSON)
    return HTMLResponse(shown.html("" if request.method == "POST" else _twin(request)), shown.status)
