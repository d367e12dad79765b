"""The pages of runs: the list, one run finished or while it is measured, its name, and its end."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import Lock

from markupsafe import Markup

from strata.app import kept
from strata.app.live import measured_now
from strata.app.scale import scale_again
from strata.errors import StrataError, UsageError
from strata.model.matrix import MatrixResult
from strata.model.pages import RunsPage
from strata.model.remembered import RunHead, Wanted
from strata.model.run import LABEL_MOST, NOTE_MOST, Label, Report, RunStatus
from strata.model.scale import ScaleResult
from strata.report import figures, json_, words
from strata.report.html import frame, live, matrix, page, scale
from strata.serve.feeds import Feeds
from strata.serve.shown import Link, Shown, own_page, part, site

SLIDERS_MOST = 8
PAGE = 100
"""Runs of one page of the list."""
KEPT_PAGES, KEPT_BYTES = 16, 32 << 20
"""Finished runs whose pages are kept made: the second look costs nothing."""


class RunPages:
    """Everything below ``/runs``."""

    def __init__(self, store: str | None, feeds: Feeds, *, control: bool) -> None:
        self._store, self._feeds, self._control = store, feeds, control
        self._made: OrderedDict[tuple[RunHead, str], str] = OrderedDict()
        self._sweep: tuple[RunHead, ScaleResult] | None = None
        self._lock = Lock()

    def listed(self, asked: dict[str, str]) -> Shown:
        """The list, narrowed by what was ``asked``. Raises `UsageError` for a time that is none."""
        since = asked.get("since", "").strip()
        patterns = {key: _pattern(asked.get(key, "")) for key in ("name", "host", "stack")}
        wanted = Wanted(**patterns, since_unix_ns=kept.since_of(since, time.time_ns()) if since else None)
        number = _whole(asked.get("page", "1"))
        demos = "demos" in asked
        found, verdicts = kept.list_runs(PAGE + 1, self._store, wanted, demos=demos, skip=(number - 1) * PAGE)
        shown, more, now = found[:PAGE], len(found) > PAGE, measured_now()

        def html(twin: str) -> str:
            rows = [[r.id, figures.utc(r.created_unix_ns), r.status.value, r.name, r.stack, r.host,
                     words.verdict_title(v) if (v := verdicts.get(r.id)) else ""] for r in shown]  # fmt: skip
            csv = frame.text_of(["run", "made_utc", "status", "name", "stack", "host", "verdict"], rows)
            return own_page(
                "runs.html", "/runs", csv, "strata-runs", runs=shown, verdicts=verdicts, now=now, asked=asked,
                number=number, more=more, narrowed=wanted != Wanted(), demos=demos, control=self._control,
            )(twin)  # fmt: skip

        def as_json() -> str:
            there = {run.id: verdicts[run.id] for run in shown if run.id in verdicts}
            listed = RunsPage(page=number, more=more, now=now, runs=shown, verdicts=there)
            return listed.model_dump_json(indent=2)

        return Shown(html, as_json)

    def one(self, run_id: str, asked: dict[str, str]) -> Shown:
        """A run as it is: its report, its matrix, its sweep, or how far it has come. ``asked``: of a sweep, by how much
        what is changed (``if.limit=2``)."""
        now = self._feeds.look(run_id)
        if now is not None:
            events = f"/runs/{run_id}/events"
            return Shown(
                lambda twin: live.render(now, events, site("", ("JSON", twin))), partial(now.model_dump_json, indent=2)
            )
        (head,) = kept.named_runs([run_id], self._store)
        if what_if := _what_if(asked):
            found = scale_again(head.id, self._store, tuple(f"{name}={times:g}x" for name, times in what_if.items()))
            return Shown(
                lambda twin: _page(found, self._above(head.id, twin), what_if), partial(found.model_dump_json, indent=2)
            )
        return Shown(lambda _: self._finished(head), lambda: self._kept(head, "json", partial(self._as_json, head)))

    def saved(self, run_id: str) -> tuple[str, str]:
        """(name, page) of a finished run as the file that ``strata report --html`` writes."""
        found = kept.load_kept(run_id, self._store)
        name = found.run.id if isinstance(found, Report) else found.run
        return f"strata-{name}.html", _page(found, None)

    def edited(self, run_id: str) -> Shown:
        """The form for a run's name and end."""
        (head,) = kept.named_runs([run_id], self._store)
        html = own_page("edit.html", "", head=head, control=self._control, most=(LABEL_MOST, NOTE_MOST))
        return Shown(html, partial(head.model_dump_json, indent=2))

    def label(self, run_id: str, name: str, note: str) -> None:
        """Another name. Raises `UsageError` for one that is too long."""
        from pydantic import ValidationError

        try:
            label = Label(name=name.strip(), note=note.strip())
        except ValidationError as e:
            why = f"a name takes up to {LABEL_MOST} characters, a note up to {NOTE_MOST}"
            raise UsageError("cannot name the run", run_id, why) from e
        kept.label_run(run_id, label, self._store)

    def delete(self, run_id: str) -> None:
        """The run is gone. Raises `UsageError` for one that a baseline uses, `RunFailed` for one in hand."""
        (head,) = kept.named_runs([run_id], self._store)
        kept.delete_runs([head.id], self._store)

    def _above(self, run: str, twin: str) -> Markup:
        return site("", ("Save as a file", f"/runs/{run}/report.html"), *self._edit(run), ("JSON", twin))

    def _edit(self, run: str) -> tuple[Link, ...]:
        return (("Name or delete", f"/runs/{run}/edit"),) if self._control else ()

    def _finished(self, head: RunHead) -> str:
        """Its page."""
        twin = f"/runs/{head.id}.json"

        def page_of() -> str:
            return _page(self._found(head), self._above(head.id, twin))

        try:
            return self._kept(head, "html", page_of)
        except StrataError as e:
            if e.exit_code != 4:
                raise
            return own_page("unfinished.html", "", links=self._edit(head.id), head=head, error=e)(twin)

    def _kept(self, head: RunHead, form: str, make: Callable[[], str]) -> str:
        """A finished run in this form; made once for what the run is called."""
        key = head, form
        with self._lock:
            if key in self._made:
                self._made.move_to_end(key)
                return self._made[key]
        made = make()
        if head.status is RunStatus.DONE:
            with self._lock:
                self._made[key] = made
                while len(self._made) > KEPT_PAGES or sum(map(len, self._made.values())) > KEPT_BYTES:
                    self._made.popitem(last=False)
        return made

    def _found(self, head: RunHead) -> Report | MatrixResult | ScaleResult:
        """The run. Of sweeps the last is kept: it is small, was fitted for long, and its twin is asked for next."""
        sweep = self._sweep
        if sweep is not None and sweep[0] == head:
            return sweep[1]
        found = kept.load_kept(head.id, self._store)
        if head.status is RunStatus.DONE and isinstance(found, ScaleResult):
            self._sweep = head, found
        return found

    def _as_json(self, head: RunHead) -> str:
        found = self._found(head)
        return json_.render(found) if isinstance(found, Report) else found.model_dump_json(indent=2)


def _page(
    found: Report | MatrixResult | ScaleResult, above: Markup | None, what_if: dict[str, float] | None = None
) -> str:
    """``above`` None: as the file alone."""
    if isinstance(found, Report):
        return page.render(found, above)
    if isinstance(found, MatrixResult):
        return matrix.render(found, above)
    if above is not None:
        # What can be changed: the limit without a name, the time that waits for nothing, and what a counter told of.
        names = dict.fromkeys(("limit", "delay", *(b.name for p in found.points for b in p.busy)))
        sliders = [(name, (what_if or {}).get(name, 1.0)) for name in [*names][:SLIDERS_MOST]]
        above += part("ask.html", run=found.run, sliders=sliders)
    return scale.render(found, above)


def _pattern(text: str) -> str | None:
    """What a field of the filter asks: a part of the text, unless it says where anything may stand."""
    text = text.strip()[:200]
    return None if not text else text if "*" in text else f"*{text}*"


def _what_if(asked: dict[str, str]) -> dict[str, float]:
    """By name how many times as much there is to be; what stays as it is is not asked."""
    found = {}
    for key, text in asked.items():
        name = key.removeprefix("if.")
        with suppress(ValueError):
            if name != key and 0.01 <= float(text) <= 100 and float(text) != 1:
                found[name[:100]] = float(text)
    return found


def _whole(text: str) -> int:
    return min(max(int(text), 1), 100_000) if text.isdecimal() and len(text) < 7 else 1
