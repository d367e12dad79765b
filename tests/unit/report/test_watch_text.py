"""How a watching reads: the verdict with its evidence, who issues, and no name of a process is obeyed."""

from __future__ import annotations

from tests.unit.diagnose.watched import APP, arrival, disk, issuer, observed, queue

from strata.app.watch import told
from strata.model.finding import Cause, VerdictKind
from strata.model.watch import Confirmation, Slice
from strata.report.watch_text import slice_lines, watch_text


def _text(name: str = "app", width: int = 100) -> str:
    seen = observed(
        disk(1644, 15.9, 1.0), [arrival(queue(16, 4, lambda n, s: 2432), lengths=((8192, 800),))], [issuer(name=name)]
    )
    proof = Confirmation(
        command="strata diagnose /mnt --profile observed.toml", workload="random read", workload_key="k",
        writes_bytes=41943040, seconds=93.0,
    )  # fmt: skip
    return watch_text(told(seen).model_copy(update={"confirm": proof}), width)


def test_verdict_places_issuers_and_proof_are_there() -> None:
    text = _text()
    assert "VERDICT" in text
    assert "gives what it is specified for" in text
    assert "4 at once, 2.43 ms each" in text
    assert f"app/{APP} *" in text
    assert "8 KiB 100 %" in text.replace("8.00 KiB", "8 KiB")
    assert "writes at most 40 MiB" in text
    assert text.endswith("strata diagnose /mnt --profile observed.toml")


def test_a_name_with_control_characters_is_shown_and_not_obeyed() -> None:
    text = _text("evil\x1b[2Jname\r")
    assert "\x1b" not in text
    assert "\r" not in text
    assert "evil" in text


def test_it_fits_into_a_narrow_terminal() -> None:
    lines = _text(width=80).splitlines()
    assert all(len(line) <= 80 for line in lines[:-1])


def test_a_slice_says_which_nodes_are_sampled_no_more() -> None:
    one = Slice(
        at_unix_ns=0, seconds=10.0, kind=VerdictKind.MEDIUM, layer="disk", cause=Cause.MEDIUM, confidence=0.6,
        headline="full", layers=(), absent=("n1 (disk) after 5.00 s: cannot ask node n1: it died",),
    )  # fmt: skip
    assert slice_lines(one, 100)[-1].strip() == f"not seen · {one.absent[0]}"
    assert len(slice_lines(one.model_copy(update={"absent": ()}), 100)) == 1
