"""What follows from others' figures, and what does not: the sources' own, then the same ones changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from strata.analyse.conclusions import conclusions_of
from strata.app.checking import check_file
from strata.formats import read_table
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
    assert "Shown: requests of the other node go by way of the owner" in text
    assert "2 copies beyond the owner's: at least 3 in all" in text and "the rounding leaves 2 or 3" in text
    assert "writes 2.0 in place of 3.1" in text
    # Both conclusions of the text that the figures do not carry.
    assert "No gain was measured: 4 of 4 rows stand at the rate that was asked for" in text
    assert "2 copies put 1 on the wire of each byte that is written; write on the owner shows 2" in text


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
    assert redirected.at == "the owner" and "not where they say that the owner is" in redirected.says


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
    assert "one way more would be 1" in only(found, Cause.REDIRECTED).because
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
    assert "saturated at 16.4 GB/s, and no resource in these figures is full" in large.says
    assert large.numbers["used.wire"] == pytest.approx(16.4 / (3 * 54 / 8), rel=0.01)
    assert "the use of the server's processors" in large.missing


def test_the_mixed_load_is_not_given_what_was_measured_of_the_reads() -> None:
    """Its server is not printed: "similar to read" is likely, and is said as that."""
    found = of_series(smb(), "random 60/40, 8 KiB")
    assert found is not None and (found.cause, found.standing) == (None, Standing.OPEN)
    assert f"the server's processors are full in {READS}, and not printed here" in found.because


def test_the_resource_that_a_text_names_has_to_be_full_in_its_figures() -> None:
    text = said(DATA / "smb.csv")
    assert "named as the limit · large reads reach the network" in text and "in use for 81.0 %" in text
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
    """Threads that poll keep processors busy from the first row on, and the rate doubles all the same."""
    assert of_series(scaled([60e3, 120e3, 238e3, 470e3, 930e3], [99.0] * 5, ROOM), READS) is None


def test_a_processor_that_was_full_long_before_is_not_shown_to_limit() -> None:
    found = of_series(scaled([60e3, 110e3, 200e3, 270e3, 350e3], [99, 99, 99, 99, 99], ROOM), READS)
    assert found is not None and found.standing is Standing.SUGGESTED
    assert "not what limits alone" in found.because


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
