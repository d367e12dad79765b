"""The process of a `TargetProcess`: the compiled server, by the configuration in its one word.

It loads nothing else of Strata: a run with a share starts several, and each would load the whole command line for
less than a second of service.
"""

from __future__ import annotations

import sys

from strata import _core
from strata.text import output


def main(config_json: str) -> int:
    """Serves until SIGTERM or SIGINT; its exit status."""
    output.open_()
    try:
        _core.target_serve(config_json)
    except (OSError, ValueError) as e:
        # Only now: the rest of the engine.
        from strata.engine.target import refused

        error = refused(e)
        output.note(error.render())
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
