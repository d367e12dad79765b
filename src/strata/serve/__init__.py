"""The page: what is in the store and what is measured now, for a browser on this machine.

It shows what `app` finds with the pages of `report`; it measures nothing, and it changes nothing unless it was started
with ``--control``. Whom it answers is decided in one place (`strata.serve.guard`).
"""
