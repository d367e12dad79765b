"""Every error of Strata says what, where, why and the next step, and carries its exit code: one of the table `Exit`."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from strata.text.controls import line
from strata.text.secrets import redacted


class Exit(IntEnum):
    """Every code that a command ends with. ``short`` is its name in `--help`; ``meaning`` the guide's line."""

    short: str
    meaning: str

    def __new__(cls, code: int, short: str, meaning: str) -> Exit:
        """A number that knows its words."""
        made = int.__new__(cls, code)
        made._value_, made.short, made.meaning = code, short, meaning
        return made

    FINE = 0, "fine", "the command succeeded; for `strata measure` and `strata report` whatever the verdict is"
    FAILED = 1, "run failed", "the run could not start or did not complete; what was measured is kept"
    USAGE = 2, "usage", "the arguments are invalid; nothing was started"
    GATE = (
        3,
        "gate failed",
        "`strata gate` found a regression, `strata verify` (and the one beside `strata scale --under-load`) a fault, "
        "`strata check` a broken law, "
        "`strata node trust --check` an unusable certificate",
    )
    INCONCLUSIVE = (
        4,
        "inconclusive",
        "there is a result, but it decides nothing: no verdict, or a target precision was not reached",
    )
    REFUSED = (
        5,
        "refused for safety",
        "continuing could have written to data that Strata did not create, or opened a node to others; nothing was "
        "written to it, and a refusal during a run says what the run had written until then",
    )
    HUNG_UP = 129, "ended by SIGHUP", "the terminal was closed; what was measured is kept"
    INTERRUPTED = 130, "ended by SIGINT", "Ctrl-C; what was measured is kept"
    TERMINATED = 143, "ended by SIGTERM", "the system or a user ended it; what was measured is kept"

    @staticmethod
    def of_signal(number: int) -> int:
        """What a shell calls the end by that signal."""
        return 128 + number


PROBLEMS_SHOWN = 40
"""Of a long list of problems; who has mended these sees the next ones."""
LINE_SHOWN = 2000
"""Characters of one of them."""


def choices(word: str, there: Iterable[str]) -> str:
    """A hint that names what can be chosen, and first what was probably meant."""
    # Here: only a refusal needs it.
    import difflib

    names = list(there)
    near = difflib.get_close_matches(word, names, 1)
    meant = f"did you mean {near[0]}? " if near else ""
    return f"{meant}choose one of: {', '.join(names)}"


class StrataError(Exception):
    """A failure a user can act on.

    Rendered as ``error: <what> <where>: <why>`` and ``hint: <next step>``; ``problems`` lists everything
    that was found wrong when several things were checked before refusing. A secret in any of them is hidden.
    """

    exit_code: int = Exit.FAILED

    def __init__(
        self, what: str, where: str = "", why: str = "", hint: str = "", problems: tuple[str, ...] = ()
    ) -> None:
        # Here, for all: what is said is quoted in reports, saved with runs and shown in tracebacks.
        self.what, self.where, self.why, self.hint = map(redacted, (what, where, why, hint))
        self.problems = tuple(map(redacted, problems))
        super().__init__(self.headline)

    @property
    def headline(self) -> str:
        """``<what> <where>: <why>`` on one line."""
        head = f"{self.what} {self.where}".strip().removesuffix(":" if self.why else "")
        return f"{head}: {self.why}" if self.why else head

    @property
    def _headed(self) -> str:
        """The headline; a colon ends it where the list of problems is the reason."""
        return f"{self.headline.removesuffix(':')}:" if self.problems and not self.why else self.headline

    def render(self) -> str:
        """The whole message, several lines, without a trailing newline; what it quotes adds none to them."""
        lines = [f"error: {_short(self._headed)}"]
        lines += [f"  - {_short(p)}" for p in self.problems[:PROBLEMS_SHOWN]]
        if (more := len(self.problems) - PROBLEMS_SHOWN) > 0:
            lines.append(f"  - … and {more} more")
        if self.hint:
            lines.append(f"hint: {line(self.hint)}")
        return "\n".join(lines)


def _short(text: str) -> str:
    """On one line; of what quotes a hostile file at length, its two ends."""
    half = LINE_SHOWN // 2
    return line(text if len(text) <= LINE_SHOWN else f"{text[:half]} … {text[-half:]}")


class RunFailed(StrataError):
    """The run could not be carried out or was lost on the way."""


class ClientsLost(RunFailed):
    """Clients that were to measure are gone: what follows would fail alike, so the run ends, and can be resumed.

    ``there``: none is gone, and each has said why it did not measure.
    """

    there = False


def until_resumed(there: bool) -> str:
    """From when a run can be resumed that `ClientsLost` ended: the beginning of a hint."""
    return "once what they said is mended" if there else "once the clients are back"


class UsageError(StrataError):
    """The words of the user do not add up to something that can be done."""

    exit_code = Exit.USAGE


class InconclusiveError(StrataError):
    """There is a result, and it does not carry a verdict."""

    exit_code = Exit.INCONCLUSIVE


class SafetyRefusal(StrataError):
    """Going on could have written to something Strata did not create. Nothing was written to that; where the refusal
    comes in the middle of a run, it says what was written before, and to what."""

    exit_code = Exit.REFUSED


class Stopped(StrataError):
    """The user or the system ended the run; what was measured until then is kept."""

    exit_code = Exit.INTERRUPTED

    def render(self) -> str:
        """No error: what is kept, and how to go on."""
        return f"stopped; {line(self.what)}" + (f"\nhint: {line(self.hint)}" if self.hint else "")


class StoreError(StrataError):
    """The store is corrupt, from a newer version, or held by another process. It was left as it is."""
