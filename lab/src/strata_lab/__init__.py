"""Known limits, injected on purpose: the ground truth for verdicts, and a place to rehearse.

A package of its own beside Strata, which sees of it `strata_lab.commands` alone; docs/design/house.md has its rules.
"""
