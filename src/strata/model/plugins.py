"""Things that register themselves by lying in a folder: a counter, a probe, a law, a cause, an experiment."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType


def modules(package: ModuleType, having: str | None = None) -> tuple[ModuleType, ...]:
    """What lies directly in the folder, by name; what begins with ``_`` is a helper.

    With ``having`` only modules with an attribute of that name: others may lie there too.
    """
    names = sorted(found.name for found in pkgutil.iter_modules(package.__path__) if not found.name.startswith("_"))
    every = (importlib.import_module(f"{package.__name__}.{name}") for name in names)
    return tuple(module for module in every if having is None or hasattr(module, having))
