"""A release changes the version wherever it is said; what it is made of is where it is looked for."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import manual
import pytest
import release
import yaml

import packages
import strata

ROOT = Path(__file__).resolve().parents[2]


def test_a_release_finds_every_place_that_says_the_version(tmp_path: Path) -> None:
    for name in release.PLACES:
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        shutil.copy(ROOT / name, tmp_path / name)
    release.renumber(tmp_path, strata.__version__, "9.8.7")
    said = {name: (tmp_path / name).read_text().count("9.8.7") for name in release.PLACES}
    assert said == {name: len(patterns) for name, patterns in release.PLACES.items()}
    # Nor is it said anywhere else: a number that a release forgets.
    words = rf"(?:version|strata)\w*\s*=+\s*[\"']?{re.escape(strata.__version__)}\b"
    tracked = subprocess.run(["git", "-C", str(ROOT), "ls-files", "*.toml", "*.py", "*.yaml"], capture_output=True,
                             text=True, check=True).stdout.split()  # fmt: skip
    others = [n for n in tracked if n not in release.PLACES and not n.startswith("tests/")
              and re.search(words, (ROOT / n).read_text())]  # fmt: skip
    assert others == []


def test_a_place_that_says_another_version_ends_the_release(tmp_path: Path) -> None:
    for name in release.PLACES:
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        shutil.copy(ROOT / name, tmp_path / name)
    with pytest.raises(SystemExit, match=r"does not say 0\.0\.9 once"):
        release.renumber(tmp_path, "0.0.9", "0.1.0")


def test_a_release_is_never_older_than_what_is_there() -> None:
    assert "is not older" in release.refused("0.2.0", "0.1.9")
    assert "is not older" in release.refused("0.10.0", "0.9.0")


def test_notes_have_the_changes_the_files_and_their_hashes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "CHANGELOG.md").write_text(
        "# x\n\n## Strata 0.2.0 (2026-12-01)\n\n- new\n\n## Strata 0.1.0 (x)\n\n- old\n"
    )
    (tmp_path / "SHA256SUMS").write_text("ab12  strata-0.2.0-cp311-abi3-linux.whl\ncd34  strata_0.2.0_amd64.deb\n")
    monkeypatch.setattr(release, "ROOT", tmp_path)
    text = Path(release.notes(tmp_path, "0.2.0")).read_text()
    assert text.startswith("## Strata 0.2.0 (2026-12-01)\n\n- new\n") and "old" not in text
    assert "- `strata_0.2.0_amd64.deb`: apt" in text and "cd34  strata_0.2.0_amd64.deb" in text


def test_deb_and_rpm_take_what_the_manual_writes_and_the_image_is_the_containerfile() -> None:
    text = (ROOT / "packaging" / "nfpm.yaml").read_text()
    taken = {one.get("src") for one in yaml.safe_load(text)["contents"]}
    assert {f"root/usr/share/{place}" for place in manual.PLACES.values()} <= taken
    assert set(re.findall(r"\$\{STRATA_(\w+)\}", text)) == {"ARCH", "VERSION", "RELEASE", "PYTHON"}
    file = (ROOT / "packaging" / "Containerfile").read_text()
    made = {key: value for key, value in packages.CONFIG if not value.startswith("PATH=")}
    assert f'ENTRYPOINT ["{made["entrypoint"]}"]' in file and f'CMD ["{made["cmd"]}"]' in file
    assert f"ENV {made['env']}\n" in file and f"VOLUME {made['volume']}\n" in file
    assert f"WORKDIR {made['workingdir']}\n" in file


def test_everything_that_builds_is_in_a_hashed_lock() -> None:
    lock = (ROOT / "requirements" / "build.lock").read_text()
    for name in ("maturin", "ziglang", "hatchling", "wheel", "cyclonedx-bom"):
        assert re.search(rf"^{name}==", lock, re.M)
    bundle = (ROOT / "requirements" / "bundle.lock").read_text()
    run = (ROOT / "requirements" / "run.lock").read_text()
    pins = re.findall(r"^(\S+==\S+)", bundle, re.M)
    assert len(pins) > 20 and [pin for pin in pins if pin not in run] == []
