"""What the terminal shows: golden texts at two widths, and what must hold at every width."""

from __future__ import annotations

import re

import golden_file
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from sample_report import build, estimate
from surveys import GOOD, NODE

from strata.analyse.platform import compare_surveys
from strata.discover.notices import notices
from strata.model.analysis import Check, Comparison, Equivalence, NoiseFloor
from strata.model.caching import Caching, CachingState, Residency
from strata.model.estimate import Estimate
from strata.model.expect import Expect, Faster
from strata.model.finding import Cause, Diagnosis, RuledOut, VerdictKind
from strata.model.remembered import RunHead
from strata.model.result import Direction, EngineResult, ThreadResult, ThreadTimes
from strata.model.run import Report, RunStatus
from strata.report import ladder, markdown, terminal
from strata.report.html import page as html
from strata.report.ladder import ResultSign
from strata.report.measure_text import measure_text
from strata.report.plan_text import plan_text
from strata.report.runs_text import runs_text
from strata.report.survey_compare_text import survey_compare_text
from strata.report.survey_text import survey_text
from strata.report.terminal import RULED_OUT
from strata.text.output import shown

ANSI = re.compile(r"\x1b\[[0-9;]*m")


def with_comparison(report: Report, comparison: Comparison) -> Report:
    rest = [
        c
        for c in report.analysis.comparisons
        if (c.layer, c.workload_key) != (comparison.layer, comparison.workload_key)
    ]
    return report.model_copy(
        update={"analysis": report.analysis.model_copy(update={"comparisons": (*rest, comparison)})}
    )


@pytest.mark.parametrize("width", [80, 120, 200])
def test_report_reads_as_it_was_looked_at(width: int) -> None:
    golden_file.check(f"report-{width}.txt", terminal.render(build(), width, False, "strata-report-7f3a.html"))


@pytest.mark.parametrize("width", [80, 200])
def test_the_survey_of_a_large_node_in_short_and_in_full(width: int) -> None:
    node = NODE.model_copy(update={"notices": notices(NODE)})
    texts = [survey_text(node, width), survey_text(node, width, verbose=True)]
    texts.append(survey_compare_text(compare_surveys([NODE, GOOD.model_copy(update={"hostname": "node-1"})]), width))
    assert max(cell_len(line) for text in texts for line in text.splitlines()) <= width
    golden_file.check(f"survey-{width}.txt", "\n----\n".join(texts))


@pytest.mark.parametrize("width", [80, 200])
def test_survey_plan_runs_and_measurement_read_as_they_were_looked_at(width: int) -> None:
    report = build()
    run = report.run
    assert run.survey is not None
    texts = [
        survey_text(run.survey, width),
        plan_text(run.plan, width),
        runs_text([RunHead.of(run)], width, verdicts={run.id: report.diagnosis.verdict}),
        measure_text(report.analysis.cells[3], "file:/srv/build/strata.dat", width),
    ]
    golden_file.check(f"others-{width}.txt", "\n----\n".join(texts))


def test_a_plan_says_what_a_layer_stands_on_where_it_is_held_against_something_else() -> None:
    plan = build().run.plan
    disk, file, share = plan.stack.layers
    changed = {"on": ("disk",), "against": ("file system",), "expect": Expect(faster=Faster.QUEUES)}
    stack = plan.stack.model_copy(update={"layers": (disk, file, share.model_copy(update=changed))})
    text = plan_text(plan.model_copy(update={"stack": stack}), 120)
    assert f"{share.name} · on disk · compared with file system · may be faster (queues)" in text
    assert "file system · compared with disk · allowance 5 %" in text


@given(width=st.integers(min_value=80, max_value=240))
@settings(max_examples=25, deadline=None)
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    for line in terminal.render(build(share="the share as the other node sees it, 第二"), width, False).splitlines():
        assert cell_len(line) <= width, line


@pytest.mark.parametrize("width", [80, 97, 200])
def test_colour_changes_nothing_but_colour(width: int) -> None:
    report = build(status=RunStatus.STOPPED, profile="debug")
    assert ANSI.sub("", shown(terminal.render(report, width, True))) == terminal.render(report, width, False)
    assert "\x1b" not in terminal.render(report, width, False)


def test_columns_that_do_not_fit_are_stacked_and_no_square_is_lost() -> None:
    report = build()
    layers = list(report.run.plan.stack.layers)
    for i in range(4):
        layers.append(
            layers[-1].model_copy(
                update={"name": f"guest number {i}", "on": (layers[-1].name,), "against": (layers[-1].name,)}
            )
        )
    stack = report.run.plan.stack.model_copy(update={"layers": tuple(layers)})
    tall = report.model_copy(
        update={"run": report.run.model_copy(update={"plan": report.run.plan.model_copy(update={"stack": stack})})}
    )
    text = terminal.render(tall, 80, False)
    assert all(cell_len(line) <= 80 for line in text.splitlines())
    assert all(f"number {i}" in text for i in range(4))
    assert text.count("sequential write") > 2
    assert "not measured" in text


def test_a_name_cannot_send_control_codes_to_the_terminal_or_a_page() -> None:
    report = build(share="sh\x1b[2Jare\u202e\x07\x9b")
    pages = html.render(report), markdown.render(report), shown(terminal.render(report, 80, True))
    for text in (terminal.render(report, 80, False), *(ANSI.sub("", page) for page in pages)):
        assert not set(text) & set("\x1b\u202e\x07\x9b")
        assert "[2Jare" in text.replace("\\", "") or "[2Jare" in text


@pytest.mark.parametrize(
    ("verdict", "ratio", "mark"),
    [
        (Equivalence.WITHIN, 0.97, ResultSign.SAME),
        (Equivalence.ABOVE, 0.71, ResultSign.SLOWER),
        (Equivalence.ABOVE, 0.05, ResultSign.MUCH_SLOWER),
        (Equivalence.FASTER, 1.31, ResultSign.FASTER),
        (Equivalence.CANNOT_TELL, 0.4, ResultSign.UNSURE),
    ],
)
def test_marks_follow_the_equivalence_test(verdict: Equivalence, ratio: float, mark: ResultSign) -> None:
    report = build()
    comparison = report.analysis.comparisons[0].model_copy(
        update={"verdict": verdict, "iops": estimate(ratio, 0.02, "ratio")}
    )
    table = ladder.build(with_comparison(report, comparison))
    assert table.rows[0].squares[1].mark is mark


def test_a_failed_cell_says_why() -> None:
    report = build()
    key = ("share", "read-128KiB-qd8")
    analysis = report.analysis.model_copy(
        update={"cells": tuple(c for c in report.analysis.cells if (c.layer, c.workload.key) != key)}
    )
    results = tuple(
        r.model_copy(update={"error": "the server went away"}) if (r.layer, r.workload_key) == key else r
        for r in report.results
    )
    text = terminal.render(report.model_copy(update={"analysis": analysis, "results": results}), 200, False)
    assert "– share: the server went away (sequential read · 128 KiB · depth 8)" in text


def test_rows_leave_out_the_cell_of_the_experiment() -> None:
    assert all("1 KiB" not in row.shape for row in ladder.build(build()).rows)


@pytest.mark.parametrize(("holds", "word"), [(True, "Confirmed"), (False, "Refuted"), (None, "Undecided")])
def test_the_experiment_is_told_as_it_ended(holds: bool | None, word: str) -> None:
    report = build()
    finding = report.diagnosis.findings[0]
    assert finding.outcome is not None
    ended = finding.model_copy(update={"outcome": finding.outcome.model_copy(update={"holds": holds})})
    told = report.model_copy(
        update={"diagnosis": Diagnosis(verdict=report.diagnosis.verdict, findings=(ended,), ruled_out=())}
    )
    assert f"  {word}: at random read · 1 KiB · depth 32, a quarter of the block size" in terminal.render(
        told, 200, False
    )


def test_a_prediction_that_was_not_tested_is_shown_as_such() -> None:
    report = build()
    open_finding = report.diagnosis.findings[0].model_copy(update={"outcome": None})
    told = report.model_copy(update={"diagnosis": report.diagnosis.model_copy(update={"findings": (open_finding,)})})
    text = terminal.render(told, 200, False)
    asked = open_finding.experiment
    assert asked is not None
    at = f"a quarter of the block size at the same depth ({asked.layer}, {asked.workload.label})"
    assert f"Would refute it: {at}, predicted" in text
    assert "not run" in text
    assert f"A{at[1:]}, predicted" in html.render(told)
    assert "Confirmed" not in text


def test_debug_builds_and_unfinished_runs_are_said_first() -> None:
    lines = terminal.render(build(profile="debug", status=RunStatus.STOPPED), 200, False).splitlines()
    assert "debug build" in lines[1]
    assert lines[2] == "! run stopped, 101 of 101 steps measured: stopped by SIGINT"
    assert "debug" not in terminal.render(build(), 200, False)


def test_what_cannot_be_true_comes_before_what_colours() -> None:
    report = build()
    bad = Check(
        kind="little",
        title="Little's law",
        layer="share",
        workload_key=None,
        impossible=True,
        message="N is 8, X·R is 31",
    )
    checks = (*report.analysis.checks, bad)
    text = terminal.render(
        report.model_copy(update={"analysis": report.analysis.model_copy(update={"checks": checks})}), 200, False
    )
    assert text.index("Cannot be true") < text.index("Little's law: share: N is 8") < text.index("Caveats")


def one_round(value: Estimate) -> Estimate:
    return value.model_copy(update={"low": None, "high": None, "n": 1})


def single(report: Report) -> Report:
    """The report as one round would have given it: no interval anywhere."""
    cells = tuple(
        c.model_copy(
            update={
                "iops": one_round(c.iops),
                "bytes_per_second": one_round(c.bytes_per_second),
                "mean_ns": one_round(c.mean_ns),
            }
        )
        for c in report.analysis.cells
    )
    comparisons = tuple(
        c.model_copy(
            update={"iops": one_round(c.iops), "added_ns": one_round(c.added_ns), "verdict": Equivalence.CANNOT_TELL}
        )
        for c in report.analysis.comparisons
    )
    noise = NoiseFloor(between_rounds=0.0, within_bins=0.03, tolerance=0.0, rounds=1, cells=20)
    changed = report.analysis.model_copy(update={"cells": cells, "comparisons": comparisons, "noise": noise})
    return report.model_copy(update={"analysis": changed})


@pytest.mark.parametrize("width", [80, 200])
def test_one_round_claims_no_interval_and_no_noise_floor(width: int) -> None:
    report = single(build())
    table = terminal.render(report, width, False).split("VERDICT")[0]
    assert "±" not in table
    assert "noise floor unknown (one round)" in table
    assert re.search(r"1\.00 \?", table)
    assert "±" not in markdown.render(report)
    page = html.render(report)
    assert "noise floor unknown (one round)" in page
    assert "whisker" in page  # the experiment had its rounds
    assert page.count('class="whisker"') == 1


def test_a_cell_in_which_nothing_completed_is_shown_as_zero() -> None:
    report = build()
    first = report.analysis.cells[0]
    nothing = Estimate(value=0, low=0, high=0, n=5, unit="ns")
    dead = first.model_copy(
        update={
            "iops": nothing,
            "bytes_per_second": nothing,
            "mean_ns": nothing,
            "curve": (),
            "latency_ns": {},
            "ios": 0,
        }
    )
    told = report.model_copy(
        update={"analysis": report.analysis.model_copy(update={"cells": (dead,), "comparisons": ()})}
    )
    assert "0 IOPS" in terminal.render(told, 200, False)
    assert "0 IOPS" in html.render(told)


def test_a_finished_runs_message_is_a_note_in_every_form() -> None:
    report = build()
    told = report.model_copy(update={"run": report.run.model_copy(update={"message": "disk left out: not permitted"})})
    text = terminal.render(told, 100, False)
    assert text.index("  Note: disk left out: not permitted") < text.index("VERDICT")
    assert "**Note:** disk left out: not permitted" in markdown.render(told)
    assert "<b>Note:</b> disk left out: not permitted" in html.render(told)
    stopped = build(status=RunStatus.STOPPED)
    assert "Note:" not in terminal.render(stopped, 100, False), "the reason stands in the banner already"


def test_what_was_measured_first_is_told() -> None:
    report = build()
    assert "noise before the run: ±1.2 % between 6 repeats" in terminal.render(report, 100, False)
    told = "6 repeats at disk: ±1.2 % between repeats, ±3.6 % between 50.0 ms bins"
    assert told in html.render(report)


@pytest.mark.parametrize("width", [80, 100, 200])
def test_nothing_is_said_twice(width: int) -> None:
    text = terminal.render(build(), width, False)
    assert text.count("Confirmed") == 1
    assert text.count("the wire carries no more than 110 MiB/s") == 1
    assert len(text.splitlines()) <= 40 or width < 100


def test_only_the_verdicts_own_experiment_is_told_as_not_run() -> None:
    report = build()
    own = report.diagnosis.findings[0].model_copy(update={"outcome": None, "experiment": None})
    other = report.diagnosis.findings[0].model_copy(
        update={"outcome": None, "cause": Cause.IOPS_CAP, "title": "it admits 100 IOPS", "confidence": 0.61}
    )
    diagnosis = report.diagnosis.model_copy(update={"findings": (own, other)})
    told = report.model_copy(update={"diagnosis": diagnosis})
    text = terminal.render(told, 200, False)
    assert "Would refute it" not in text
    assert "Experiment that would refute it" not in html.render(told)
    assert "  Also: share · it admits 100 IOPS (confidence 0.61)" in text
    assert "Also found: it admits 100 IOPS (confidence 0.61)." in markdown.render(told)


def test_checks_of_one_kind_are_one_line_and_one_of_no_layer_has_no_empty_name() -> None:
    report = build()
    few = [
        Check(kind="samples", layer=c.layer, workload_key=c.workload.key, impossible=False, message="few")
        for c in report.analysis.cells[:14]
    ]
    steady = [
        Check(kind="unsteady", layer="disk", workload_key=f"w{i}", impossible=False, message="it fell")
        for i in range(3)
    ]
    none = Check(kind="counters", layer="", workload_key=None, impossible=False, message="no counters of x")
    told = report.model_copy(update={"analysis": report.analysis.model_copy(update={"checks": (*few, *steady, none)})})
    cells = len(report.analysis.cells)
    lines = terminal.render(told, 200, False).split("Caveats\n")[1].split("\n\n")[0].splitlines()
    assert [line.strip()[:44] for line in lines if line.startswith("  ") and not line.startswith("    ")] == [
        f"too few samples for p99 in 14 of {cells} cells (only percentiles"[:44],
        f"unsteady in 3 of {cells} cells, for example disk/w0: it fell"[:44],
        "no counters of x",
    ]
    page = html.render(told)
    assert "All 14" in page and "disk/w2: it fell" in page


def test_a_ruled_out_clause_is_short_and_equal_ones_are_said_once() -> None:
    because, detail = "a limit would give 5 IOPS, measured 3", "at random read · 8 KiB · depth 32"
    causes = (Cause.WIRE_LATENCY, Cause.IOPS_CAP)
    out = tuple(RuledOut(cause=c, because=because, detail=detail) for c in causes)
    others = tuple(RuledOut(cause=c, because=f"{c.value} does nothing here") for c in list(Cause)[:7])
    report = build()
    told = report.model_copy(update={"diagnosis": report.diagnosis.model_copy(update={"ruled_out": (*out, *others)})})
    text = terminal.render(told, 200, False)
    assert f"wire latency, a cap on IOPS ({because})\n" in text
    assert text.count("does nothing here") == RULED_OUT - 1 and "3 more: strata explain" in text
    page = html.render(told)
    assert f"{because}; {detail}" in page and all(f"{c.value} does nothing here" in page for c in list(Cause)[:7])


def test_what_was_ruled_out_in_a_run_of_an_earlier_version_still_loads_and_reads() -> None:
    old = RuledOut.model_validate({"cause": "wire-latency", "because": "5 IOPS, measured 3; at random read"})
    assert (old.because, old.detail) == ("5 IOPS, measured 3", "at random read")
    assert old.whole == "5 IOPS, measured 3; at random read"
    assert RuledOut.model_validate_json(old.model_dump_json()) == old


@pytest.mark.parametrize(
    ("layer", "line"),
    [
        ("medium", "VERDICT   the medium is the limit, as expected · confidence"),
        ("disk", "VERDICT   disk · the medium is the limit, as expected · confidence"),
    ],
)
def test_the_medium_is_named_once(layer: str, line: str) -> None:
    report = build()
    verdict = report.diagnosis.verdict.model_copy(
        update={
            "kind": VerdictKind.MEDIUM,
            "cause": Cause.MEDIUM,
            "layer": layer,
            "headline": "the medium is the limit, as expected",
        }
    )
    told = report.model_copy(update={"diagnosis": Diagnosis(verdict=verdict, findings=(), ruled_out=())})
    assert line in terminal.render(told, 200, False)
    body = html.render(told)
    # Behind a fold stands the paragraph that is forwarded, which says it again.
    assert body[body.index("<main>") : body.index("<details")].count("the medium is the limit, as expected") == 1


def test_a_measurement_says_what_the_cache_held_and_what_each_thread_did() -> None:
    summary = build().analysis.cells[3]
    pages = Residency(pages=100, resident=0, unwritten=0, page_bytes=4096)
    state = CachingState(direct=False, sync="none", cache="cold")
    after = pages.model_copy(update={"resident": 40, "unwritten": 10})
    thread = ThreadResult(
        read_ops=50, write_ops=0, read_bytes=204_800, user_ns=5000, system_ns=45_000, voluntary_switches=7,
        involuntary_switches=2, run_delay_ns=3000, pinned="1", cpus="1", memory="local",
        service=ThreadTimes(mean_ns=1e5, p50_ns=90_000, p99_ns=200_000, max_ns=400_000),
    )  # fmt: skip
    nothing = Direction(ops=0, bytes=0)
    result = EngineResult(
        engine={"kind": "io_uring"}, effective={}, started_unix_ns=1, ramp_ns=0, measured_ns=500_000_000,
        stop_reason="runtime", issued=50, completed=50, errored=0, stuck=0, read=nothing, write=nothing, intervals=(),
        threads=(thread,), caching=Caching(asked=state, in_force=state, before=pages, after=after),
    )  # fmt: skip
    plain = measure_text(summary, "file:/x", 400, result=result)
    said = plain.replace("\u202f", " ")
    assert (
        "buffered, cold requested; 0 % of 100 pages in memory before, 40 % after (up to 40 KiB not yet written" in said
    )
    assert "thread 0" not in said
    told = measure_text(summary, "file:/x", 400, result=result, verbose=True)
    assert "100 IOPS · 400 KiB/s · mean 100 µs, p99 200 µs, max 400 µs · 100 ns user + 900 ns system per I/O" in told
    assert "7 voluntary, 2 other switches · waited 3.00 µs for a CPU · pinned to CPUs 1" in told
    unlike = Check(kind="threads", layer="x", workload_key="w", impossible=False, message="thread 1 did 9 %")
    assert "thread 0" in measure_text(summary, "file:/x", 400, checks=(unlike,), result=result)
