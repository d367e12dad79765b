"""The causes: one module each, found because it lies here. Its docstring is its page.

``CAUSE`` is what it names. ``judge_pair(pair) -> Opinion | None`` is asked of each layer that costs more than what it
is compared with, ``judge(case) -> Iterable[Opinion]`` once of everything: what a layer shows by itself, or against its
reference. ``PRECEDENCE`` decides between two that hold with the same weight: the lower is the more specific.
``predict(case, opinion, experiment) -> (low, high) | None`` says what an experiment would give if it were so, in the
metric of the experiment; without it, the shape of the opinion says so. ``SIDES`` are those of `strata.diagnose.sides`.
"""
