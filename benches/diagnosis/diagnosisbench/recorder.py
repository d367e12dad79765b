"""The command line with a witness: `recorder.py FILE WORDS …` is `strata WORDS …`, and FILE gets what was judged.

The diagnosis is pure, so what it was called with and what it said are all there is to keep. Nothing of it is changed,
unless `STRATA_BENCH_BATTERY` is set: then every experiment that any rule or module proposes is made, whether it is
worth its time or not, so that a replay can choose among them; the verdict that is kept is the one before that.
"""

from __future__ import annotations

import json
import os
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from strata.model.experiment import Experiment, Tried
from strata.model.stack import Stack

# Not `from strata import`: the package has a function of that name.
rules: Any = import_module("strata.diagnose")

FOREVER = 1e6


class Witness:
    """Stands between the session and the rules."""

    def __init__(self, into: Path, battery: bool) -> None:
        self._into, self._battery = into, battery
        self._diagnose, self._propose = rules.diagnose, rules.propose
        self._said: dict[str, Any] | None = None
        self._began = 0.0

    def diagnose(self, stack: Stack, analysis: Any, tried: tuple[Tried, ...] = ()) -> Any:
        """As the rules do. The last call of a run is what stays in the file."""
        told = self._diagnose(stack, analysis, tried)
        found = {
            "stack": stack.model_dump(mode="json"),
            "analysis": analysis.model_dump(mode="json"),
            "tried": [t.model_dump(mode="json") for t in tried],
            "diagnosis": self._said or told.model_dump(mode="json"),
            "battery_s": time.monotonic() - self._began if self._said else 0.0,
        }
        self._into.write_text(json.dumps(found))
        self._last = told
        return told

    def propose(self, stack: Stack, analysis: Any, tried: tuple[Tried, ...] = (), *more: Any, **named: Any) -> Any:
        """As the rules do; with the whole battery, whatever is left when they ask for nothing more."""
        chosen = self._propose(stack, analysis, tried, *more, **named)
        if chosen is not None or not self._battery:
            return chosen
        if self._said is None:
            self._said, self._began = self._last.model_dump(mode="json"), time.monotonic()
        refused: tuple[Experiment, ...] = (more[1] if len(more) > 1 else named.get("refused", ())) or ()
        done = {t.experiment.name for t in tried} | {e.name for e in refused}
        return next((e for e in every(stack, analysis, tried) if e.name not in done), None)


def every(stack: Stack, analysis: Any, tried: tuple[Tried, ...]) -> list[Experiment]:
    """Whatever any opinion or module would try, of all that stands at any layer."""
    from strata.diagnose import choosing
    from strata.diagnose.case import Case
    from strata.diagnose.layers import findings

    case = Case(stack, analysis, tried)
    found: list[Experiment] = []
    for named in findings(case)[0]:
        found += choosing.candidates(case, choosing.at(named.finding.layer, named.standing))
    return found


def main(into: Path) -> None:
    """Does not return: the exit status is Strata's own."""
    witness = Witness(into, bool(os.environ.get("STRATA_BENCH_BATTERY")))
    rules.diagnose, rules.propose = witness.diagnose, witness.propose
    from strata.cli import main as strata

    strata()


if __name__ == "__main__":
    file = Path(sys.argv[1]).absolute()
    sys.argv = ["strata", *sys.argv[2:]]
    main(file)
