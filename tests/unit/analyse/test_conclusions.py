"""What follows from others' figures, and what does not: the sources' own, then the same ones changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from strata.analyse.conclusions import conclusions_of
from strata.analyse.laws import check_table
from strata.app.check import check_file
from strata.formats.table import read_table
from strata.model.figures import Conclusion, Standing
from strata.model.finding import Cause
from strata.report.check_text import check_text

DATA = Path(__file__).parents[2] / "data" / "laws"


def said(path: Path) -> str:
    return " ".join(check_text(check_file(path), 100).replace("\u202f", " ").split())


def concluded(text: str) -> tuple[Conclusion, ...]:
    return conclusions_of(read_table(text, "t"))


def only(found: tuple[Conclusion, ...], cause: Cause) -> Conclusion:
    (one,) = [c for c in found if c.cause is cause]
    return one


# --- the owner and the other node ---

OWNER = 'name,owner,pattern,size,"rate [MiB/s, exact]","wire.total [MiB/s, exact]"\n'


def traffic(read_here: float, read_there: float, copies: float) -> str:
    """Bytes on the wire as they are for so many copies beyond the owner's."""
    rows = [
        f"a,yes,sequential read,1MiB,100,{100 * read_here:g}",
        f"b,no,sequential read,1MiB,100,{100 * read_there:g}",
        f"c,yes,sequential write,1MiB,100,{100 * (copies + read_here):g}",
        f"d,no,sequential write,1MiB,100,{100 * (copies + read_there):g}",
    ]
    return OWNER + "\n".join(rows) + "\n"


def test_the_owner_and_the_copies_are_solved_from_the_bytes() -> None:
    text = said(DATA / "traffic.csv")
    assert "Shown: requests of the other node are redirected through the owner" in text
    assert "2 copies beyond the owner's: at least 3 in all" in text and "the rounding leaves 2 or 3" in text
    assert "writes 2.0 in place of 3.1" in text
    # Both conclusions of the text that the figures do not carry.
    assert "No gain was measured: 4 of 4 rows are at the requested rate" in text
    assert "2 copies put 1 on the wire for each byte written; write on the owner shows 2" in text


@pytest.mark.parametrize("copies", [0, 1, 2, 3])
@pytest.mark.parametrize("heads", [0.0, 0.04])
def test_any_number_of_copies_is_found(copies: int, heads: float) -> None:
    found = concluded(traffic(heads, 1 + heads, copies))
    assert only(found, Cause.REDIRECTED).at == "the other node"
    solved = next(c for c in found if "copies_beyond" in c.numbers)
    assert (solved.numbers["copies_beyond"], solved.standing) == (copies, Standing.SHOWN)
    assert any(c.cause is Cause.MIRROR_COPIES for c in found) is (copies > 0)


def test_the_figures_tell_who_owns_the_data_not_the_label() -> None:
    found = concluded(traffic(1.0, 0.0, 1))
    redirected = only(found, Cause.REDIRECTED)
    assert redirected.at == "the owner" and "not on the node that is labelled the owner" in redirected.says


def test_local_reads_on_both_nodes_are_not_redirected() -> None:
    assert [c for c in concluded(traffic(0.0, 0.0, 1)) if c.cause is Cause.REDIRECTED] == []


def test_reads_that_cross_on_both_nodes_name_no_owner() -> None:
    found = concluded(traffic(1.0, 1.0, 1))
    assert not any(c.cause is Cause.REDIRECTED for c in found)
    assert any(c.standing is Standing.OPEN for c in found)


def test_without_reads_it_cannot_be_told_whose_requests_are_redirected() -> None:
    text = OWNER + "c,yes,sequential write,1MiB,100,200\nd,no,sequential write,1MiB,100,300\n"
    found = concluded(text)
    assert found[0].standing is Standing.OPEN and "reads on either node" in found[0].missing[0]
    assert only(found, Cause.MIRROR_COPIES).standing is Standing.SUGGESTED


def test_writes_that_no_number_of_copies_explains_are_said() -> None:
    text = traffic(0.0, 1.0, 2).replace("d,no,sequential write,1MiB,100,300", "d,no,sequential write,1MiB,100,520")
    found = concluded(text)
    assert "one extra crossing would be 1" in only(found, Cause.REDIRECTED).because
    assert next(c for c in found if "copies_beyond" in c.numbers).standing is Standing.OPEN


# --- one layer under growing load ---

READS = "random read, 8 KiB"
LARGE = "sequential read, 512 KiB"


def smb() -> str:
    return (DATA / "smb.csv").read_text()


def of_series(text: str, series: str) -> Conclusion | None:
    found = [c for c in concluded(text) if c.asked == "scaled" and c.says.startswith(f"{series}:")]
    assert len(found) <= 1
    return found[0] if found else None


def test_small_reads_fill_the_processors_of_the_server_and_large_ones_nothing_that_is_printed() -> None:
    for series in ("random read, 1 KiB", READS):
        found = of_series(smb(), series)
        assert found is not None
        assert (found.cause, found.at, found.standing) == (Cause.PROCESSORS, "server", Standing.SHOWN)
    large = of_series(smb(), LARGE)
    assert large is not None and (large.cause, large.standing) == (None, Standing.OPEN)
    assert "saturated at 16.4 GB/s, and no resource in these figures is saturated" in large.says
    assert large.numbers["used.wire"] == pytest.approx(16.4 / (3 * 54 / 8), rel=0.01)
    assert "the utilisation of the server's CPUs" in large.missing


def test_the_mixed_load_is_not_given_what_was_measured_of_the_reads() -> None:
    """Its server is not printed: "similar to read" is likely, and is said as that."""
    found = of_series(smb(), "random 60/40, 8 KiB")
    assert found is not None and (found.cause, found.standing) == (None, Standing.OPEN)
    assert f"the server's CPUs are saturated in {READS}, and not printed here" in found.because


def test_the_resource_that_a_text_names_has_to_be_full_in_its_figures() -> None:
    text = said(DATA / "smb.csv")
    assert "named as the limit · large reads reach the network" in text and "81.0 %" in text
    assert "named as the limit · small reads" not in text


@pytest.mark.parametrize(("link", "cause"), [("5.5 GB/s", Cause.WIRE_BANDWIDTH), ("54 Gb/s", None), ("", None)])
def test_the_wire_is_named_only_where_its_rate_is_known_and_reached(link: str, cause: Cause | None) -> None:
    number, _, unit = link.partition(" ")
    text = smb().replace("# link [Gb/s] = 54\n", f"# link [{unit}] = {number}\n" if link else "")
    found = of_series(text, LARGE)
    assert found is not None and found.cause is cause
    assert (found.standing is Standing.SHOWN) is (cause is not None)


def scaled(rates: list[float], server: list[float], client: list[float]) -> str:
    rows = [
        f"{2**i},{2**i * 20},random read,8192,{x:g},{s:g},{c:g}"
        for i, (x, s, c) in enumerate(zip(rates, server, client, strict=True))
    ]
    return "threads,outstanding,pattern,size [B],iops,busy.server [%],busy [%]\n" + "\n".join(rows) + "\n"


BENT = [60e3, 118e3, 220e3, 330e3, 400e3]
RISES = [12, 24, 46, 82, 99]
ROOM = [8, 12, 20, 35, 50]


@pytest.mark.parametrize("noise", [-0.04, 0.0, 0.04])
def test_swapping_the_two_sides_swaps_the_cause(noise: float) -> None:
    rates = [x * (1 + noise * (-1) ** i) for i, x in enumerate(BENT)]
    for server, client, cause in (
        (RISES, ROOM, Cause.PROCESSORS),
        (ROOM, RISES, Cause.CLIENT_PROCESSORS),
    ):
        found = of_series(scaled(rates, [*map(float, server)], [*map(float, client)]), READS)
        assert found is not None and found.cause is cause


def test_what_still_grows_is_not_limited_by_what_is_busy() -> None:
    """Threads that poll keep CPUs busy from the first row on, and the rate doubles all the same."""
    assert of_series(scaled([60e3, 120e3, 238e3, 470e3, 930e3], [99.0] * 5, ROOM), READS) is None


def test_a_processor_that_was_full_long_before_is_not_shown_to_limit() -> None:
    found = of_series(scaled([60e3, 110e3, 200e3, 270e3, 350e3], [99, 99, 99, 99, 99], ROOM), READS)
    assert found is not None and found.standing is Standing.SUGGESTED
    assert "not the only limit" in found.because


def test_without_shares_nothing_is_named() -> None:
    text = "threads,pattern,size [B],iops\n" + "".join(
        f"{2**i},random read,8192,{x:g}\n" for i, x in enumerate([100e3, 180e3, 210e3, 212e3])
    )
    found = of_series(text, READS)
    assert found is not None and found.cause is None and found.standing is Standing.OPEN
    assert "saturated at 212" in found.says and len(found.missing) == 3
    assert found.numbers["knee"] == pytest.approx(2.12, rel=1e-3)


@pytest.mark.parametrize("text", ["1,100\n2,190\n", "4,100\n4,101\n4,99\n", "1,100\n2,190\n1.5,150\n"])
def test_two_points_repetitions_and_a_load_that_hardly_grows_say_nothing_of_a_knee(text: str) -> None:
    assert concluded("threads,iops\n" + text) == ()


# --- nodes that were added ---


def nodes(*rows: str, noise: str = "0") -> str:
    head = f"# scaled = nodes\n# count.before = 4\n# count.after = 8\n# noise [%] = {noise}\n"
    return head + "role,name,of,before,after,ratio\n" + "".join(f"{r}\n" for r in rows)


def part_of(text: str, name: str) -> float:
    return next(c.numbers[f"part.{name}"] for c in concluded(text) if f"part.{name}" in c.numbers)


def test_what_doubled_and_what_did_not() -> None:
    doubled, rest = concluded((DATA / "nodes.csv").read_text())
    assert (doubled.cause, set(doubled.rows)) == (Cause.FEW_NODES, {"IOPS of the databases", "latency of reads"})
    assert rest.cause is None and rest.says.endswith("did not become twice as fast")
    parts = {name.partition(".")[2]: round(p, 3) for name, p in rest.numbers.items()}
    assert parts["database creation, min"] == 0.208
    assert parts["three duplications, min"] == 0.272
    assert parts["checksum, min"] == 0.035
    assert "it may be noise" in rest.because.partition("checksum, min")[2]


def test_performance_doubled_does_not_follow_from_durations_that_fell_by_a_tenth() -> None:
    source = (DATA / "nodes.csv").read_text().replace("said,the IOPS jumped,rate", "said,performance doubled,")
    (flag,) = check_table(read_table(source, "t"))
    assert (flag.law, flag.broken) == ("multiplied", False)
    assert "database creation, min 1.12 times" in flag.reason and "2 of 7 figures are" in flag.reason
    durations = (
        source.replace("IOPS of the databases,rate", "IOPS of the databases,").replace("~0.5", "").replace("~0.8", "")
    )
    assert [f.broken for f in check_table(read_table(durations, "t"))] == [True]


@pytest.mark.parametrize("part", [0.0, 0.25, 0.5, 1.0])
@pytest.mark.parametrize("factor", [2, 3, 8])
def test_the_part_is_solved_for_any_factor_and_rates_are_times_turned_round(part: float, factor: int) -> None:
    ratio = 1 - part + part / factor
    rows = (f",a,time,1000,{1000 * ratio:.3f},", f",b,rate,1000,{1000 / ratio:.3f},")
    text = nodes(*rows).replace("after = 8", f"after = {4 * factor}")
    assert part_of(text, "a") == pytest.approx(part, abs=2e-3)
    assert part_of(text, "b") == pytest.approx(part, abs=2e-3)


def test_with_noise_nearly_all_is_not_told_from_all() -> None:
    text = nodes(",a,time,100,60,", noise="10")
    (found,) = concluded(text)
    assert found.standing is Standing.OPEN and found.cause is None


@pytest.mark.parametrize("line", ["# count.before = 4\n", "# count.after = 8\n", "time"])
def test_without_the_counts_or_the_sense_of_a_figure_nothing_is_said(line: str) -> None:
    assert concluded(nodes(",a,time,100,60,").replace(line, "")) == ()


# --- who answered ---

PERCENTILES = (DATA / "percentiles.csv").read_text()


def answered(text: str) -> dict[Cause | None, Standing]:
    return {c.cause: c.standing for c in concluded(text) if c.asked == "answered"}


def test_the_cached_run_says_what_answered_and_that_its_mean_is_no_capacity() -> None:
    text = said(DATA / "percentiles.csv")
    assert "Shown: percentiles.csv: a cache answered most I/Os, in 6.00 µs" in text
    assert "0.01 % of the I/Os took 254 ms to 983 ms each and make up at least 48 % of the time" in text
    assert "the mean of 52.0 µs is no capacity" in text
    assert "a device that stalls, a flush, or a write cache that drains" in text
    assert "caching off was planned, on was run: a cache answers" in said(DATA / "plan.csv")
    assert answered(PERCENTILES) == {Cause.CACHE_FLATTERS: Standing.SHOWN, Cause.STALLS: Standing.SUGGESTED}


@pytest.mark.parametrize("stated", ["# caching = off\n", ""])
def test_what_the_run_does_not_state_is_not_taken_for_shown(stated: str) -> None:
    found = answered(PERCENTILES.replace("# caching = on\n", stated))
    assert found == {Cause.CACHE_FLATTERS: Standing.SUGGESTED, Cause.STALLS: Standing.SUGGESTED}


def test_without_the_mean_nothing_is_said_of_where_the_time_passed() -> None:
    assert answered(PERCENTILES.replace("# time.mean [ms] = 0.052\n", "")) == {Cause.CACHE_FLATTERS: Standing.SHOWN}


@pytest.mark.parametrize(
    ("p50", "p99", "p99_9", "mean"), [(0.08, 0.12, 0.3, 0.085), (5, 19, 60, 6), (5, 40, 400, 9), (0.3, 1, 40, 0.5)]
)
def test_a_device_with_its_usual_tail_is_left_alone(p50: float, p99: float, p99_9: float, mean: float) -> None:
    head = "time.p50 [ms],time.p99 [ms],time.p99.9 [ms],time.mean [ms],caching\n"
    assert answered(f"{head}{p50},{p99},{p99_9},{mean},off\n") == {}
    assert answered(f"{head}{p50},{p99},{p99_9},{mean},on\n") == {None: Standing.OPEN}


def test_a_table_of_something_else_is_given_no_conclusion() -> None:
    for name in ("cpu", "guidance", "matrix", "nearest", "nics", "pieces", "progress", "plan", "trace", "diskspd"):
        assert concluded((DATA / f"{name}.csv").read_text()) == ()


def test_a_row_that_breaks_a_law_is_not_concluded_from() -> None:
    text = scaled(BENT, [*map(float, RISES)], [*map(float, ROOM)])
    assert of_series(text.replace(",99,", ",990,"), READS) is not None
    found = of_series(text.replace(",99,", ",990,"), READS)
    assert found is not None and found.cause is None


def test_an_engine_without_storage_is_not_called_a_cache(tmp_path: Path) -> None:
    result, path = (DATA / "fio.json").read_text(), tmp_path / "fio.json"
    (found,) = check_file(DATA / "fio.json").conclusions
    assert (found.cause, found.rows) == (Cause.CACHE_FLATTERS, ("one-at-a-time",))
    path.write_text(result.replace('"ioengine": "psync"', '"ioengine": "null"'))
    assert check_file(path).conclusions == ()
