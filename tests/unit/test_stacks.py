"""What a stack file means: which layers are kept, what of it is on this machine, and what is not."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path

import pytest

from strata.app.stacks import elsewhere, keep_layers, local_paths, read_stack
from strata.app.survey import survey_path
from strata.errors import RunFailed, UsageError
from strata.host.netns import within
from strata.model.stack import Layer, Node, Stack
from strata_lab.inside import on_a_thread_in


def stack(*nodes: Node, share: str = "nbd://storage-2:10809/volume") -> Stack:
    """Disk, file, and a share of it."""
    return Stack(
        name="volume",
        nodes=nodes,
        layers=(
            Layer(name="disk", endpoint="block:/dev/sdx"),
            Layer(name="direct, owner", endpoint="file:/srv/strata.dat", on=("disk",)),
            Layer(name="share, other node", endpoint=share, on=("direct, owner",)),
        ),
    )


def test_names_with_commas_of_their_own_are_kept_together() -> None:
    kept = keep_layers(stack(), ("direct", "owner", "share", "other node"))
    assert [x.name for x in kept.layers] == ["direct, owner", "share, other node"]
    assert [x.name for x in keep_layers(stack(), ("disk", "direct", "owner")).layers] == ["disk", "direct, owner"]
    with pytest.raises(UsageError, match="nobody"):
        keep_layers(stack(), ("disk", "nobody"))


def test_what_is_on_another_machine_is_said_with_its_layers() -> None:
    (said,) = elsewhere(stack())
    assert said.startswith("storage-2, behind share, other node, is another machine") and "run the same command" in said


@pytest.mark.parametrize("share", ["nbd://127.0.0.1:10809/x", "nbd://localhost/x", "nbd://127.0.0.1:0/strata"])
def test_this_machine_is_not_another(share: str) -> None:
    assert elsewhere(stack(share=share)) == ()


def test_namespaces_have_the_devices_of_this_machine() -> None:
    assert elsewhere(stack(Node(name="n1", netns="/run/netns/n1"))) == ()
    assert local_paths(stack()) == (Path("/dev/sdx"), Path("/srv/strata.dat"))


def test_a_survey_of_a_stack_file_is_of_its_data_and_names_other_machines(tmp_path: Path) -> None:
    file = tmp_path / "stack.toml"
    file.write_text(
        f"""[stack]
name = "volume"
[[layer]]
name = "file system"
endpoint = "file:{tmp_path}/strata.dat"
[[layer]]
name = "share"
on = ["file system"]
endpoint = "nbd://storage-2/volume"
"""
    )
    found = survey_path(file, 0.01)
    assert found.path == str(tmp_path / "strata.dat")
    assert [n.why.split(",")[0] for n in found.notices if n.code == "another-machine"] == ["storage-2"]


def test_who_loses_a_layer_stands_on_what_that_one_stood_on() -> None:
    lanes = Stack(
        name="lanes",
        layers=(
            Layer(name="disk", endpoint="block:/dev/sdx"),
            Layer(name="file", endpoint="file:/srv/strata.dat", on=("disk",)),
            Layer(name="one queue", endpoint="nbd://h/x", on=("file",)),
            Layer(name="queues", endpoint="nbd://h/x?connections=4", on=("file",), against=("file", "one queue")),
        ),
    )

    def left(*names: str) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
        return [(x.name, x.on, x.against) for x in keep_layers(lanes, names).layers]

    assert left("disk", "queues") == [("disk", (), ()), ("queues", ("disk",), ("disk",))]
    assert left("file", "queues") == [("file", (), ()), ("queues", ("file",), ("file",))]
    assert left("disk", "one queue", "queues")[-1] == ("queues", ("disk",), ("disk", "one queue"))


def test_a_pipe_for_a_namespace_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    pipe, file = tmp_path / "pipe", tmp_path / "s.toml"
    os.mkfifo(pipe)
    for netns, refused in ((pipe, True), (tmp_path / "not-up", False), ("/proc/self/ns/net", False)):
        file.write_text(
            f'[stack]\nname = "s"\n[[node]]\nname = "n"\nnetns = "{netns}"\n[[layer]]\nname = "a"\nendpoint = "null:"\n'
        )
        with pytest.raises(UsageError, match="is not a network namespace") if refused else nullcontext():
            read_stack(file)
    with pytest.raises(UsageError, match="cannot enter"):
        within(str(pipe), lambda: None)
    with pytest.raises(RunFailed, match="enter the namespace"):
        on_a_thread_in(pipe, lambda: None)
