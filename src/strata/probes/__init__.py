"""Counters of the machine, read beside a measurement.

Adding a probe: one folder here whose ``open_probe(scope)`` gives a `Probe`, and the counters it reads in
`strata.model.counters`. It is found because it lies here, and may say of itself:

``OF_NODE``   read for each node (its network, its processes); all others once, of the machine
``AT_EDGES``  too dear to be read all the time: at the start and at the end only
``REMOTE``    read for nodes that are other machines, and nothing else is read for those
``EVERY_S``   read as often as this, in a thread of its own, whatever the pace of the others is
"""

from __future__ import annotations

import sys

from strata.model.plugins import modules
from strata.probes.port import Opener, Probe, ProbedNode, ProbeScope
from strata.probes.sampler import Sampler

__all__ = [
    "AT_EDGES",
    "EVERY_S",
    "OF_NODE",
    "PROBES",
    "REMOTE",
    "Opener",
    "Probe",
    "ProbeScope",
    "ProbedNode",
    "Sampler",
]

_FOUND = {module.__name__.rpartition(".")[2]: module for module in modules(sys.modules[__name__], "open_probe")}

PROBES: dict[str, Opener] = {name: module.open_probe for name, module in _FOUND.items()}

EVERY_S: dict[str, float] = {n: module.EVERY_S for n, module in _FOUND.items() if hasattr(module, "EVERY_S")}

OF_NODE, AT_EDGES, REMOTE = (
    frozenset(name for name, module in _FOUND.items() if getattr(module, said, False))
    for said in ("OF_NODE", "AT_EDGES", "REMOTE")
)
