"""Known limits, injected on purpose: the ground truth for verdicts, and a place to rehearse."""
