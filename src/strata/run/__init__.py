"""Carrying out a run: strategies that say what is measured next, and the one runner that gives them hands."""
