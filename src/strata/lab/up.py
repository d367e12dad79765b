"""Building a lab, whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from strata.lab import stacks, where
from strata.lab.down import down
from strata.lab.lab import Lab

Say = Callable[[str], None]


def up(
    stack: str,
    name: str,
    options: Mapping[str, str] | None = None,
    injections: Sequence[str] = (),
    say: Say = lambda _: None,
) -> Lab:
    """Builds the stack under that name, with what is injected, and leaves it running.

    When anything fails, or the user stops it, what was made so far is removed. After a kill -9 `down` does that.
    """
    builder = stacks.builder(stack)
    chosen = stacks.chosen(stack, options or {})
    from strata.lab import inject

    asked = [inject.parse(word) for word in injections]
    if not where.is_root():
        say("without root there are no namespaces, disks and mounts: a reduced lab runs on loopback")
    lab = Lab.create(name, stack)
    try:
        with lab.ledger.locked():
            lab.fact("options", **chosen)
            builder.build(lab, chosen)
            for one in asked:
                one.apply(lab)
            lab.fact("up", injections=[str(one) for one in asked])
    except BaseException:
        say("it did not come up; removing what was made")
        down(lab, say)
        raise
    return lab
