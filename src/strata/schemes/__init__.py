"""What lies behind a network: one file for each endpoint scheme, found because it lies here."""

from __future__ import annotations

import importlib
import pkgutil
import re
from enum import StrEnum
from typing import TYPE_CHECKING

from strata.schemes.declared import Scheme


def _found() -> dict[str, Scheme]:
    names = sorted(found.name for found in pkgutil.iter_modules(__path__))
    every = (importlib.import_module(f"{__name__}.{name}") for name in names)
    return {module.SCHEME.name: module.SCHEME for module in every if hasattr(module, "SCHEME")}


SCHEMES: dict[str, Scheme] = _found()
"""Every scheme by its name."""


class EndpointKind(StrEnum):
    """The kinds an engine can drive: what is of this machine, and every scheme."""

    FILE = "file"
    BLOCK = "block"
    NULL = "null"
    vars().update({name.upper(): name for name in SCHEMES})
    if TYPE_CHECKING:
        # Those whose name stands in other modules.
        NBD = "nbd"
        SMB = "smb"
        RBD = "rbd"
        GLUSTER = "gluster"


WRITTEN = {
    "file": "file:/path",
    "block": "block:/dev/…",
    "null": "null:",
    **{word: form for scheme in SCHEMES.values() for word, form in scheme.forms.items()},
}
"""How an endpoint of each kind is written, by the word before the colon."""

BRIEFLY = ", ".join(
    form if form.endswith(("…", ":")) else re.sub(r"(:/*).*", r"\1…", form, count=1)
    for word, form in WRITTEN.items()
    if "+" not in word
)
"""How an endpoint of each kind begins, for one sentence."""
