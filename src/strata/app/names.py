"""The names that can be asked for, read from where they are, without loading what they name."""

from __future__ import annotations

from strata.host.shipped import demos, injections, profiles, stacks, toml_names
from strata.host.xdg import config_path
from strata.model.axes import MATRICES

__all__ = ["demos", "injections", "known_profiles", "matrices", "profiles", "stacks"]


def known_profiles() -> tuple[str, ...]:
    """The profiles that come with Strata and the user's own."""
    return tuple(sorted({*profiles(), *toml_names(config_path() / "profiles")}))


def matrices() -> tuple[str, ...]:
    """The matrices that have a name."""
    return tuple(MATRICES)
