"""Every parser under mutations that know its texts: a fixed number of executions; `make fuzz` runs for longer."""

from __future__ import annotations

import random

import parsers
import pytest
from tiers import rest_in_ci

from strata.formats.results import formats

EXECUTIONS = 150
TARGETS = {one.name: one for one in parsers.targets()}


@pytest.mark.parametrize("name", rest_in_ci(TARGETS, list(TARGETS)[::7]))
def test_what_is_damaged_is_read_or_refused(name: str) -> None:
    found = parsers.fuzzed(TARGETS[name], random.Random(name), times=EXECUTIONS)
    assert not found.crashes, found.crashes[0][1]
    assert found.executions == EXECUTIONS
    assert found.understood, "mutations that spoil everything try only the first lines of a parser"


def test_every_format_has_a_target_with_seeds() -> None:
    assert {one.name for one in formats()} <= set(TARGETS)
    assert all(one.seeds for one in TARGETS.values())


def test_a_parser_that_trips_is_found() -> None:
    """The canary."""

    def trips(content: bytes) -> None:
        if b"9" * 50 in content:
            raise ZeroDivisionError

    seeds = TARGETS["fio-json"].seeds
    assert parsers.fuzzed(parsers.Target("canary", seeds, trips), random.Random(1), times=500).crashes
