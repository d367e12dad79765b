"""A release changes the version wherever it is said; what it is made of is where it is looked for."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import manual
import pytest
import release
import same_packages
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


@pytest.fixture
def throw_away(tmp_path: Path) -> Iterator[Path]:
    """A clone of what is committed, with the release's own script as it is here, and an origin that would be seen."""
    clone, origin = tmp_path / "clone", tmp_path / "origin.git"
    for words in (["clone", "--quiet", "--bare", "--shared", str(ROOT), str(origin)],
                  ["clone", "--quiet", "--shared", str(origin), str(clone)]):  # fmt: skip
        subprocess.run(["git", *words], check=True)
    yield clone
    # Whatever was released stays where it was done.
    assert said(origin, "tag", "--list", "v9.8.*") == ""
    assert said(origin, "log", "--all", "--format=%s", "--grep=^Strata 9.8.7$") == ""


def said(clone: Path, *words: str) -> str:
    """What git prints."""
    return subprocess.run(["git", "-C", str(clone), *words], check=True, capture_output=True, text=True).stdout.strip()


RELEASES = """
import sys
from pathlib import Path
import release
release.ROOT = Path(sys.argv[1])
sys.exit(release.main(sys.argv[2:]))
"""


def released(clone: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The whole of it, without a network: in a namespace of its own nothing but it can be reached."""
    apart = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--net"]
    who = {f"GIT_{role}_{what}": "x@localhost" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    argv = [*apart, sys.executable, "-c", RELEASES, str(clone), *words]
    environment = os.environ | who | {"PYTHONPATH": str(ROOT / "scripts")}
    return subprocess.run(argv, capture_output=True, text=True, check=False, env=environment)


@pytest.mark.ci
def test_a_release_is_a_commit_and_a_tag_and_reaches_nobody(throw_away: Path) -> None:
    before = said(throw_away, "rev-parse", "HEAD")
    fragments = {path.name for path in (throw_away / "changelog.d").glob("20*.md")}
    done = released(throw_away, "9.8.7")
    assert done.returncode == 0, done.stderr
    assert "v9.8.7 is committed and tagged here" in done.stdout
    assert said(throw_away, "log", "--format=%s %P", "-1") == f"Strata 9.8.7 {before}"
    assert said(throw_away, "cat-file", "-t", "v9.8.7") == "tag"
    assert said(throw_away, "rev-parse", "v9.8.7^{commit}") == said(throw_away, "rev-parse", "HEAD")
    assert said(throw_away, "status", "--porcelain") == ""
    # The numbers, our own crates in the lock, and the fragments as notes; nothing else.
    changed = set(said(throw_away, "diff", "--name-only", before, "HEAD").splitlines())
    assert changed == {*release.PLACES, "Cargo.lock", "CHANGELOG.md", *(f"changelog.d/{name}" for name in fragments)}
    assert not list((throw_away / "changelog.d").glob("20*.md"))
    lock = tomllib.loads((throw_away / "Cargo.lock").read_text())["package"]
    ours = {one["version"] for one in lock if "source" not in one and one["name"].startswith("strata")}
    assert ours == {"9.8.7"}
    (throw_away / "dist").mkdir()
    (throw_away / "dist" / "SHA256SUMS").write_text("ab12  strata_9.8.7_amd64.deb\n")
    done = released(throw_away, "--notes")
    assert done.returncode == 0, done.stderr
    told = (throw_away / "dist" / "NOTES.md").read_text()
    assert told.startswith("## Strata 9.8.7 ") and told.count("\n- ") > len(fragments)
    # Once and no more; nor a word that is no version, nor over work that is not committed.
    for words, status, why in (
        (["9.8.7"], 1, "9.8.7 is not older"), (["next"], 2, "needs its version"), ([], 2, "needs its version"),
    ):  # fmt: skip
        done = released(throw_away, *words)
        assert (done.returncode, why in done.stderr) == (status, True), done.stderr
    (throw_away / "README.md").write_text("begun\n")
    done = released(throw_away, "9.8.8")
    assert done.returncode == 1 and "changes that are not committed" in done.stderr
    assert said(throw_away, "tag", "--list", "v9.8.*") == "v9.8.7"


def test_other_bytes_of_one_commit_are_named_and_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(same_packages, "ROOT", tmp_path)
    whl, deb = (hashlib.sha256(text).hexdigest() for text in (b"wheel", b"deb"))
    lines = [f"{whl}  strata.whl\n", f"{deb}  strata.deb\n"]
    for folder, image in (("dist", "ef56"), ("other", "0078")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "strata.whl").write_bytes(b"wheel")
        (tmp_path / folder / "strata.deb").write_bytes(b"deb")
        (tmp_path / folder / "SHA256SUMS").write_text("".join([*lines, f"{image}  strata.oci.tar\n"]))
    other = tmp_path / "other" / "SHA256SUMS"
    assert same_packages.main([str(other)]) == 0
    assert capsys.readouterr().out == "the same bytes twice: strata.whl, strata.deb\n"
    for name in ("strata.whl", "strata.deb"):
        # Of another build its sums may be all there is.
        (tmp_path / "other" / name).unlink()
    for changed, said in (
        ([lines[0], "cd35  strata.deb\n"], f"strata.deb: {deb} in"),
        (lines[1:], f"strata.whl: {whl} in"),
        ([*lines, "aa11  strata.rpm\n"], "strata.rpm: not there in"),
    ):
        other.write_text("".join(changed))
        assert same_packages.main([str(other)]) == 1
        assert f"error: {said} {tmp_path / 'dist'}" in (told := capsys.readouterr().err) and told.count("error: ") == 1
    assert same_packages.main([str(tmp_path / "none" / "SHA256SUMS")]) == 2
    assert "is not there" in capsys.readouterr().err
    # Of an image alone nothing is compared, so nothing is the same.
    (tmp_path / "dist" / "SHA256SUMS").write_text("ef56  strata.oci.tar\n")
    assert same_packages.main([str(other)]) == 2 and "nothing to compare" in capsys.readouterr().err
    (tmp_path / "dist" / "SHA256SUMS").unlink()
    assert same_packages.main([str(other)]) == 2 and "make packages writes it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda dist: (dist / "strata.whl").write_bytes(b"newer"), "strata.whl: its hash is not the one in"),
        (lambda dist: (dist / "strata.whl").unlink(), "strata.whl: it is in SHA256SUMS and not there"),
        (lambda dist: (dist / "strata.rpm").write_bytes(b"more"), "strata.rpm: it is not in SHA256SUMS"),
    ],
)
@pytest.mark.parametrize("folder", ["dist", "other"])
def test_sums_of_an_earlier_build_are_no_proof(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    folder: str,
    change: Callable[[Path], object],
    why: str,
) -> None:
    monkeypatch.setattr(same_packages, "ROOT", tmp_path)
    for name in ("dist", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "strata.whl").write_bytes(b"wheel")
        (tmp_path / name / "SHA256SUMS").write_text(f"{hashlib.sha256(b'wheel').hexdigest()}  strata.whl\n")
    other = tmp_path / "other" / "SHA256SUMS"
    assert same_packages.main([str(other)]) == 0
    change(tmp_path / folder)
    # Of another build its sums may be all there is.
    fine = folder == "other" and not (tmp_path / "other" / "strata.whl").exists()
    assert same_packages.main([str(other)]) == (0 if fine else 1)
    assert fine or why in capsys.readouterr().err


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


def test_every_architecture_is_built_tried_and_told() -> None:
    ci, guide = (ROOT / ".ci" / "packages").read_text(), (ROOT / "docs" / "guide" / "install.md").read_text()
    every = ",".join(packages.ARCHITECTURES)
    assert f"architectures={every}\n" in ci and f"--arch {every}" in guide
    rows = [[cell.strip(" `") for cell in line.split("|")[2:4]] for line in guide.splitlines()]
    for machine, debian in packages.ARCHITECTURES.items():
        assert [machine, debian] in rows, f"install.md has no row of {machine}"
    kinds = ("whl", "deb", "rpm", "oci.tar", "json")
    assert {kind for kind in kinds if re.search(rf"^\| `\S*ARCH\.\S*{kind}` \|", guide, re.M)} == set(kinds)


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["strata-0.1.0-cp311-abi3-manylinux_2_28_x86_64.whl", "strata_lab-0.1.0-py3-none-any.whl"], ["x86_64"]),
        (["strata_0.1.0-1.py311_arm64.deb", "strata-0.1.0-1.py311.x86_64.rpm"], ["x86_64", "aarch64"]),
        (["strata-0.1.0-1.py311.aarch64.rpm", "strata-0.1.0-1.py311.aarch64.rpm"], ["aarch64"]),
        (["strata-0.1.0-amd64.oci.tar"], ["x86_64"]),
        (["strata_lab-0.1.0-py3-none-any.whl", "SBOM.strata-0.1.0-aarch64.rust.cdx.json"], []),
    ],
)
def test_the_name_of_a_package_tells_its_architecture(names: list[str], found: list[str]) -> None:
    """By them a second build is for the same ones as the first."""
    assert packages.architectures(names) == found


def test_what_cannot_be_built_is_refused_before_anything_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = next(machine for machine in packages.ARCHITECTURES if machine != packages.HERE)
    places = ["--out", str(tmp_path / "o"), "--build", str(tmp_path / "b")]
    # What is not refused would be built for minutes.
    monkeypatch.setattr(packages, "Commit", None)
    for words, why in (
        (["--arch", "vax"], "no such architecture: vax; there are x86_64, aarch64"),
        (["--only", "snap"], "no such kind: snap; there are wheel, deb, rpm, image"),
        (["--only", "deb,image", "--arch", other], f"no image of {other}: Debian's packages are run to install them"),
    ):
        monkeypatch.setattr(sys, "argv", ["packages.py", *words, *places])
        with pytest.raises(SystemExit, match="2"):
            packages.main()
        assert why in capsys.readouterr().err
    monkeypatch.setattr(packages, "said", lambda *_: str(tmp_path / "none"))
    monkeypatch.setattr(sys, "argv", ["packages.py", "--only", "wheel", "--arch", other, *places])
    with pytest.raises(SystemExit, match=f"rustup target add {other}-unknown-linux-gnu"):
        packages.main()
    assert list(tmp_path.iterdir()) == []


def test_everything_that_builds_is_in_a_hashed_lock() -> None:
    lock = (ROOT / "requirements" / "build.lock").read_text()
    for name in ("maturin", "ziglang", "hatchling", "wheel", "cyclonedx-bom"):
        assert re.search(rf"^{name}==", lock, re.M)
    bundle = (ROOT / "requirements" / "bundle.lock").read_text()
    run = (ROOT / "requirements" / "run.lock").read_text()
    pins = re.findall(r"^(\S+==\S+)", bundle, re.M)
    assert len(pins) > 20 and [pin for pin in pins if pin not in run] == []
