"""Strata finds the layer of a storage stack that is slow, proves it with an experiment, and remembers.

``strata.survey``, ``measure``, ``diagnose``, ``compare`` and ``load`` are the commands of these names as functions: see
`strata.api`. They are loaded when one of them is first asked for; importing a part of the package pays for that part.
"""

import sys
from types import ModuleType

# Type checkers know the name; `typing` itself would be half of what importing the package costs.
TYPE_CHECKING = False

__version__ = "0.1.0"
__all__ = ["__version__", "compare", "diagnose", "load", "measure", "survey"]

if TYPE_CHECKING:
    from strata.api import compare, diagnose, load, measure, survey
else:

    def __getattr__(name):
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module("strata.api"), name)

    def __dir__():
        return sorted({*globals(), *__all__})

    class _Package(ModuleType):
        """``strata.diagnose`` is the function although a room has that name: importing the room does not replace it."""

        @property
        def diagnose(self):
            return __getattr__("diagnose")

        @diagnose.setter
        def diagnose(self, room):
            pass

    sys.modules[__name__].__class__ = _Package
