"""Every error of Strata says what, where, why and the next step, and carries its exit code.

Exit codes: 0 fine · 1 run failed · 2 usage · 3 gate failed · 4 inconclusive · 5 refused for safety ·
130/143 ended by SIGINT/SIGTERM.
"""

from __future__ import annotations

from strata.text.controls import line


class StrataError(Exception):
    """A failure a user can act on.

    Rendered as ``error: <what> <where>: <why>`` and ``hint: <next step>``; ``problems`` lists everything
    that was found wrong when several things were checked before refusing.
    """

    exit_code = 1

    def __init__(
        self, what: str, where: str = "", why: str = "", hint: str = "", problems: tuple[str, ...] = ()
    ) -> None:
        self.what, self.where, self.why, self.hint, self.problems = what, where, why, hint, problems
        super().__init__(self.headline)

    @property
    def headline(self) -> str:
        """``<what> <where>: <why>`` on one line."""
        head = f"{self.what} {self.where}".strip()
        return f"{head}: {self.why}" if self.why else head

    def render(self) -> str:
        """The whole message, several lines, without a trailing newline; what it quotes adds none to them."""
        lines = [f"error: {line(self.headline)}"]
        lines += [f"  - {line(p)}" for p in self.problems]
        if self.hint:
            lines.append(f"hint: {line(self.hint)}")
        return "\n".join(lines)


class RunFailed(StrataError):
    """The run could not be carried out or was lost on the way."""


class UsageError(StrataError):
    """The words of the user do not add up to something that can be done."""

    exit_code = 2


class GateFailed(StrataError):
    """A gate or a comparison with a baseline found a regression."""

    exit_code = 3


class InconclusiveError(StrataError):
    """There is a result, and it does not carry a verdict."""

    exit_code = 4


class SafetyRefusal(StrataError):
    """Going on could have written to something Strata did not create. Nothing was written."""

    exit_code = 5


class Stopped(StrataError):
    """The user or the system ended the run; what was measured until then is kept."""

    exit_code = 130

    def render(self) -> str:
        """No error: what is kept, and how to go on."""
        return f"stopped; {line(self.what)}" + (f"\nhint: {line(self.hint)}" if self.hint else "")


class StoreError(StrataError):
    """The store is corrupt, from a newer version, or held by another process. It was left as it is."""
