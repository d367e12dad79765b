"""What the import takes fio's words for, against what the installed fio does with them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from tiers import rest_in_ci

from strata.formats.results import Source, read_result

pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="needs fio")


@pytest.mark.parametrize("base", [[], ["--kb_base=1000"]], ids=["1024", "1000"])
@pytest.mark.parametrize(
    "size", rest_in_ci(["2MiB", "2M", "2MB", "2m", "300KiB", "300kb", "700000"], ["2MiB", "2m", "300kb"])
)
def test_a_size_is_what_fio_reads(tmp_path: Path, size: str, base: list[str]) -> None:
    words = ["fio", "--name=a", *base, f"--filename={tmp_path}/x", f"--size={size}", "--ioengine=null", "--rw=read"]
    done = subprocess.run(
        [*words, "--bs=500b", "--output-format=json"], capture_output=True, check=True, timeout=60, cwd=tmp_path
    )
    found = read_result(Source("x", len(done.stdout), lambda: iter([done.stdout])))
    moved = found.cells[0].sides["read"].base("bytes")
    assert moved is not None
    assert 0 <= found.settings["file_bytes"] - moved < 500
