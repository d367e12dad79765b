"""Which profile a word names: a file, one of the user's own, or one that comes with Strata."""

from __future__ import annotations

from pathlib import Path

from strata.host.foreign import WORDS_MOST, read_text
from strata.host.xdg import config_path
from strata.model.profile import Profile
from strata.plan.profiles import own_profile, profile_of


def find_profile(word: str) -> Profile:
    """The profile in the file ``word``, else the user's own of that name, else Strata's.

    A user's own are ``NAME.toml`` in ``profiles`` beside the user's configuration (`strata.host.xdg.config_path`).
    Raises `UsageError`.
    """
    if word.endswith(".toml") or "/" in word:
        return _read(Path(word), Path(word).stem)
    of_user = config_path() / "profiles" / f"{word}.toml"
    return _read(of_user, word) if of_user.exists() else own_profile(word)


def _read(path: Path, name: str) -> Profile:
    text = read_text(path, "cannot read the profile", WORDS_MOST, "give a .toml file")
    return profile_of(text, name, str(path))
