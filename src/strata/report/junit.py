"""A gate, and the consistency laws over a run, as suites of JUnit's test cases."""

from __future__ import annotations

from collections.abc import Iterable

from strata import units
from strata.model.figures import Checked, Flag
from strata.model.history import Gate, GateCell, GateOutcome
from strata.report import figures
from strata.report.compare_lines import change
from strata.text import junit
from strata.text.junit import CaseEnding, JunitCase, JunitSuite


def gate_junit(gate: Gate) -> str:
    """The document of a gate alone."""
    return junit.document("strata gate", [gate_suite(gate)])


def gate_suite(gate: Gate) -> JunitSuite:
    """One test case a cell: a regression fails, what cannot be told is skipped with the reason, and what the candidate
    did not measure is an error."""
    cases = [_case(gate, cell) for cell in gate.cells]
    for name in gate.missing:
        layer, _, key = name.rpartition("/")
        why = "not measured by the candidate"
        cases.append(JunitCase(f"strata.{layer}", key, CaseEnding.ERROR, why, "missing", gate.why))
    return JunitSuite(f"against {gate.baseline}", tuple(cases))


def laws_suite(checked: Checked) -> JunitSuite:
    """One test case a law: it fails where figures contradict it, and is skipped where no row has what it needs.

    What may be true and misleads stands with a case that passed.
    """
    return JunitSuite(f"laws over {checked.source}", tuple(_law(checked, name) for name in checked.laws))


def _law(checked: Checked, name: str) -> JunitCase:
    flags = [flag for flag in checked.flags if flag.law == name]
    broken = [flag for flag in flags if flag.broken]
    if broken:
        message = f"{figures.plural(len(broken), 'contradiction')}: {broken[0].title or name}"
        return JunitCase("strata.laws", name, CaseEnding.FAILED, message, "broken", _told(flags))
    if name not in checked.asked and not flags:
        return JunitCase("strata.laws", name, CaseEnding.SKIPPED, "no row has the figures it needs")
    return JunitCase("strata.laws", name, text=_told(flags))


def _told(flags: Iterable[Flag]) -> str:
    return "\n".join(f"{flag.row or flag.column or 'the table'}: {flag.reason}" for flag in flags)


def _case(gate: Gate, cell: GateCell) -> JunitCase:
    said = f"{units.count(cell.baseline_iops)} → {units.count(cell.candidate_iops)} IOPS: {change(cell.ratio)}"
    group = f"strata.{cell.layer}"
    if cell.outcome is GateOutcome.REGRESSION:
        return JunitCase(group, cell.workload_key, CaseEnding.FAILED, said, "regression", gate.why)
    if cell.outcome is GateOutcome.TOO_NOISY:
        return JunitCase(group, cell.workload_key, CaseEnding.SKIPPED, f"{said}; {_needs(cell)}")
    return JunitCase(group, cell.workload_key)


def _needs(cell: GateCell) -> str:
    if cell.noise is None:
        return "the baseline has too few runs to show how much identical runs vary"
    if cell.runs_needed is None:
        return "too noisy for any number of runs"
    return f"{figures.plural(cell.runs_needed, 'run')} of the candidate would decide it"
