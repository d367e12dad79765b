"""What the programs of this folder have in common: how each is told and asked while it runs, and how it ends."""

from __future__ import annotations

import argparse
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from strata.errors import RunFailed, StrataError, UsageError
from strata.text.output import note, open_

POLL_S = 0.01
FUSE = "check that it is an empty directory and that this user can mount with FUSE"


class Control(ABC):
    """A part that runs, by its `ctl`."""

    def set(self, words: str = "", **params: object) -> None:
        """Change parameters now, all or none: ``set(svc=500, c=1)`` or ``set("svc=500 c=1")``.

        Raises `UsageError` for a parameter or value that is refused, `RunFailed` where the part does not run.
        """
        self.tell(" ".join([words, *(f"{key}={value}" for key, value in params.items())]).strip())

    def reset(self) -> None:
        """Count anew from now."""
        self.set(reset=1)

    def wait(self, timeout_s: float = 10.0, alive: Callable[[], bool] = lambda: True) -> None:
        """Until the part is there. Raises `RunFailed` after ``timeout_s``, or when ``alive`` says its process ended."""
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                self.there()
                return
            except RunFailed:
                if time.monotonic() > deadline or not alive():
                    raise
                time.sleep(POLL_S)

    @abstractmethod
    def tell(self, text: str) -> None:
        """As `set`, of words that are put together."""

    @abstractmethod
    def there(self) -> None:
        """Raises `RunFailed` as long as the part is not there."""


def program(module: str, about: str | None) -> argparse.ArgumentParser:
    """The parser of one of these programs; ``about`` is its module's docstring."""
    return argparse.ArgumentParser(prog=f"python -m {module}", description=(about or "").splitlines()[0])


@contextmanager
def explained(refused: tuple[str, str, str], failed: tuple[str, str, str]) -> Iterator[None]:
    """What the compiled part raises as an error with its subject and a hint: of its words, and of the system."""
    try:
        yield
    except ValueError as e:
        raise UsageError(refused[0], refused[1], str(e), refused[2]) from e
    except OSError as e:
        raise RunFailed(failed[0], failed[1], str(e), failed[2]) from e


def status_of(serve: Callable[[], None]) -> int:
    """Serves to its end; the exit status. What was wrong is said on stderr."""
    open_()
    try:
        serve()
    except StrataError as e:
        note(e.render())
        return e.exit_code
    return 0
