"""Where a path leads, without a question to another machine: who asks a server that is gone waits for it."""

from __future__ import annotations

from pathlib import Path

from strata.discover.untouched import LINKS_MOST, resolved_here
from tests.unit.kernel_tree import Tree


def mounted(tmp_path: Path, *points: tuple[str, str]) -> Tree:
    tree = Tree(tmp_path / "kernel")
    lines = [f"{20 + n} 1 0:{n} / {point} rw - {kind} source rw" for n, (point, kind) in enumerate(points)]
    tree.mounts(*lines)
    return tree


def test_links_here_are_followed_and_those_of_another_machine_are_not(tmp_path: Path) -> None:
    here, share = tmp_path / "here", tmp_path / "share"
    (here / "b").mkdir(parents=True)
    share.mkdir()
    (here / "a").symlink_to("b/../b")
    (here / "away").symlink_to(share)
    (share / "link").symlink_to(here)
    sys = mounted(tmp_path, ("/", "ext4"), (str(share), "nfs4")).sys
    for path in (here / "a", here / "a/x", here / "a/../a/y", here / "b", Path("/")):
        assert resolved_here(path, sys) == path.resolve()
    assert resolved_here(here / "away/link/b", sys) == share / "link/b"
    assert resolved_here(share / "link", sys) == share / "link"
    # Of a file system of this machine it would be followed.
    local = mounted(tmp_path / "2", ("/", "ext4"), (str(share), "xfs")).sys
    assert resolved_here(share / "link", local) == here


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert LINKS_MOST < 100
    assert resolved_here(tmp_path / "a/x").name == "x"
