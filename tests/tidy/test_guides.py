"""Rules about the guides: every key of a stack file and of a JSON document is in its guide, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from strata.model.base import Value
from strata.model.stack import Expect, Layer, Node, Stack

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide"


def keys_of(page: str, heading: str) -> set[str]:
    """The keys in the first column of the table under the heading."""
    section = re.split(r"^## ", page, flags=re.M)
    [found] = [part for part in section if part.startswith(heading + "\n")]
    return set(re.findall(r"^\| `([a-z_]+)`", found, re.M))


def test_the_guide_of_the_stack_file_has_every_key_and_no_other() -> None:
    page = (GUIDE / "stack-file.md").read_text()
    models: dict[str, type[Value]] = {
        "`[stack]`": Stack, "`[[node]]`": Node, "`[[layer]]`": Layer, "`expect` of a layer": Expect,
    }  # fmt: skip
    for heading, model in models.items():
        # The tables of the file are written beside [stack], not in it.
        assert keys_of(page, heading) == set(model.model_fields) - {"nodes", "layers"}, heading


def test_the_stack_file_of_the_guide_is_one() -> None:
    page = (GUIDE / "stack-file.md").read_text()
    stack = Stack.from_toml(page.split("```toml\n")[1].split("```")[0])
    assert [layer.name for layer in stack.layers] == ["disk", "file system", "share"]
