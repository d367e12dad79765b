"""Nodes as processes of this machine, and how far apart their loads begin."""
