"""The injections into stacks of several nodes; the self-test holds each to its word."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from strata_lab import inject
from strata_lab.client import measure
from strata_lab.down import down
from strata_lab.leftovers import leftovers
from strata_lab.truth import ProofCell
from strata_lab.up import up

CAUSES = ("redirected-path", "mirror-copies", "reordering", "hot-node")


@pytest.mark.ci
@pytest.mark.root
def test_the_cap_of_a_virtual_disk_holds_it_and_not_the_store_below() -> None:
    asked = inject.parse("qos-iops:severe")
    lab = up("vm-disks", f"i{os.getpid() % 10**8}", {"disks": "2", "data": "4m", "medium": "none"})
    try:
        asked.apply(lab)
        cell = ProofCell("store, served", "randread", "8k", 4, runtime="300ms")
        # 30 a second, and at first what the group lets through after a rest: a tenth of a second's worth.
        assert 0 < measure(lab, cell).iops < 60
        assert measure(lab, replace(cell, layer="store")).iops > 60
    finally:
        down(lab)
    assert leftovers(lab.name, lab.token) == ()


@pytest.mark.parametrize("cause", CAUSES)
def test_an_injection_is_harder_the_more_severe_it_is_called(cause: str) -> None:
    truth = inject.injection(cause)
    impact = [truth.impact[s] for s in ("mild", "marked", "severe")]
    assert impact == sorted(impact)
    assert truth.signals
