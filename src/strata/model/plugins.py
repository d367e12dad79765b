"""Things that register themselves by lying in a folder: a counter, a probe, a law, a cause, an experiment."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import textwrap
from types import ModuleType


def modules(package: ModuleType, having: str | None = None) -> tuple[ModuleType, ...]:
    """What lies directly in the folder, by name; what begins with ``_`` is a helper.

    With ``having`` only modules with an attribute of that name: others may lie there too.
    """
    names = sorted(found.name for found in pkgutil.iter_modules(package.__path__) if not found.name.startswith("_"))
    every = (importlib.import_module(f"{package.__name__}.{name}") for name in names)
    return tuple(module for module in every if having is None or hasattr(module, having))


def section(name: str, page: str, more: str = "") -> str:
    """A module's page as Markdown: its title, and a paragraph under each of its headings."""
    title, _, rest = inspect.cleandoc(page).partition("\n\n")
    said: list[str] = []
    heading, paragraph = "", list[str]()
    for line in [*rest.splitlines(), "end"]:
        if line.strip() and not line.startswith(" "):
            if paragraph:
                said.append(f"**{heading}.** {' '.join(paragraph)}" if heading else " ".join(paragraph))
            heading, paragraph = line.strip(), []
        elif line.strip():
            paragraph.append(line.strip())
    body = "\n\n".join("\n".join(textwrap.wrap(p, 118, break_long_words=False, break_on_hyphens=False)) for p in said)
    return f"### `{name}`\n\n{title}{more}\n\n{body}"
