"""Rules about the help: examples that hold, groups that leave nothing out, and a start that stays quick."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from typing import Any

import pytest
import typer
from typer.exceptions import TyperException

from strata.cli.examples import EXAMPLES
from strata.cli.help import GROUPS, MANY
from strata.cli.main import _usage, app

ROOT: Any = typer.main.get_command(app)


def every_command() -> dict[str, Any]:
    """Each command and group by its words; the program itself by none."""
    found = {"": ROOT}
    for name, command in ROOT.commands.items():
        found[name] = command
        found |= {f"{name} {inner}": one for inner, one in getattr(command, "commands", {}).items()}
    return found


COMMANDS = every_command()
LINES = sorted({line for examples in EXAMPLES.values() for line, _ in examples})


def parse(words: list[str]) -> None:
    """Reads the words as the command line does, every group and the command below it; runs nothing."""
    command, context = ROOT, None
    while True:
        name = words[0] if context is not None else "strata"
        rest = words[1:] if context is not None else words
        context = command.make_context(name, list(rest), parent=context)
        if not hasattr(command, "commands"):
            return
        words = [*context._protected_args, *context.args]
        if not words and command.invoke_without_command:
            return
        command = command.commands[words[0]]


def test_every_command_has_two_examples_of_its_own_that_fit_a_terminal() -> None:
    assert set(EXAMPLES) == set(COMMANDS)
    for name, examples in EXAMPLES.items():
        assert len(examples) == 2, name
        for line, meaning in examples:
            assert line.startswith(f"strata {name}".strip()), line
            assert len(line) <= 78 and len(meaning) <= 76, line


@pytest.mark.parametrize("line", LINES)
def test_the_words_of_an_example_are_known(line: str) -> None:
    # Raises for an option that there is not, a value of another type and a word too many.
    parse(shlex.split(line)[1:])


def test_an_option_of_a_command_with_many_is_in_one_group() -> None:
    grouped = [name for names in GROUPS.values() for name in names]
    assert len(grouped) == len(set(grouped))
    long = {name: c for name, c in COMMANDS.items() if len(c.params) > MANY}
    assert {"measure", "diagnose", "plan"} <= set(long)
    left_out = {
        f"{name} {p.opts[0]}"
        for name, c in long.items()
        for p in c.params
        if p.param_type_name == "option" and p.name not in grouped
    }
    assert left_out == set()
    there = {p.name for c in COMMANDS.values() for p in c.params}
    assert set(grouped) - there == {"help"}


# Typer itself loads pydantic, to read the words of a command.
HEAVY = (
    "numpy",
    "sqlalchemy",
    "rich",
    "strata._core",
    "strata.model.workload",
    "strata.app.measure",
    "strata_lab.lab",
)


@pytest.mark.parametrize("words", [("--help",), ("measure", "-h"), ("lab", "up", "-h")], ids=" ".join)
def test_help_loads_nothing_heavy(words: tuple[str, ...]) -> None:
    code = f"""
import sys
sys.argv = ["strata", *{words!r}]
from strata.cli.main import _run
assert _run() == 0
print(*(name for name in {HEAVY!r} if name in sys.modules), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (0, "")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_says_arguments_as_its_texts_do_and_no_type_of_python(name: str) -> None:
    context = typer.Context(COMMANDS[name], info_name=name, **COMMANDS[name].context_settings)
    rows = {words for _, listed in COMMANDS[name].sections(context) for words, _ in listed}
    kinds = {kind for words in rows for kind in re.findall(r"<(.*?)>", words)}
    assert kinds <= {"text", "number", "path"}
    arguments = {str(p.name).upper() for p in COMMANDS[name].params if p.param_type_name == "argument"}
    usage = COMMANDS[name].get_usage(context)
    assert arguments == {row.removesuffix("...") for row in rows if not row.startswith("-")}
    assert all(re.search(rf"\[{one}\]|\b{one}\b", usage) for one in arguments)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("stage", "error: Missing argument STACK."),
        ("baseline", "error: Missing argument WHAT. Choose from: save, promote, list, show"),
        ("baseline gone", "error: Invalid value for WHAT: 'gone' is not one of 'save', 'promote', 'list', 'show'."),
        ("verify file:/x --iodepth a", "error: Invalid value for '--iodepth': it must be a whole number"),
        ("runs --limit 0", "error: Invalid value for '--limit': it must be greater than or equal to 1"),
    ],
)
def test_a_refusal_of_the_library_is_one_line_in_plain_words(
    line: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(TyperException) as refused:
        app(line.split(), standalone_mode=False)
    assert _usage(refused.value) == 2
    assert capsys.readouterr().err.splitlines()[0] == said
