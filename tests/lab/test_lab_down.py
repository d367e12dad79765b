"""`lab down` says what is so: of names that something covers, of a ledger that is damaged, of a lab being built."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from loops import need

from strata.errors import RunFailed, StrataError, UsageError
from strata_lab import labs
from strata_lab.down import down
from strata_lab.lab import Lab
from strata_lab.ledger import Gone, Ledger, encoded, names
from strata_lab.leftovers import leftovers
from strata_lab.status import lab_state

pytestmark = pytest.mark.root
CLI = [sys.executable, "-m", "strata", "lab"]

_COVERED = """
import subprocess, sys
from pathlib import Path
from strata_lab.down import down
from strata_lab.lab import Lab
from strata_lab.leftovers import leftovers
from strata_lab.namespaces import mounted_names

name, ip = sys.argv[1:]
while subprocess.run(["umount", "-l", "/run/netns"], stderr=subprocess.DEVNULL).returncode == 0:
    pass
for _ in range(2):
    lab = Lab.create(name, "none")
    lab.add_node("n1")
    # The first one of anybody in this mount namespace: it mounts /run/netns over itself.
    subprocess.run([ip, "netns", "add", f"zz{name}"], check=True)
    assert len(mounted_names()[f"strata-{name}-n1"]) == 1
    covered = [m for m in Path("/proc/self/mounts").read_text().splitlines() if f"strata-{name}-n1" in m]
    assert len(covered) == 2 or _, covered
    down(lab)
    left = (leftovers(name, lab.token), [m for m in mounted_names() if name in m and not m.startswith("zz")])
    assert left == ((), []), left
    subprocess.run([ip, "netns", "delete", f"zz{name}"], check=True)
print("all gone")
"""


def test_a_namespace_goes_although_its_directory_was_mounted_over_meanwhile(name: str) -> None:
    words = [need("unshare"), "--mount", "--propagation", "private", sys.executable, "-c", _COVERED, name, need("ip")]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout == "all gone\n", done.stderr


@pytest.mark.parametrize("head", [True, False])
def test_a_damaged_ledger_is_carried_out_as_far_as_it_can_be_read(name: str, tmp_path: Path, head: bool) -> None:
    (tmp_path / "precious").write_text("of the user")
    lab = Lab.create(name, "none")
    strange = [
        {"undo": "nonsense"},
        {"undo": "mount"},
        {"undo": "process", "pid": "1", "started": []},
        {"undo": "directory", "path": str(tmp_path)},
        {"undo": "directory", "path": f"{lab.data}/../../../{tmp_path}"},
        {"undo": "mount", "path": "/proc"},
        {"undo": "loop", "backing": str(tmp_path / "precious")},
        {"undo": "cgroup", "path": "/sys/fs/cgroup/other"},
        {"undo": "setting", "path": str(tmp_path / "precious"), "now": "of the user", "before": "gone"},
        {"undo": "netns", "name": f"../strata-{name}-n1"},
        {"undo": "netns", "name": "another"},
    ]
    child = lab.run(None, ["sleep", "1000"], name="sleeper")
    with lab.ledger.path.open("ab") as f:
        f.write(b"".join([b"garbage\n", b"5\n", b"\xff\xfe\n", b"[" * 100_000 + b"\n", *map(encoded, strange)]))
    if not head:
        content = lab.ledger.path.read_bytes()
        lab.ledger.path.write_bytes(b"x" * 20 + content[20:])
    node = lab.add_node("n1")
    said: list[str] = []
    down(lab, said.append)
    assert not child.alive
    assert not Path(str(node.netns)).exists()
    assert (tmp_path / "precious").read_text() == "of the user"
    assert leftovers(name, lab.token) == ()
    assert sum("damaged and ignored" in line for line in said) == (4 if head else 5), said
    assert sum(line.startswith("not removed: ") for line in said) == len(strange), said


def test_down_says_what_the_kernel_still_has(name: str) -> None:
    """A mount in the lab's directory that no line speaks of."""
    lab = Lab.create(name, "none")
    path = lab.dir("mine")
    subprocess.run(["mount", "-t", "tmpfs", "none", str(path)], check=True)
    try:
        with pytest.raises(RunFailed, match="cannot remove all") as left:
            down(lab)
        assert f"mount {path}" in left.value.problems
        assert names() != ()
    finally:
        subprocess.run(["umount", str(path)], check=True)
    down(Lab.open(name))
    assert leftovers(name, lab.token) == ()


# --- one lock for a name --------------------------------------------------------------------------------------------


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    monkeypatch.setenv("STRATA_LAB_DIR", str(tmp_path / "labs"))
    return Ledger("one")


def test_a_name_is_taken_before_anything_is_made_and_free_again_when_nothing_was(ledger: Ledger) -> None:
    with ledger.claimed():
        assert names() == ("one",)
        assert lab_state(Lab.open("one")).state == "building"
        with pytest.raises(RunFailed, match=r"process [0-9]+ is building"), Ledger("one").claimed():
            pass
        with pytest.raises(RunFailed, match=r"process [0-9]+ is building"), Ledger("one").locked(wait=False):
            pass
    assert names() == ()
    with pytest.raises(Gone, match="there is no lab"), ledger.locked():
        pass


def test_who_waited_for_a_lab_that_went_finds_it_gone(ledger: Ledger) -> None:
    said: list[str] = []
    came: list[int] = []
    with ledger.claimed():
        waits = threading.Thread(target=lambda: came.append(down(Lab.open("one"), said.append)))
        waits.start()
        while not said:
            time.sleep(0.001)
    waits.join()
    assert came == [0]
    assert ("waiting for it to end" in said[0], "removed in the meantime" in said[1]) == (True, True)
    # The next one has the name, and nobody's lock.
    with ledger.claimed(), pytest.raises(UsageError, match="no lab"):
        Ledger("other").lines()


def test_down_while_up_is_building_waits_and_removes_it(name: str) -> None:
    words = ["up", "local", "--name", name, "--set=size=192m", "--set=file=16m"]
    with subprocess.Popen([*CLI, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as building:
        # Before its first line `up` may not hold the lock yet: then `down` is first, and has nothing to remove.
        while building.poll() is None and not Ledger(name).path.exists():
            time.sleep(0.001)
        assert name in names()
        assert [lab_state(Lab.open(name)).state] == ["building"]
        said: list[str] = []
        assert down(Lab.open(name), said.append) > 0
        assert building.wait(60) == 0, building.stderr and building.stderr.read()
    assert [f"process {building.pid} is using the lab {name}" in line for line in said] == [True]
    assert leftovers(name, "none") == ()


def test_a_lab_whose_up_was_killed_is_not_said_to_be_built(name: str) -> None:
    lab = Lab.create(name, "none")
    assert lab_state(lab).state == "killed"
    assert json.loads(lab_state(lab).model_dump_json())["name"] == name
    down(lab)


def test_one_that_stays_does_not_keep_the_others(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    for one in ("a", "b", "c"):
        Ledger(one).create({"token": "", "boot": "another"})
    (ledger.dir.parent / "B").mkdir()
    monkeypatch.setattr("strata_lab.down.of_its_own", lambda data, _: ["mount x"] if data.name.endswith("-b") else [])
    said: list[str] = []
    with pytest.raises(StrataError, match="lab b"):
        labs.down(None, True, said.append)
    assert names() == ("B", "b")
    assert "removed: a, c" in said


def test_what_a_lab_measures_is_kept_with_the_lab(name: str) -> None:
    lab = Lab.create(name, "none")
    script = ["sh", "-c", 'echo "$STRATA_STATE_DIR"; exec sleep 1000']
    child = lab.run(None, script, name="asked", wait_for=lambda: (lab.data / "logs" / "asked.log").stat().st_size > 0)
    assert child.last_words() == f"{lab.data}/state"
    down(lab)
    assert leftovers(name, lab.token) == ()
