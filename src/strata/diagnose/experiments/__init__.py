"""The experiments: one module each, found because it lies here. Its docstring is its page.

``propose(case, standing) -> Experiment | None`` fills one in for the causes that stand, the favourite first. It states
the favourite's prediction, or with ``predictions`` that of all of them; the others' are asked of their rules.
"""
