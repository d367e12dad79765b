"""ARCHITECTURE.md is current: what is made of the code is made anew, and files that it names are there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


@pytest.mark.ci
def test_the_picture_and_the_lists_are_made_from_the_code() -> None:
    done = subprocess.run([sys.executable, ROOT / "scripts" / "architecture.py", "--check"], check=False)
    assert done.returncode == 0, "python scripts/architecture.py"


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/design/house.md"])
def test_every_file_that_a_page_names_is_there(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r"`?((?:lab/src|src|crates|tests|scripts|docs|benches)/[\w./-]+\.(?:py|rs|md|lock))\b", text)
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_room_and_crate_has_its_words() -> None:
    words = PAGE.partition("<!-- end -->")[2].partition("## The way of a workload option")[0]
    floors = re.search(r"^layers =\n((?: {4}.*\n)+)", (ROOT / ".importlinter").read_text(), re.M)
    assert floors is not None
    rooms = {room for room in re.findall(r"\w+", re.sub(r"\(\w+\)", "", floors[1])) if room != "__main__"}
    assert {room for room in rooms if not re.search(rf"\b{room}\b", words)} == set()
    crates = {path.parent.name for path in (ROOT / "crates").glob("*/Cargo.toml")}
    assert {crate for crate in crates if f"`{crate}`" not in words} == set()


STEPS = {
    "A workload option": {
        "src/strata/model/workload_options.py": '"misalign"', "src/strata/cli/bundles.py": "class _Words",
        "src/strata/cli/help.py": "OPTIONS", "src/strata/cli/measure.py": "workload_from_words(",
        "src/strata/plan/words.py": "PLAIN", "src/strata/plan/profiles/emit.py": "asked()",
        "src/strata/model/workload.py": "misalign:",
        "src/strata/engine/job.py": "PLAIN", "src/strata/engine/native.py": "_core",
        "crates/strata-engine/src/job.rs": "misalign", "crates/strata-engine/src/validate/access.rs": "misalign",
        "crates/strata-engine/src/job_pattern.rs": "Cut {", "crates/strata-pattern/src/blocks.rs": "shift",
        "src/strata/formats/fio.py": "misalign", "src/strata/formats/diskspd.py": "row.asks",
    },
    "A counter": {
        "src/strata/model/counters/tcp.py": "RESENT =", "src/strata/probes/tcp/__init__.py": "Column(tcp.RESENT)",
        "src/strata/app/driver.py": "Sampler(", "src/strata/analyse/counters.py": "def mean_of",
        "src/strata/model/counters/readings.py": "class Readings", "src/strata/model/resources.py": "def resent",
        "src/strata/diagnose/causes/wire_loss.py": "resources.resent",
        "src/strata/diagnose/layers.py": "def choose", "src/strata/diagnose/verdicts.py": "def layer",
    },
}  # fmt: skip


@pytest.mark.parametrize("way", STEPS)
def test_every_step_of_a_way_is_taken_where_the_page_says(way: str) -> None:
    told = PAGE.partition(f"## The way of {way.lower()}")[2].partition("\n## ")[0]
    steps = STEPS[way]
    assert [file for file in steps if f"`{file}`" not in told] == []
    assert [file for file, word in steps.items() if word not in (ROOT / file).read_text(encoding="utf-8")] == []


EXAMPLES = re.findall(
    r"^\| an? (?:value of a |plain )?([a-z ]+?)(?: that .+?)?(?:: .+?)? \| (.+?) \| (\d+) \|$",
    PAGE.partition("Told by examples")[2].partition("\n### ")[0],
    re.M,
)


MOST = {"workload option": 4, "endpoint scheme": 4, "counter": 2, "law": 2, "cause": 2}
"""Files that an addition may take, without tests and docs."""


def _git(*words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines()


@pytest.mark.parametrize(("kind", "subject", "files"), EXAMPLES)
def test_an_example_takes_as_many_files_as_the_page_says(kind: str, subject: str, files: str) -> None:
    subjects = (line.partition(" ") for line in _git("log", "--format=%H %s"))
    commit = next((commit for commit, _, said in subjects if said == subject), None)
    if commit is None:
        pytest.skip("its commit is not in this history")
    touched = [name for name in _git("show", "--format=", "--name-only", commit) if name]
    apart = re.compile(r"^(docs|tests|changelog\.d)/|/tests/|\.md$|Cargo\.(toml|lock)$")
    assert len([name for name in touched if not apart.search(name)]) == int(files) <= MOST[kind]


def test_the_examples_are_read_from_the_page() -> None:
    assert {kind for kind, _, _ in EXAMPLES} == set(MOST)
    table = PAGE.partition("Told by examples")[2].partition("\n\nHow often")[0]
    assert len(EXAMPLES) == len(re.findall(r"^\| an? ", table, re.M))


def test_what_was_counted_before_is_counted_again() -> None:
    """Where the history goes back so far."""
    sys.path.insert(0, str(ROOT / "scripts"))
    import places

    if not _git("rev-parse", "--verify", "--quiet", f"{places.BEFORE}^{{commit}}"):
        pytest.skip("its commit is not in this history")
    then = places.count(places.BEFORE)
    assert {name: then[name] for name in places.WERE} == places.WERE
