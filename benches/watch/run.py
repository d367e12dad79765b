#!/usr/bin/env python3
"""How often `strata watch` is right, by the lab's truth: `make bench-watch`. README.md beside this says how.

Without ``--live`` every kept case is judged anew by the rules of today; ``--live N`` adds N trials first (as root).
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import time
from itertools import islice
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "diagnosis")]
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

from diagnosisbench import draw, score, split  # noqa: E402
from diagnosisbench.kept import ENDING  # noqa: E402
from diagnosisbench.trial import Kind, Trial  # noqa: E402
from watchbench import case as kept  # noqa: E402
from watchbench import judged  # noqa: E402
from watchbench.case import WatchCase  # noqa: E402
from watchbench.loads import OTHERS_FROM, load_of  # noqa: E402

SETUPS = ("local-ext4", "local-xfs", "block-nbd")
"""Labs that fio reaches here: files, and NBD."""
UNSEEN = ("cache-fit", "cold-cache", "swapped")
"""No limit that a load shows: a cache that flatters or is empty is seen against an earlier run, a wrong file by its
data.
"""
THIN = ("wire-loss", "wire-latency", "wire-bandwidth", "noisy-wire")
"""Of what earlier rows drew a case or two: from `OTHERS_FROM` on others make room for them."""
KEPT_SHARE = 0.4
"""Of the trials with anything else, then."""
FIRST_BASE = 60
WITHHELD = 4
"""Times that each case is judged with evidence taken away."""
TRACEFS = "/sys/kernel/tracing"


def main() -> int:
    """Run what was asked for."""
    words = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    words.add_argument("--live", type=int, default=0, metavar="N", help="so many trials more, each kept as a case")
    words.add_argument("--seconds", type=float, default=0, help="live: begin no trial after so many seconds")
    words.add_argument("--base", type=int, default=FIRST_BASE, help="which endless row they are taken from")
    words.add_argument("--only", default="", help="trials and cases whose name holds this")
    words.add_argument("--list", type=int, default=0, metavar="N", help="only name the next trials")
    words.add_argument("--cases", type=Path, default=kept.FOLDER)
    words.add_argument("--explain", action="store_true", help="a line for each case there is to learn from")
    asked = words.parse_args()
    rules = split.read(HERE / "split.toml", HERE / "looked.txt")
    if asked.list or asked.live:
        _live(asked, rules)
        if asked.list:
            return 0
    cases = [kept.load(path) for path in sorted(asked.cases.glob(f"*{ENDING}")) if asked.only in path.name]
    return _told(cases, rules, explain=asked.explain)


def trials(base: int, rules: split.Split) -> list[Trial]:
    """The row of the diagnoses' draw, without what no watching can see and no fio can reach here."""
    row = islice(draw.trials(base, rules), 1000)
    wanted = (t for t in row if t.setup in SETUPS and t.kind in (Kind.ONE, Kind.HEALTHY))
    seen = [t for t in wanted if not any(p.what in UNSEEN for p in t.put)]
    if base < OTHERS_FROM:
        return seen
    return [t for t in seen if t.what in THIN or random.Random(f"kept {t.seed}").random() < KEPT_SHARE]


def _live(asked: argparse.Namespace, rules: split.Split) -> None:
    done = {path.name.removesuffix(ENDING) for path in asked.cases.glob(f"*{ENDING}")}
    wanted = (t for t in trials(asked.base, rules) if t.name not in done and asked.only in t.name)
    if asked.list:
        for trial in islice(wanted, asked.list):
            print(f"{trial} · {load_of(trial).name}  {' '.join(sorted(trial.kept(rules))) and 'kept apart'}".rstrip())
        return
    from watchbench import live

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    begun = time.monotonic()
    for trial in islice(wanted, asked.live):
        if asked.seconds and time.monotonic() - begun > asked.seconds:
            break
        case = live.tried(trial, _say, asked.cases)
        print(_line(case, rules), flush=True)


def _say(what: str) -> None:
    print(f"· {time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)


def _line(case: WatchCase, rules: split.Split) -> str:
    apart = bool(case.trial.kept(rules))
    felt = "" if case.felt is None else f" felt {case.felt:.2f}x"
    head = f"{case.trial.name} ({case.load}){felt}"
    if apart:
        return f"{head}: kept apart" + (f", failed: {case.failed}" if case.failed else "")
    if case.failed:
        return f"{head}: FAILED {case.failed}"
    verdict = judged.replayed(case)
    one = judged.held(case, verdict, rules)
    mark = (
        "ok"
        if one.right_cause and not judged.missaid(case, verdict)
        else "layer"
        if one.right_layer
        else "WRONG"
        if one.wrong
        else "miss"
    )
    if not case.counts:
        mark = f"({mark})"
    first = verdict.first
    return f"{mark:7} {head}: {verdict.kind} {first.layer}: {first.cause} {first.confidence:.2f} · {verdict.headline}"


def _told(cases: list[WatchCase], rules: split.Split, *, explain: bool) -> int:
    scored = [c for c in cases if c.counts]
    pairs = [(c, judged.replayed(c)) for c in scored]
    found = [judged.held(c, v, rules) for c, v in pairs]
    missed = [judged.missaid(c, v) for c, v in pairs if not c.failed]
    rows = judged.table(found, missed)
    print(score.text(rows, "all cases"))
    for part, keep in (("there to learn from", False), ("kept apart", True)):
        mine = [(f, p) for f, p in zip(found, pairs, strict=True) if bool(f.kept) is keep]
        swapped = [judged.missaid(*p) for _, p in mine if not p[0].failed]
        print(f"\n{score.text(judged.table([f for f, _ in mine], swapped), part)}")
    said = [judged.held(c, c.verdict, rules) for c in scored if c.verdict is not None]
    print(f"\n{score.text(judged.table(said, []), 'as said live')}")
    less = [j for c in scored for j in judged.withheld(c, WITHHELD, rules)]
    wrong = [j for j in less if j.wrong and j.first.confidence >= score.SURE]
    print(f"\nEvidence taken away at random, n = {len(less)}: decided {sum(j.decided for j in less)}, ", end="")
    print(f"confident and wrong {len(wrong)}.")
    for one in wrong if explain else ():
        if not one.kept:
            print(f"  {one.name}: {one.first.layer}: {one.first.cause} {one.first.confidence:.2f}")
    failed = [c for c in cases if c.failed]
    print(f"\nNot scored, as the load does not feel it: {len(cases) - len(scored)}. Failed: {len(failed)}.")
    for name in sorted({c.load for c in cases}):
        mine = [f for f, (c, _) in zip(found, pairs, strict=True) if c.load == name]
        right = sum(f.right_cause for f in mine)
        print(f"  {name}: {right} of {len(mine)} right")
    if explain:
        for case in cases:
            print(_line(case, rules))
    bars = [row.name for row in rows if row.missed]
    for name in bars:
        print(f"missed: {name}", file=sys.stderr)
    return 1 if bars else 0


def _with_traces() -> None:
    """In a mount namespace of our own where tracefs is mounted, if it is not: what is traced is seen, and nothing
    stays.
    """
    if "--live" in sys.argv and os.geteuid() == 0 and not Path(TRACEFS, "events").is_dir():
        script = 'mount -t tracefs tracefs "$0" && exec "$@"'
        words = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, TRACEFS]
        os.execvp("unshare", [*words, sys.executable, *sys.argv])


if __name__ == "__main__":
    _with_traces()
    sys.exit(main())
