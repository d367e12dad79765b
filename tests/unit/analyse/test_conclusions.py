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
