"""How often a verdict is right, by the lab's truth: trials, kept cases, replay and scores."""
