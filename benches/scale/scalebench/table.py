"""The kept changes as a table, and what they say of all predictions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from scalebench.trial import Record
from strata import units

MEDIAN, WORST, COVERED, CHANGES, STACKS = 0.05, 0.15, 0.90, 40, 4
UNSTEADY = 0.05
"""Share by which equal measurements of a change may differ from their mean: what it gains is not known nearer, and
with more than this it judges no prediction."""
Bar = tuple[str, bool | None]
"""In words, and whether it is met; None: it is told and not judged."""


@dataclass(frozen=True)
class Judged:
    """One change: the predicted gain with its interval, and the real one."""

    group: str
    stack: str
    asked: str
    before: float
    after: float
    gain: float
    low: float
    high: float
    flaw: str = ""
    """Why its figures are not those of the change alone; known afterwards, and not by its error."""
    kept_from_tuning: bool = False
    """Every second change of a group: no rule of the prediction is made after looking at these."""
    spread: float | None = None
    """How far equal measurements of it lie from their mean, as a share: no prediction can be nearer."""

    @property
    def real(self) -> float:
        """Times the rate before."""
        return self.after / self.before

    @property
    def unsteady(self) -> bool:
        """Whether it cannot judge."""
        return (self.spread or 0.0) > UNSTEADY

    @property
    def error(self) -> float:
        """Of the predicted gain, as a share of the real one."""
        return self.gain / self.real - 1

    @property
    def covered(self) -> bool:
        """Whether the interval holds the real one."""
        return self.low <= self.real <= self.high


def judged(records: Sequence[Record]) -> Iterator[Judged]:
    """Every change that was predicted; what was refused has no gain."""
    for record in records:
        for number, c in enumerate(record["changes"]):
            if (p := c["predicted"]) is not None:
                told = (p["value"], p["low"], p["high"], c.get("flaw", ""), number % 2 == 1, c.get("spread"))
                yield Judged(record["group"], record["stack"], c["asked"], c["before"], c["after"], *told)


def refused(records: Sequence[Record]) -> list[str]:
    """In words."""
    return [f"{r['group']}: {c['asked']}: {c['refused']}" for r in records for c in r["changes"] if not c["predicted"]]


def table(records: Sequence[Record], *, whole: bool = True) -> tuple[str, bool]:
    """Markdown, and whether every bar is met. Not ``whole``: a part of the set was asked for, and how much there is of
    it is told and not judged."""
    rows = list(judged(records))
    lines = ["| lab | asked | before | after | real gain | predicted | error | |", "|---|---|--:|--:|--:|--:|--:|---|"]
    for r in rows:
        told = f"{r.gain:.2f} ({r.low:.2f}–{r.high:.2f})"
        held = "unsteady" if r.unsteady else "" if r.covered else "outside"
        mark = "; ".join(w for w in (held, r.flaw, "kept" * r.kept_from_tuning) if w)
        before = units.count(r.before) + (f" ±{r.spread:.1%}" if r.spread is not None else "")
        lines.append(
            f"| {r.group} | `{r.asked}` | {before} | {units.count(r.after)} | {r.real:.2f} | {told} "
            f"| {r.error:+.1%} | {mark} |"
        )
    if not rows:
        return "no changes are kept", False
    loose, rows = [r for r in rows if r.unsteady], [r for r in rows if not r.unsteady]
    if not rows:
        return "\n".join([*lines, "", "no change judges: equal measurements of each differ too much"]), False
    met, none = (*_counts(rows, whole), *_bars(rows)), refused(records)
    lines += ["", *_told(met)]
    if loose:
        lines.append(
            f"* not judged, as equal measurements differ by more than {UNSTEADY:.0%} from their mean: {len(loose)}"
        )
    lines += [f"* not predicted: {len(none)}", *(f"  * {text}" for text in none)]
    parts = (
        ("Without those whose measurement is known to be flawed:", [r for r in rows if not r.flaw]),
        ("Those that were kept from tuning:", [r for r in rows if r.kept_from_tuning]),
    )
    for title, some in parts:
        if some and len(some) < len(rows):
            lines += ["", title, "", *_told((*_counts(some, False), *_bars(some)))]
    return "\n".join(lines), all(held is not False for _, held in met)


def _told(bars: Sequence[Bar]) -> list[str]:
    words = {True: ": met", False: ": MISSED", None: ""}
    return [f"* {text}{words[held]}" for text, held in bars]


def _counts(rows: Sequence[Judged], whole: bool) -> tuple[Bar, ...]:
    found = ("changes", len(rows), CHANGES), ("stacks", len({r.stack for r in rows}), STACKS)
    return tuple(
        (f"{what} {n} (at least {least})", n >= least) if whole else (f"{what} {n} (a part of the set)", None)
        for what, n, least in found
    )


def _bars(rows: Sequence[Judged]) -> tuple[Bar, ...]:
    errors = sorted(abs(r.error) for r in rows)
    share = sum(r.covered for r in rows) / len(rows)
    return (
        (f"median error {median(errors):.1%} (at most {MEDIAN:.0%})", median(errors) <= MEDIAN),
        (f"worst error {errors[-1]:.1%} (at most {WORST:.0%})", errors[-1] <= WORST),
        (f"intervals that hold the real gain {share:.0%} (at least {COVERED:.0%})", share >= COVERED),
    )
