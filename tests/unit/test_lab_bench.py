"""What the bench of the labs reads and adds up, on figures that are known."""

from __future__ import annotations

import pytest
from labbench.measuring import rows
from labbench.reading import Reading, between, parse_sent
from labbench.rows import Round, table

from strata.model.stack import Layer

DEV = """Inter-|   Receive                        |  Transmit
 face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier compressed
    lo: 9000 10 0 0 0 0 0 0 9000 10 0 0 0 0 0 0
  eth0: 1000 10 0 0 0 0 0 0  300  4 0 0 0 0 0 0
  eth1:   50  1 0 0 0 0 0 0   20  1 0 0 0 0 0 0
"""


def test_what_was_sent_is_summed_over_cards_and_without_the_loopback() -> None:
    assert parse_sent(DEV) == 320


def test_a_process_that_began_meanwhile_counts_from_its_start() -> None:
    first = Reading(1.0, {"n1": 100}, 10, {7: 2.0}, 5.0, 9.0)
    last = Reading(3.0, {"n1": 400}, 60, {7: 2.5, 8: 0.25}, 6.0, 12.0)
    spent = between(first, last)
    assert (spent.seconds, spent.sent, spent.media_bytes, spent.path_s) == (2.0, {"n1": 300}, 50, 0.75)
    assert (spent.kernel_s, spent.busy_s, spent.sent_by_all) == (1.0, 3.0, 300)


def a_round(iops: float, sent: float) -> Round:
    return Round(iops, 1e6, 2e6, {"n1": sent}, sent, 1.0, 10.0, 5.0, 1.0, 1000, 0.5)


def test_a_layer_is_held_against_the_one_below_round_by_round() -> None:
    layers = (Layer(name="disk", endpoint="null:"), Layer(name="share", endpoint="null:", on=("disk",)))
    cells = {
        "disk": [a_round(1000, 0.0), a_round(2000, 0.0), a_round(4000, 0.0)],
        "share": [a_round(500, 1.0), a_round(1000, 1.0), a_round(2000, 1.0)],
    }
    disk, share = rows("lab", "reads", cells, layers)
    assert disk.against == {}
    assert share.against["disk"].value == pytest.approx(0.5)
    assert share.against["disk"].n == 3
    assert share.sent_by_all.value == pytest.approx(1.0)
    text = table([disk, share])
    assert "0.50 ±0.00 × disk" in text
    assert "n1 1.00" in text
