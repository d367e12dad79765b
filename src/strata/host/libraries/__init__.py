"""Client libraries of storage clusters, loaded at run time in a process of their own.

In ours they would bring threads, signal handlers and time limits of their own, and a call that never returns could not
be ended. `asking` is the side of whoever asks; the other modules run in the child and need nothing but Python.
"""
