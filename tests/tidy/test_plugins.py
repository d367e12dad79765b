"""What lies in a folder is found: adding a counter, a probe or a law touches its own file, and pages that are made."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from strata import probes
from strata.analyse import laws
from strata.analyse.laws.page import laws_page
from strata.model import counters
from strata.model.counters import Readings, Scope
from strata.model.counters.catalogue import catalogue, families
from strata.model.counters.page import counters_page
from strata.model.figures import Table
from strata.model.plugins import modules

LAW = '''"""Every table has a name.

What it claims
    A table is called something.
Why it matters
    It is told apart by it.
Evidence
    Its name.
What rules it out
    Nothing.
Source
    This test.
"""

from strata.analyse.laws.base import flag

NAME, TITLE, ORDER = "named", "name of the table", 15
SAYS = "a table without a name"


def check(table):
    if not table.name:
        yield flag(None, "it has no name", "Give it one.", broken=True)
'''
COUNTER = '''"""Fans: how fast they turn."""

from strata.model.counters.counter import Counter, Over, Scope
from strata.model.series import SeriesKind

SPEED = Counter("fan_turns", "turns", SeriesKind.COUNTER, Scope.DEVICE, "turns of a fan", Over.MAX)
'''
PROBE = '''"""Fans."""

OF_NODE = True


def open_probe(scope):
    raise AssertionError
'''


@pytest.fixture
def lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    before = set(sys.modules)
    yield monkeypatch
    monkeypatch.undo()
    for name in set(sys.modules) - before:
        del sys.modules[name]
    for package in (laws, counters, probes):
        vars(package).pop("added", None)
    laws.laws.cache_clear()
    families.cache_clear()


def put(package: ModuleType, text: str, at: Path, patch: pytest.MonkeyPatch) -> None:
    """One more file in a folder, as somebody who adds to it would leave it."""
    folder = at / package.__name__
    folder.mkdir()
    (folder / "added.py").write_text(text)
    patch.setattr(package, "__path__", [*package.__path__, str(folder)])


def test_a_law_is_asked_told_and_on_its_page_because_it_lies_there(lie: pytest.MonkeyPatch, tmp_path: Path) -> None:
    put(laws, LAW, tmp_path, lie)
    laws.laws.cache_clear()
    assert [law.name for law in laws.laws()][:3] == ["little", "named", "rate"]
    (found,) = laws.check_table(Table(name="", rows=()))
    assert (found.law, found.title, found.broken) == ("named", "name of the table", True)
    page = laws_page()
    assert "| [named](#named) | a table without a name |" in page
    assert "### `named`" in page


def test_a_counter_is_in_the_catalogue_and_on_the_page_because_it_lies_there(
    lie: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    put(counters, COUNTER, tmp_path, lie)
    families.cache_clear()
    fan = catalogue()["fan_turns"]
    assert fan.scope is Scope.DEVICE
    assert Readings({"fan_turns{device=a}": 2.0, "fan_turns{device=b}": 3.0}).total(fan) == 3.0
    assert "| `fan_turns` | turns/s | device | max | turns of a fan |" in counters_page()


def test_a_counter_that_is_declared_twice_is_refused(lie: pytest.MonkeyPatch, tmp_path: Path) -> None:
    put(counters, COUNTER.replace("fan_turns", "net_bytes"), tmp_path, lie)
    families.cache_clear()
    with pytest.raises(ValueError, match="twice: net_bytes"):
        catalogue()


def test_a_probe_is_found_because_it_lies_there(lie: pytest.MonkeyPatch, tmp_path: Path) -> None:
    put(probes, PROBE, tmp_path, lie)
    (added,) = set(modules(probes, "open_probe")) - {sys.modules[f"strata.probes.{name}"] for name in probes.PROBES}
    assert (added.__name__, added.OF_NODE) == ("strata.probes.added", True)


def test_every_probe_makes_counters_of_the_catalogue_alone() -> None:
    """`Column` takes nothing else; here the other way round: what is declared is made by a probe's own words, or says
    itself where its probe finds it."""
    told = "".join(m.__doc__ or "" for m in modules(probes, "open_probe"))
    untold = {name for name, counter in catalogue().items() if name not in told and counter.source is None}
    assert untold == set()
