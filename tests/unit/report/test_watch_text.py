"""How a watching reads: the verdict with its evidence, who issues, and no name of a process is obeyed."""

from __future__ import annotations

import pytest
from tests.unit.diagnose.watched import APP, arrival, disk, issuer, observed, queue

from strata.app.watch import told
from strata.model.finding import Cause, VerdictKind
from strata.model.watch import Confirmation, LookBack, Slice, SliceIssuer
from strata.report.watch_text import look_back_text, slice_lines, watch_text


def _text(name: str = "app", width: int = 100) -> str:
    traced = arrival(queue(16, 4, lambda n, s: 2432), lengths=((8192, 800),))
    slow = traced.summary.read.model_copy(update={"service_p99_ns": 31e6})
    traced = traced.model_copy(update={"summary": traced.summary.model_copy(update={"read": slow})})
    who = issuer(name=name, kind="container", group=f"/system.slice/docker-{'a' * 64}.scope")
    seen = observed(disk(1644, 15.9, 1.0), [traced], [who])
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


@pytest.mark.parametrize("width", [80, 120, 200])
def test_no_figure_is_lost_in_a_narrow_terminal(width: int) -> None:
    """Two tables where one is too wide: demand, percentiles, kind and group are there at every width."""
    lines = _text(width=width).splitlines()
    assert all(len(line) <= width for line in lines[:-1])
    rows = [line.split() for line in lines if line.lstrip().startswith(("disk ", "layer "))]
    head = [word for row in rows if row[0] == "layer" for word in row]
    assert head.count("layer") == (1 if width == 200 else 2)
    assert {"busy", "demand", "p50", "p99", "size", "sequential"} <= set(head)
    said = " ".join(word for row in rows if row[0] == "disk" for word in row)
    for figure in ("608 µs", "9.73 ms", "31.0 ms", "8 KiB"):
        assert figure in said
    text = "\n".join(lines)
    assert "container" in text and f"…/docker-{'a' * 12}" in text
    assert "waits for storage" in text and "90 %" in text


def test_a_column_without_a_figure_is_not_shown_and_files_say_what_is_not_counted() -> None:
    seen = observed(disk(1644, 15.9, 1.0), issuers=[issuer(asked_bytes=10.0, asked_ios=1.0)])
    text = watch_text(told(seen), 200)
    assert "p50" not in text and "sequential" not in text and "demand" in text
    assert "system calls: not counted here" in text
    assert "not counted file system: most of its bytes pass" in text


def _kept(at_s: int, *issuers: object) -> Slice:
    return Slice.model_validate({
        "at_unix_ns": at_s * 10**9, "seconds": 10.0, "kind": VerdictKind.MEDIUM, "layer": "disk", "cause": Cause.MEDIUM,
        "confidence": 0.6, "headline": "full", "layers": (), "issuers": issuers,
    })  # fmt: skip


CONTAINER = SliceIssuer(label="postgres/100", kind="container", group=f"/system.slice/docker-{'a' * 64}.scope")


def test_slices_and_looks_back_say_who_issues_with_kind_and_group() -> None:
    lines = slice_lines(_kept(0, CONTAINER, SliceIssuer(label="fio/7", kind="process", group="/")), 200)
    assert f"issued by postgres/100 (container …/docker-{'a' * 64}.scope) and 1 more" in " ".join(lines)
    slices = (_kept(10, CONTAINER), _kept(20, SliceIssuer(label="qemu/9", kind="vm", group="/machine.slice")))
    back = LookBack(where="/mnt", from_unix_ns=0, to_unix_ns=30 * 10**9, slices=slices)
    text = look_back_text(back, 200)
    assert "postgres/100 (container" in text and "qemu/9 (vm /machine.slice)" in text
    four = _kept(10, *(SliceIssuer(label=f"a/{n}", kind="vm") for n in range(4)))
    assert "a/0 (vm), a/1 (vm) and 2 more" in look_back_text(back.model_copy(update={"slices": (four,)}), 200)


def test_a_line_that_has_labels_alone_is_still_read() -> None:
    """As rings of before have them; and what is written is read alike."""
    one = _kept(0, "fio/7")
    assert one.issuers == (SliceIssuer(label="fio/7"),)
    assert "issued by fio/7" in slice_lines(one, 100)[0] and "(" not in slice_lines(one, 100)[0]
    for kept in (one, _kept(0, CONTAINER)):
        assert Slice.model_validate_json(kept.model_dump_json(exclude_none=True)) == kept


def test_an_event_of_one_watching_is_said_with_its_layer() -> None:
    seen = observed(disk(1600, 16.0, 1.0))
    half = {name: (*v[:10], *(x and x / 2 for x in v[10:])) for name, v in seen.rates.items()}
    result = told(seen.model_copy(update={"rates": half}))
    assert {(e.layer, e.what, e.metric) for e in result.events} >= {("disk", "sda", "iops")}
    (iops,) = (e for e in result.events if e.metric == "iops")
    assert (iops.before, iops.after, iops.at_unix_ns) == (1600, 800, round(seen.bins[11] * 1e9))
    assert "disk · sda: I/Os per second from 1 600 to 800" in watch_text(result, 200).replace("\u202f", " ")
    assert told(seen).events == ()


def test_the_beginning_and_the_end_of_a_load_are_no_events() -> None:
    seen = observed(disk(1600, 16.0, 1.0))
    part = {
        n: (*(x and x / 1e3 for x in v[:6]), *v[6:14], *(x and x / 1e3 for x in v[14:])) for n, v in seen.rates.items()
    }
    assert told(seen.model_copy(update={"rates": part})).events == ()


def test_a_slice_says_which_nodes_are_sampled_no_more() -> None:
    one = Slice(
        at_unix_ns=0, seconds=10.0, kind=VerdictKind.MEDIUM, layer="disk", cause=Cause.MEDIUM, confidence=0.6,
        headline="full", layers=(), absent=("n1 (disk) after 5.00 s: cannot ask node n1: it died",),
    )  # fmt: skip
    assert slice_lines(one, 100)[-1].strip() == f"not seen · {one.absent[0]}"
    assert len(slice_lines(one.model_copy(update={"absent": ()}), 100)) == 1
