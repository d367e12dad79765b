"""How often a watching is right; draw, truth, split and scores are those of `diagnosisbench`."""
