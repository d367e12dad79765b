"""A published file server's sweeps, read from a table: curve, knee and what is full, as that test's own figures say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from strata.app.scale_table import scale_table
from strata.errors import InconclusiveError
from strata.model.scale import ScaleResult
from strata.report.html import scale as page
from strata.report.scale_text import scale_markdown, scale_text
from tests.unit.invoked import strata

SMB = Path(__file__).parents[1] / "data" / "laws" / "smb.csv"


@pytest.fixture(scope="module")
def found() -> ScaleResult:
    return scale_table(SMB, {}, ("threads=32", "server=2x"), 0.2)


@pytest.mark.parametrize(
    ("series", "full", "knee"),
    [
        ("random read, 1 KiB", "server", (5, 10)),
        ("random read, 8 KiB", "server", (6, 11)),
        ("random 60/40, 1 KiB", None, (6, 11)),
        ("random 60/40, 8 KiB", None, (5, 9)),
        ("sequential read, 64 KiB", None, (4, 8)),
        ("sequential read, 512 KiB", None, (1.5, 4)),
    ],
)
def test_each_series_has_its_knee_and_names_only_what_its_figures_fill(
    found: ScaleResult, series: str, full: str | None, knee: tuple[float, float]
) -> None:
    curve = found.curve(series)
    assert curve.form is not None and curve.rms is not None and curve.rms < 0.03
    assert curve.knee is not None and knee[0] <= curve.knee.value <= knee[1] and not curve.beyond
    assert curve.saturated is not None and curve.saturated.name == full


def test_the_points_keep_what_was_printed(found: ScaleResult) -> None:
    first = found.of("random read, 1 KiB")[0]
    assert (first.value, first.outstanding, first.iops.value) == (1, 20, 76650)
    assert first.latency_ns["90"].value == 265_000 and first.cycles[0].kernel_per_byte.value == 43.3
    assert first.iops.low is None, "no noise is stated, so there is no interval"
    mixed = found.of("random 60/40, 8 KiB")[-1]
    assert {k: e.value for k, e in mixed.latency_ns.items()} == {"90.read": 1_235_000, "90.write": 1_330_000}
    large = found.of("sequential read, 512 KiB")[-1]
    assert large.bytes_per_second is not None and large.bytes_per_second.value == pytest.approx(16.4e9)


def test_the_maximum_lies_beyond_what_was_measured_and_is_said_with_its_width(found: ScaleResult) -> None:
    """Sixteen threads were measured; the fit puts the peak near 24, and leaves it open."""
    curve = found.curve("random read, 8 KiB")
    assert curve.form == "universal scalability law" and curve.limit_at is not None
    assert curve.limit_at.value == pytest.approx(23.9, abs=0.5)
    assert curve.limit_at.low is not None and curve.limit_at.low < 20
    assert curve.limit_at.high is None or curve.limit_at.high > 30


def test_more_of_what_is_full_gains_and_what_has_no_figure_is_no_prediction(found: ScaleResult) -> None:
    told = {(a.layer, a.asked): a for a in found.what_if}
    server = told["random read, 8 KiB", "server=2x"]
    assert server.gain is not None and 1.3 < server.gain.value < 2.0 and "server" in server.rests_on
    missing = told["random 60/40, 8 KiB", "server=2x"]
    assert missing.gain is None and "no measured demand" in missing.refused


def test_every_form_says_the_same(found: ScaleResult, tmp_path: Path) -> None:
    text, markdown, html = scale_text(found, 100), scale_markdown(found), page.render(found)
    for form in (text, markdown, html):
        assert "universal scalability law" in form and "no measured demand" in form
    assert html.count("<svg") >= 6 and max(map(len, text.splitlines())) <= 100
    code, said, _ = strata("scale", "--table", SMB, "--json", "--csv", tmp_path / "c.csv")
    assert code == 0 and ScaleResult.model_validate_json(said).layers == found.layers
    assert json.loads(said)["schema"] == "strata.scale/1"
    assert len((tmp_path / "c.csv").read_text().splitlines()) == 31


def test_a_table_without_a_sweep_says_so(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("name,iops\na,100\nb,200\n")
    with pytest.raises(InconclusiveError, match="no sweep"):
        scale_table(tmp_path / "t.csv", {}, (), 0.2)


NODES = SMB.parent / "nodes.csv"


def test_a_task_has_the_part_that_scales_and_what_more_would_bring() -> None:
    """Four nodes became eight: 144 minutes became 129, so 2 · (1 − 129 ÷ 144) of it is what the nodes do."""
    found = scale_table(NODES, {}, (), 0.2)
    assert not found.points and not found.curves
    task = {t.name: t for t in found.tasks}
    creation, checksum = task["database creation, min"], task["checksum, min"]
    assert (creation.before, creation.after, creation.factor, creation.of) == (144, 129, 2, "nodes")
    part = 2 * (1 - 129 / 144)
    assert creation.part.value == pytest.approx(part) and creation.times == pytest.approx(144 / 129)
    assert creation.again == pytest.approx((1 - part / 2) / (1 - part * 3 / 4))
    assert creation.most == pytest.approx((1 - part / 2) / (1 - part))
    assert checksum.part.value < 0.05 and checksum.part.high is not None and checksum.part.high < 0.3
    assert task["IOPS of the databases"].most is None, "all of it follows: nothing bounds it"
    for text in (scale_text(found, 100), scale_markdown(found), page.render(found)):
        assert "database creation, min" in text and "21 % (6–35)" in text
    assert "over threads" not in scale_text(found, 100)
