"""Text on its way out: what must not be seen in it, what a terminal must not obey, what a stream cannot write."""
