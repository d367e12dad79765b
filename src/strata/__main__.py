"""``python -m strata``."""

import os
import sys

# Python puts the current directory before everything else: a json.py that lies there would be ours.
if not sys.flags.safe_path and sys.path and sys.path[0] in ("", os.getcwd()):  # noqa: PTH109 - imports nothing more
    del sys.path[0]

from strata.cli import main

if __name__ == "__main__":
    main()
