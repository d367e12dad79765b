"""What every test may rely on: a store and a state directory of its own, and honest skipping."""

from __future__ import annotations

import gc
import os
import shutil
import sys
from collections.abc import Generator, Iterator
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.order import shared_by

# A machine that pauses is no fault of the code: nothing is judged by how long one example took.
settings.register_profile("strata", parent=settings.default, deadline=None)
settings.load_profile("strata")

# What pytest makes of a test file is kept also where PYTHONDONTWRITEBYTECODE is set (containers): each worker would
# compile all of them anew. Children are not told.
sys.dont_write_bytecode = False

_states = count()

TOOLS = {
    "peer": ("nbdkit", "qemu-nbd", "qemu-io", "nbdcopy", "fio"),
    "browser": ("chromium-headless-shell",),
    "postgres": ("initdb", "postgres", "setpriv"),
    "root": ("losetup", "mkfs.ext4"),
    "ssh": ("sshd", "ssh", "ssh-keygen"),
}


def _missing(marker: str) -> list[str]:
    # Debian keeps the programs of a server beside those of its other versions.
    versions = map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin")))
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin", *versions])
    missing = [tool for tool in TOOLS[marker] if shutil.which(tool, path=path) is None]
    if marker == "root" and os.geteuid() != 0:
        missing.append("root rights")
    if marker == "postgres" and find_spec("psycopg") is None:
        missing.append("psycopg")
    return missing


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what cannot run here and say so; with STRATA_REQUIRE=all a missing tool is a failure."""
    wanted = config.getoption("-m") or ""
    for item in items:
        if item.get_closest_marker("slow") and "slow" not in wanted:
            item.add_marker(pytest.mark.skip(reason="not in the everyday suite: pytest -m slow"))
        if item.get_closest_marker("ci") and "ci" not in wanted and os.environ.get("STRATA_SUITE") != "whole":
            item.add_marker(pytest.mark.skip(reason="not in the everyday suite: STRATA_SUITE=whole, or pytest -m ci"))
        for marker in TOOLS:
            if item.get_closest_marker(marker) and (missing := _missing(marker)):
                if os.environ.get("STRATA_REQUIRE") == "all":
                    raise pytest.UsageError(f"{item.nodeid} needs {', '.join(missing)} and STRATA_REQUIRE=all")
                item.add_marker(pytest.mark.skip(reason=f"needs {', '.join(missing)}"))


@pytest.hookimpl(wrapper=True, tryfirst=True, specname="pytest_collection_modifyitems")
def pytest_order_of_workers(items: list[pytest.Item]) -> Generator[None]:
    """Where workers share the tests (`tests/order.py`)."""
    yield
    if workers := int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "0")):
        root = Path(__file__).parent
        kinds = [(item.path.relative_to(root).parts[0], item.path) for item in items]
        first = [item.get_closest_marker("first") is not None for item in items]
        items[:] = [items[n] for n in shared_by(workers, kinds, first)]


def pytest_collection_finish() -> None:
    """Thousands of collected tests live until the end: not looked through again each time that garbage is collected."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test sees or touches the user's store."""
    # Numbered here: `mktemp` would look through all that thousands of tests have left to find the next number.
    state = tmp_path_factory.mktemp(f"state-{next(_states)}", numbered=False)
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(state))
    for name in ("STRATA_STORE", "STRATA_STATE_DIR", "NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    return state


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A headless browser for all tests of a file."""
    # Here: what drives it takes long to load.
    from browser_view import browser

    with browser() as one:
        yield one
