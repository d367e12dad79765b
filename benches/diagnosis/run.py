#!/usr/bin/env python3
"""How often a verdict is right, by the lab's truth: `make bench-diagnosis`. README.md beside this says how.

Without ``--live`` every kept case is judged anew by the rules of today; ``--live N`` adds N trials first (as root).
Prints Markdown tables. Exit status 1 when a bar is missed by more than chance, or a verdict is confident and wrong
where counters were taken away.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from itertools import islice
from pathlib import Path

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

from diagnosisbench import confusion, draw, explained, kept, replay, score, split  # noqa: E402
from diagnosisbench.judge import Judged  # noqa: E402
from diagnosisbench.kept import Case  # noqa: E402

from strata.errors import StrataError  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "diagnosis.png"


def main() -> int:
    """Run what was asked for."""
    words = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    words.add_argument("--live", type=int, default=0, metavar="N", help="so many trials more, each kept as a case")
    words.add_argument("--base", type=int, default=draw.FIRST_BASE, help="which endless row they are taken from")
    words.add_argument("--again", metavar="CASE", help="measure a kept trial once more; what came of it before is kept")
    words.add_argument("--only", default="", help="trials and cases whose name holds this")
    words.add_argument("--whole-battery", action="store_true", help="live: make every experiment that is proposed")
    words.add_argument("--list", type=int, default=0, metavar="N", help="only name the next trials")
    words.add_argument("--replay", action="store_true", help="judge the kept cases anew (what is done without --live)")
    words.add_argument("--swap", action="store_true", help="hold each case against another's truth: this has to fail")
    words.add_argument("--withhold", type=int, default=replay.WITHHELD_TIMES, help="replays with counters taken away")
    words.add_argument("--explain", metavar="CASE", help="print everything that is said of one case")
    words.add_argument("--look", action="store_true", help="also of one that is kept from tuning: then it is no longer")
    words.add_argument("--cases", type=Path, default=kept.FOLDER)
    words.add_argument("--picture", type=Path, help=f"draw the confusion matrix, e.g. to {PICTURE.relative_to(ROOT)}")
    asked = words.parse_args()
    if asked.explain:
        print(explained.case(next(kept.load(p) for p in _files(asked.cases, asked.explain)), asked.look))
        return 0
    if asked.again:
        _again(asked)
        return 0
    if asked.list or asked.live:
        _live(asked)
        if asked.list or not asked.replay:
            return 0
    cases = [kept.load(path) for path in _files(asked.cases, asked.only)]
    begun = time.monotonic()
    found = replay.replayed(cases, split.read())
    took = time.monotonic() - begun
    if asked.swap:
        found = replay.swapped(found)
    missed = _tables(found)
    rules = split.read()
    if said := replay.as_said(cases, rules):
        print(f"\n{score.text(score.table(said), 'frozen rows, as said live')}")
        newest = replay.as_said(cases, rules, rules.newest)
        name = f"newest rows, from {rules.newest} on, as said live"
        print(f"\n{score.text(score.table(newest), name) if newest else f'{name}: no trial yet'.capitalize()}")
    _left_out(cases)
    print(f"\n{len(found)} cases replayed in {took:.1f} s.\n\n{confusion.text(found)}")
    if not asked.swap and asked.withhold:
        missed += _withheld(cases, asked.withhold)
    if asked.picture:
        print(f"\npicture: {confusion.draw(found, asked.picture)}")
    for name in missed:
        print(f"missed: {name}", file=sys.stderr)
    return 1 if missed else 0


def _live(asked: argparse.Namespace) -> None:
    """The next trials that have no case yet; a line each in the running table."""
    from diagnosisbench import live

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the lab is removed, what was begun stays kept
    rules = split.read()
    done = {path.name.removesuffix(kept.ENDING) for path in asked.cases.glob(f"*{kept.ENDING}")}
    wanted = (t for t in draw.trials(asked.base, rules) if t.name not in done and asked.only in t.name)
    for trial in islice(wanted, asked.live or asked.list):
        if asked.list:
            print(f"{trial}  {' '.join(sorted(trial.kept(rules))) and 'kept apart'}".rstrip())
            continue
        case = live.tried(trial, _say, asked.whole_battery, asked.cases)
        print(explained.line(case, rules), flush=True)


def _again(asked: argparse.Namespace) -> None:
    """One kept trial, with what came of it before."""
    from diagnosisbench import live

    path = asked.cases / f"{asked.again.removesuffix(kept.ENDING)}{kept.ENDING}"
    case = live.tried(kept.load(path).trial, _say, asked.whole_battery, asked.cases, again=True)
    print(explained.line(case, split.read()), flush=True)


def _tables(found: list[Judged]) -> list[str]:
    """All, each stack, tuned and kept apart; the names of the bars that are missed."""
    tuned, apart = [c for c in found if not c.kept], [c for c in found if c.kept]
    rows = [*score.table(found), score.lost(tuned, apart)]
    print(score.text(rows, "all cases"))
    parts = {
        "there to learn from": tuned,
        "kept apart": apart,
        "beside a neighbour": [c for c in found if c.neighbour],
        "alone": [c for c in found if not c.neighbour],
        **{setup: [c for c in found if c.setup == setup] for setup in sorted({c.setup for c in found})},
    }
    columns = (
        *("right layer, first named", "right cause, first named", "healthy blamed at any layer", "wrong at ≥ 0.8"),
        *("wrong and confirmed", "any finding: wrong cause at ≥ 0.8", "any finding: wrong and confirmed"),
    )
    print(f"\n| part | n | {' | '.join(columns)} |\n|---|---|{'---|' * len(columns)}")
    for part, mine in parts.items():
        told = {row.name: row for row in score.table(mine)}
        shares = [
            "–" if (value := told[name].value) is None else f"{value * 100:.0f} % of {told[name].n}" for name in columns
        ]
        print(f"| {part} | {len(mine)} | {' | '.join(shares)} |")
    return [row.name for row in rows if row.missed]


def _withheld(cases: list[Case], times: int) -> list[str]:
    """No confident wrong cause, whatever is not seen; and it is said what is missing: both are bars."""
    found = replay.withheld(cases, split.read(), times)
    if not found:
        return []
    decided = sum(w.judged.decided for w in found)
    rows = score.withheld([w.judged for w in found], [w.says_what_is_missing for w in found])
    print(f"\nCounters taken away, n = {len(found)}, decided {decided}:\n\n{score.text(rows, 'counters taken away')}\n")
    wrong = [w for w in found if score.sure(w.judged.all_wrong)]
    silent = [w for w in found if not w.says_what_is_missing]
    for what, some in (("wrong", wrong), ("silent", silent)):
        for one in some[:10]:
            told = "; ".join(f"{s.cause} at {s.layer}" for s in one.judged.all_wrong) or one.judged.verdict.kind.value
            seen = explained.KEPT_APART if one.judged.kept else told
            print(f"  {what}: {one.judged.name}: {seen} without {', '.join(one.away)}")
    return [f"counters taken away: {row.name}" for row in rows if row.missed]


def _left_out(cases: list[Case]) -> None:
    failed = [c for c in cases if c.failed]
    unfelt = sum(not c.counts for c in cases)
    print(f"\nNot scored: {unfelt} whose impact was below {kept.COUNTS_FROM:g}. ", end="")
    print(f"Without a verdict: {len(failed)}. Measured more than once: {sum(bool(c.earlier) for c in cases)}.")
    for case in failed:
        print(f"  {case.trial.name}: {case.failed}")
    for base, taken, row in draw.rows(case.trial.seed for case in cases):
        fair = "" if taken == row else ": picked, which is no fair sample"
        print(f"Of the first {row} trials of row {base} {taken} have a case{fair}.")
    changed = sum(case.revision.endswith("-dirty") for case in cases)
    print(f"Taken at {len({case.revision for case in cases})} revisions, {changed} at one that was changed since.")


def _files(folder: Path, part: str) -> list[Path]:
    found = [path for path in sorted(folder.glob(f"*{kept.ENDING}")) if part in path.name]
    if not found:
        raise SystemExit(f"no case in {folder} has {part!r} in its name; --live N makes some")
    return found


def _say(what: str) -> None:
    print(f"· {time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except StrataError as e:
        print(e.render(), file=sys.stderr)
        sys.exit(e.exit_code)
