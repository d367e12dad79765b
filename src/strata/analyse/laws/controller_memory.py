"""The storage controller has memory for its caches, near its processors.

What it claims
    A storage controller finds nearly all of its metadata in memory, its read cache answers more than a few of the
    reads, and its memory lies in one NUMA node.
Why it matters
    A read whose metadata is not in memory is two reads. A read cache that answers next to nothing is much too small for
    the working set, or the reads go past it. Memory of another node is slower for every request.
Evidence
    `hits.metadata` and `hits.data`, the shares of look-ups that the controller's caches answered;
    `memory.controller`, and `memory.node`, what one NUMA node has.
What rules it out
    From 99 % of the metadata, from 5 % of the data, and memory within a node on. Between 5 and 50 % of the data
    nothing is said: it depends on the working set (`hit-share` asks where its size is known).
Source
    The mean of a look-up is h · t_hit + (1 − h) · t_miss (Hennessy and Patterson, Computer Architecture); Lameter,
    NUMA: an overview, ACM Queue 11 (2013). The shares are those of a vendor's guide for its controllers (Nutanix
    Scalability, part 3: storage performance for a single virtual machine): 5 % of the data asks for more memory, 50 %
    is good, and metadata shall be close to 100 %.
"""

from __future__ import annotations

from strata import units
from strata.analyse.laws.base import Answers, flag, given, value
from strata.model.figures import Row, Table

NAME, TITLE, ORDER = "controller-memory", "memory of the storage controller", 295
SAYS = "the caches of the storage controller answer too little, or its memory spans NUMA nodes"
METADATA, DATA = 0.99, 0.05


def check(table: Table) -> Answers:
    for row in given(table):
        yield from _hits(table, row)
        memory, node = value(table, row, "memory.controller"), value(table, row, "memory.node")
        if memory is None or not node:
            continue
        yield None
        if memory > node:
            text = (
                f"the controller has {units.size(round(memory))} of memory, and one NUMA node {units.size(round(node))}"
            )
            step = "Stay within one node, and spread the load over more controllers; or measure both sizes."
            yield flag(row, text, step, column="memory.controller", numbers={"memory": memory, "node": node})


def _hits(table: Table, row: Row) -> Answers:
    metadata, data = value(table, row, "hits.metadata"), value(table, row, "hits.data")
    if metadata is not None:
        yield None
        if metadata < METADATA:
            text = (
                f"{units.percent(1 - metadata)} of the look-ups of metadata are not answered from memory: each is one "
            )
            text += "more read before the data"
            step = "Give the controller more memory until nearly all are, and measure again."
            yield flag(row, text, step, column="hits.metadata", numbers={"hits": metadata})
    if data is not None:
        yield None
        if data <= DATA:
            text = (
                f"the read cache answers {units.percent(data)} of the reads: it is much smaller than the working set, "
            )
            text += "or reads go past it"
            step = "Sweep the working set (strata scale --over range); twice the cache answers twice of it at the most."
            yield flag(row, text, step, column="hits.data", numbers={"hits": data})
