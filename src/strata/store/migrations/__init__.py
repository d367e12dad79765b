"""The schema's history. A revision that was released is never edited; a change is a new file in ``versions``."""
