"""What a newcomer types is understood, or answered with what to type; help and completion say what there is."""

from __future__ import annotations

import re

import pytest

from strata.app import names
from strata.cli.examples import EXAMPLES


@pytest.mark.parametrize("command", ["", "measure", "lab", "lab up"])
def test_h_is_help_everywhere_and_ends_with_two_examples(strata, command: str) -> None:
    short, long = strata(*command.split(), "-h"), strata(*command.split(), "--help")
    assert (short.returncode, short.stderr) == (0, "")
    assert short.stdout == long.stdout
    lines = short.stdout.rstrip().splitlines()
    assert lines[-5] == "Examples:"
    assert (lines[-3].strip(), lines[-1].strip()) == tuple(line for line, _ in EXAMPLES[command])


def test_the_options_of_measure_are_in_groups(strata) -> None:
    said = strata("measure", "-h").stdout
    headings = re.findall(r"^(\S.*):$", said, re.M)
    for heading in ("What to measure", "How much, and what is left of it", "When to stop", "Output"):
        assert heading in headings
    assert "Caches and durability" in headings and "Options" not in headings


@pytest.mark.parametrize(
    ("words", "there"),
    [
        (("diagnose", "-h"), (*names.demos(), *names.profiles())),
        (("measure", "-h"), names.matrices()),
        (("lab", "up", "-h"), names.stacks()),
        (("lab", "inject", "-h"), names.injections()),
    ],
)
def test_help_lists_the_names_that_can_be_asked_for(strata, words: tuple[str, ...], there: tuple[str, ...]) -> None:
    said = re.sub(r"-\n\s+", "-", strata(*words).stdout)
    assert len(there) >= 3
    assert [name for name in there if not re.search(rf"\b{name}\b", said)] == []


def test_no_command_is_answered_with_the_help_and_no_error(strata) -> None:
    done = strata()
    assert done.returncode == 2
    assert done.stderr.startswith("Usage: ") and "hint" not in done.stderr
