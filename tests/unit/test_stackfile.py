"""A draft is a stack file that reads back, whatever the names in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from surveys import GOOD, PART

from strata.discover.stackfile import draft
from strata.model.stack import Stack
from strata.model.survey import Survey


def fs(**facts: object) -> Survey:
    return GOOD.model_copy(update={"file_system": GOOD.file_system.model_copy(update=facts)})


def test_disk_file_system_and_share() -> None:
    stack = Stack.from_toml(draft(GOOD, "/data/strata.dat", "nbd://127.0.0.1:10809/x"))
    assert [(layer.name, layer.endpoint, layer.on, layer.expect.overhead_max) for layer in stack.layers] == [
        ("disk", "block:/dev/sda1", (), None),
        ("file system", "file:/data/strata.dat", ("disk",), 0.05),
        ("share", "nbd://127.0.0.1:10809/x", ("file system",), 0.15),
    ]
    assert all(layer.expect.source for layer in stack.layers if layer.on)
    assert [(n.name, n.owner) for n in stack.nodes] == [("node-2", True)]


def test_without_a_share() -> None:
    assert [layer.name for layer in Stack.from_toml(draft(GOOD, "/d", None)).layers] == ["disk", "file system"]


DENIED = GOOD.model_copy(update={"devices": (PART.model_copy(update={"detail": {"raw_read": "permission denied"}}),)})


@pytest.mark.parametrize(
    ("survey", "reason"),
    [
        (DENIED, "/dev/sda1 may not be read raw: permission denied"),
        (fs(kind="btrfs"), "do not map to places on one device"),
        (fs(kind="zfs"), "do not map"),
        (fs(kind="nfs4", remote=True), "disk on another machine"),
        (fs(options=("rtdev=/dev/sdb",)), "realtime device"),
        (GOOD.model_copy(update={"devices": ()}), "no block device below"),
    ],
)
def test_no_disk_layer_with_its_reason(survey: Survey, reason: str) -> None:
    text = draft(survey, "/data/strata.dat", None)
    assert reason in text
    assert '# endpoint = "block:/dev/' in text
    stack = Stack.from_toml(text)
    assert [(layer.name, layer.on) for layer in stack.layers] == [("file system", ())]


NAMES = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
"""No host and no path has a NUL in its name, and none is read from a file."""


@given(st.text(NAMES, min_size=1), st.text(NAMES))
def test_any_name_survives(host: str, path: str) -> None:
    survey = GOOD.model_copy(update={"hostname": host})
    stack = Stack.from_toml(draft(survey, f"/data/{path}", None))
    assert stack.nodes[0].name == host
    assert stack.layers[-1].endpoint == f"file:/data/{path}"
