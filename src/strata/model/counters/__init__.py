"""The counters: one module for each family, which declares them; `Readings` asks for what they say.

Adding a counter: one line in its family's module (or a new module here), and the probe that reads it.
"""

from strata.model.counters.counter import LABELS, NODE, Counter, Over, Scope
from strata.model.counters.readings import Key, Reading, Readings, name_of

__all__ = ["LABELS", "NODE", "Counter", "Key", "Over", "Reading", "Readings", "Scope", "name_of"]
