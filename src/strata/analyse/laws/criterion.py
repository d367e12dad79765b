"""A check that broken cases pass.

What it claims
    A check that is used to call a layer healthy fails where a layer is not healthy.
Why it matters
    "Sequential read ≥ sequential write ≥ random read ≥ random write, as expected" also holds in a layer that has lost
    95 % of its sequential writes. Passing it is necessary and shows nothing more.
Evidence
    A said row with the label `order` (patterns, the highest first), the rows of each layer, and the first layer as the
    reference: layers that pass although some pattern fell by a fifth or more.
What rules it out
    No layer that passes has lost anything: then the check was not put to the test.
Source
    Strata's own rule: the sensitivity of a test.
"""

from __future__ import annotations

from itertools import pairwise

from strata import units
from strata.analyse.laws.base import Answers, flag, measured, noise
from strata.model.figures import Role, Table

NAME, TITLE, ORDER = "criterion", "check that decides nothing", 310
SAYS = "a check that broken layers pass"
NEXT = "Compare each pattern with the layer below instead."
LOST = 0.2


def check(table: Table) -> Answers:
    for said in table.of(Role.SAID):
        order = [p.strip() for p in said.words.get("order", "").split(">=") if p.strip()]
        layers: dict[str, dict[str, float]] = {}
        for row in measured(table, "iops"):
            if "layer" in row.words and row.words.get("pattern") in order:
                layers.setdefault(row.words["layer"], {})[row.words["pattern"]] = row.figures["iops"].base
        whole = {name: rates for name, rates in layers.items() if len(rates) == len(order)}
        if len(order) < 2 or len(whole) < 2:
            continue
        yield None
        reference = next(iter(whole.values()))
        slack = 1 - noise(table)
        passing = [n for n, r in whole.items() if all(r[a] >= r[b] * slack for a, b in pairwise(order))]
        kept = {n: min(whole[n][p] / reference[p] for p in order if reference[p] > 0) for n in passing}
        bad = {n: share for n, share in kept.items() if share < 1 - LOST}
        if not bad:
            continue
        name, share = min(bad.items(), key=lambda x: x[1])
        text = f"the order holds in {len(passing)} of {len(whole)} layers, {len(bad)} of them broken ({name} keeps "
        text += f"{units.percent(share, 2)} of a pattern): it does not separate a healthy layer from a broken one"
        yield flag(said, text, numbers={"layers": len(passing), "broken": len(bad)})
