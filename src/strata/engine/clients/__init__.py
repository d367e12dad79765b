"""One workload by several clients at once: each a process with an engine of its own, all started at one instant.

`measure_client` is what a client does, wherever it is: plain values in and out. `run_clients` has it done by processes
of this machine and puts together what they say.
"""

from __future__ import annotations

from strata.engine.clients.client import measure_client
from strata.engine.clients.local import run_clients
from strata.engine.clients.words import client_words

__all__ = ["client_words", "measure_client", "run_clients"]
