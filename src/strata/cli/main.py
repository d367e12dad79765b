"""The command line: one Typer application, one place that turns errors into exit codes."""

from __future__ import annotations

import os
import re
import sys
from typing import Any

import typer
from typer.exceptions import TyperException

from strata import __version__
from strata.app.credentials import warn
from strata.app.signals import caught, raise_on_signals
from strata.cli import (
    check,
    completion,
    diagnose,
    emit,
    export,
    fleet,
    history,
    import_,
    lab_door,
    measure,
    node,
    reports,
    runs,
    scale,
    schema,
    serve,
    stage,
    survey,
    target,
    trace,
    verify,
    watch,
)
from strata.cli.help import Commands, path_of
from strata.errors import Exit, RunFailed, StrataError, UsageError
from strata.text.output import note, open_, out

app = Commands(
    name="strata",
    help="Finds the slow layer of a storage stack, proves it with an experiment, and remembers the result.",
    pretty_exceptions_enable=False,
    epilog=f"Exit codes: {', '.join(f'{code.value} {code.short}' for code in Exit)}.",
)


def _version(asked: bool) -> None:
    if asked:
        out(f"strata {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    pass


app.command("survey")(survey.survey)
app.command("diagnose")(diagnose.diagnose)
app.command("plan")(diagnose.plan)
app.command("measure")(measure.measure)
app.command("scale")(scale.scale)
app.command("stage")(stage.stage)
app.command("verify")(verify.verify)
app.command("trace")(trace.trace)
app.command("watch")(watch.watch)
app.command("check")(check.check)
app.command("import")(import_.import_)
app.command("emit")(emit.emit)
app.command("export")(export.export)
app.command("compare")(history.compare)
app.command("history")(history.history)
app.command("gate")(history.gate)
app.command("baseline")(history.baseline)
app.command("report")(reports.report)
app.command("serve")(serve.serve)
app.command("explain")(reports.explain)
app.add_typer(runs.runs)
app.add_typer(node.node)
app.add_typer(fleet.fleet)
app.command("target")(target.target)
app.command("clean")(reports.clean)
app.command("schema")(schema.schema)
app.command("completions")(completion.completions)
lab_door.add_to(app)


def main() -> None:
    """Entry point: runs one command and ends the process with its exit code."""
    sys.exit(_run())


def _run() -> int:
    open_()
    warn(sys.argv[1:])
    raise_on_signals()
    try:
        if os.environ.get("_STRATA_COMPLETE") == "complete_bash":
            completion.in_bash(app)
        outcome = app(standalone_mode=False)
    except StrataError as e:
        note(e.render())
        return _code(130 if _while_leaving(e) else e.exit_code)
    except TyperException as e:
        return _usage(e)
    except (KeyboardInterrupt, typer.Abort):
        outcome = Exit.INTERRUPTED
    except BrokenPipeError:
        # Whoever read us has gone; stdout must not be flushed into the closed pipe at exit.
        sys.stdout = None
        return Exit.FINE
    except OSError as e:
        # A path that may not even be looked at (a folder above it is closed to this user) and the like.
        note(_failed(e).render())
        return RunFailed.exit_code
    if outcome == Exit.INTERRUPTED:
        # Typer turns Ctrl-C into this code.
        note("stopped")
    return _code(outcome if isinstance(outcome, int) else Exit.FINE)


def _while_leaving(error: BaseException) -> bool:
    """Whether a signal was ending the command when this went wrong: something could not be taken away any more."""
    before = error.__context__
    return isinstance(before, KeyboardInterrupt) or (before is not None and _while_leaving(before))


def _failed(error: OSError) -> RunFailed:
    hint = "run as a user with access, or give another path" if isinstance(error, PermissionError) else ""
    return RunFailed("cannot access", str(error.filename or "a file"), (error.strerror or str(error)).lower(), hint)


def _code(code: int) -> int:
    number = caught()
    return Exit.of_signal(number) if code == Exit.INTERRUPTED and number is not None else code


def _usage(error: TyperException) -> int:
    """Typer's own refusals, in the form of all others."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "strata"
    said = error.format_message()
    if said.startswith("Usage: "):
        # No command was named: Typer raises that with the help as its message.
        note(said)
        return Exit.USAGE
    note(UsageError(_plain(said), hint=_as_fio_says_it(context) or f"{path} --help").render())
    return Exit.USAGE


_WORDS = {
    "Value error, ": "",
    "Input should be a valid integer, unable to parse string as an integer": "it must be a whole number",
    "Input should be a valid number, unable to parse string as a number": "it must be a number",
    "Input should be": "it must be",
}
"""What pydantic says through Typer, and what it means."""


def _plain(said: str) -> str:
    """In one line, with arguments called as help calls them."""
    said = " ".join(said.split())
    for theirs, ours in _WORDS.items():
        said = said.replace(theirs, ours)
    return re.sub(r"(argument|value for) '(\w+)'", lambda found: f"{found[1]} {found[2].upper()}", said)


def _as_fio_says_it(context: Any) -> str | None:
    """The command line in our words, where it was one of fio's."""
    if context is None or path_of(context) != "measure":
        return None
    from strata.cli.fio_line import in_our_words

    known = frozenset(option for parameter in context.command.params for option in parameter.opts)
    return in_our_words(sys.argv[sys.argv.index("measure") + 1 :], known)
