"""One module for each thing that can limit a load: ``judge(view)`` answers with claims, exclusions and what is
missing.
"""
