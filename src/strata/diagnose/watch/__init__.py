"""What limits somebody else's load, by operational evidence alone. Pure: what was observed gives the verdict.

A rule is a module of `rules`, found because it lies there. It answers with claims; `verdict` chooses between them.
"""
