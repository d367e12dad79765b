"""Where a Python child of ours begins: ``python -I start.py MODULE WORD…`` runs a module of the package it lies in."""

import runpy
import sys

if __name__ == "__main__":
    # Isolated, Python looks neither here nor in PYTHONPATH: a checkout, or a directory somebody installed into.
    root = __file__.rpartition("/strata/host/")[0]
    if root not in sys.path:
        sys.path.insert(0, root)
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
