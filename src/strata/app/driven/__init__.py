"""A stack whose layers are driven from their own nodes.

``held`` is what a node does for a run: a `Place` over exactly its layers, their safety, test file and counters.
``group`` asks the nodes; ``place`` is the place of the whole stack to whoever runs it.
"""
