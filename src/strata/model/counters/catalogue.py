"""Every counter there is: whatever the modules of this folder declare, found because they lie here."""

from __future__ import annotations

from functools import cache
from types import ModuleType

from strata.model import counters
from strata.model.counters.counter import Counter
from strata.model.plugins import modules


@cache
def families() -> dict[ModuleType, tuple[Counter, ...]]:
    """The counters of each module, as they are declared there. Raises `ValueError` where two share a name."""
    found = {m: tuple(v for v in vars(m).values() if isinstance(v, Counter)) for m in modules(counters)}
    names = [counter.name for some in found.values() for counter in some]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"counters that are declared twice: {', '.join(twice)}")
    return {module: some for module, some in found.items() if some}


def catalogue() -> dict[str, Counter]:
    """Every counter by its name."""
    return {counter.name: counter for some in families().values() for counter in some}
