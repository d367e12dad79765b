#!/usr/bin/env python3
"""What `strata scale --what-if` predicts, and what then happens: `make bench-scale`. README.md beside this says how.

Prints a Markdown table of the kept changes. With root and without `--tables`, labs are built first and each change is
made there; its record replaces the kept one where `--keep` is given.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from scalebench.labs import GROUPS, TRIED
from scalebench.table import table
from scalebench.trial import Record, judged, named
from scalebench.trial import asked as predicted

from strata.errors import StrataError

KEPT = Path(__file__).parent / "records"


def main() -> int:
    """The groups asked for, then the table."""
    words = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    words.add_argument("--tables", action="store_true", help="only print the table of the kept records")
    quick = bool(os.environ.get("QUICK"))
    words.add_argument("--quick", action="store_true", default=quick, help="one lab of each kind")
    words.add_argument("--only", help="groups whose name matches this expression")
    words.add_argument("--tried", action="store_true", help="the changes that are made, and judge nothing")
    words.add_argument("--list", action="store_true", help="only list the changes")
    words.add_argument("--missing", action="store_true", help="only groups that have no kept record")
    words.add_argument("--seconds", type=float, help="begin no group after this time")
    words.add_argument("--store", type=Path, help="keep the sweeps in this store")
    words.add_argument("--again", type=Path, help="predict anew from the sweeps in this store, and print the table")
    words.add_argument("--keep", action="store_true", help="keep the records beside this program")
    asked = words.parse_args()
    among = TRIED if asked.tried else GROUPS
    chosen = [g for g in among if (not asked.only or re.search(asked.only, g.name)) and (not asked.quick or g.quick)]
    if asked.tried and asked.keep:
        words.error("--tried judges nothing, so nothing of it is kept")
    if asked.list:
        print("\n".join(f"{g.name}: {', '.join(c.asked for c in g.changes)}" for g in chosen))
        return 0
    if asked.again:
        again(asked.again)
    if asked.tables or asked.again:
        return shown(kept(KEPT))
    if os.geteuid():
        print("error: the labs need root; --tables prints what is kept", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as apart:
        place = KEPT if asked.keep else Path(apart)
        store = asked.store or Path(apart) / "store"
        begun, failed = time.monotonic(), 0
        for group in sorted(chosen, key=lambda g: not g.quick):
            path = place / f"{named(group)}.json"
            if asked.missing and path.exists():
                continue
            if asked.seconds is not None and time.monotonic() - begun > asked.seconds:
                break
            try:
                record = judged(group, store, lambda text: print(text, file=sys.stderr, flush=True))
            except StrataError as e:
                print(f"{group.name} failed: {e.render()}", file=sys.stderr)
                failed += 1
                continue
            path.write_text(json.dumps(record, indent=1) + "\n")
        whole = not (asked.quick or asked.only or asked.missing or asked.seconds is not None) or asked.keep
        return max(shown(kept(place), whole=whole), min(failed, 1))


def again(store: Path) -> None:
    """The predictions of the kept records, by the rules of today, from their sweeps in the store."""
    for path in sorted(KEPT.glob("*.json")):
        path.write_text(json.dumps(predicted(json.loads(path.read_text()), store), indent=1) + "\n")


def kept(place: Path) -> list[Record]:
    """In the order of their names."""
    return [json.loads(path.read_text()) for path in sorted(place.glob("*.json"))]


def shown(records: list[Record], *, whole: bool = True) -> int:
    """Prints them; 1 where a bar is missed."""
    text, met = table(records, whole=whole)
    print(text)
    return 0 if met else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except StrataError as e:
        with suppress(BrokenPipeError):
            print(e.render(), file=sys.stderr)
        sys.exit(e.exit_code)
