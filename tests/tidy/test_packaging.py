"""What pip is told when it builds Strata: in a checkout, `strata[lab]` is the folder beside."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
METADATA = """Name: strata
Requires-Dist: numpy>=2.4,<3
Requires-Dist: strata-lab==0.1.0 ; extra == 'lab'
Provides-Extra: lab

# Strata
"""


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The backend over one that writes these metadata: maturin's own asks cargo."""

    def prepare_metadata_for_build_wheel(folder: str, _: object = None) -> str:
        (info := Path(folder, "strata-0.1.0.dist-info")).mkdir()
        (info / "METADATA").write_text(METADATA)
        return info.name

    hooks = ["build_editable", "build_sdist", "build_wheel"]
    maturin = ModuleType("maturin")
    vars(maturin).update(dict.fromkeys([*hooks, *(f"get_requires_for_{hook}" for hook in hooks)]))
    vars(maturin).update(prepare_metadata_for_build_wheel=prepare_metadata_for_build_wheel)
    monkeypatch.setitem(sys.modules, "maturin", maturin)
    spec = importlib.util.spec_from_file_location("backend", ROOT / "scripts" / "backend.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_in_a_checkout_the_extra_is_the_folder(backend: ModuleType, tmp_path: Path) -> None:
    info = backend.prepare_metadata_for_build_wheel(str(tmp_path))
    told = METADATA.replace("strata-lab==0.1.0", f"strata-lab @ {(ROOT / 'lab').as_uri()}")
    assert (tmp_path / info / "METADATA").read_text() == told


def test_in_an_sdist_it_is_the_version(backend: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "LAB", tmp_path / "lab")
    info = backend.prepare_metadata_for_build_wheel(str(tmp_path))
    assert (tmp_path / info / "METADATA").read_text() == METADATA
