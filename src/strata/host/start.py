"""Where a Python child of ours begins: ``python -I start.py FOLDER MODULE WORD…`` runs a module from FOLDER.

In place of a module a file can be named by its path; what its package imports is then not loaded.
"""

import contextlib
import runpy
import sys
from pathlib import Path


def _called() -> str:
    """What it is: ``strata target``, ``strata disk``. Else a verdict would speak of a server called python."""
    program, *words = sys.argv
    if program == "strata" and words:
        return f"strata {words[0]}"
    return f"strata {Path(program).stem if '/' in program else program.rpartition('.')[2]}"


if __name__ == "__main__":
    # Isolated, Python looks neither here nor in PYTHONPATH: a checkout, or a directory somebody installed into.
    del sys.argv[0]
    for root in (sys.argv.pop(0), __file__.rpartition("/strata/host/")[0]):
        if root not in sys.path:
            sys.path.insert(0, root)
    with contextlib.suppress(OSError), Path("/proc/self/comm").open("wb") as comm:
        comm.write(_called().encode()[:15])
    if "/" in sys.argv[0]:
        runpy.run_path(sys.argv[0], run_name="__main__")
    else:
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
