"""Building a lab, whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from strata_lab import inject, joined, stacks, where
from strata_lab.down import remove
from strata_lab.lab import Lab
from strata_lab.ledger import Ledger
from strata_lab.prove import put_in

Say = Callable[[str], None]


def up(
    stack: str,
    name: str,
    options: Mapping[str, str] | None = None,
    injections: Sequence[str] = (),
    say: Say = lambda _: None,
    *,
    nodes: bool = False,
) -> Lab:
    """Builds the stack under that name, with what is injected, and leaves it running. ``nodes``: in each node of it a
    process joins a scheduler of the lab, from which the node's layers are driven.

    When anything fails, or the user stops it, what was made so far is removed. After a kill -9 `down` does that.
    """
    builder = stacks.builder(stack)
    asked = [inject.parse(word) for word in injections]
    # What an injection needs of the stack holds unless the user says otherwise, and then its proof will tell.
    needed = {k: v for one in asked for k, v in one.injection.options.items() if k in builder.OPTIONS}
    chosen = stacks.chosen(stack, {**needed, **(options or {})})
    if not where.is_root():
        say("not root: no namespaces, disks or mounts; building a reduced lab on loopback")
    # One lock for the name from here on, until the lab is up or gone again: nobody removes what is being built.
    with Ledger(name).claimed():
        lab = Lab.create(name, stack)
        try:
            lab.fact("options", **chosen)
            builder.build(lab, chosen)
            if nodes:
                joined.join_all(lab)
            lab.fact("up")
            for one in asked:
                put_in(lab, one, say)
        except BaseException:
            say("the build failed; removing what was built")
            remove(lab, say)
            raise
    return lab
