"""What every value of the vocabulary is: frozen, closed to unknown keys, saved and loaded as JSON."""

from __future__ import annotations

import os

# No plugin of another package has a say in our values, and looking for one opens every package that is installed.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict

from strata.text import secrets


class Value(BaseModel):
    """A frozen value; ``model_dump_json`` and ``model_validate_json`` are its saved form."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        ser_json_inf_nan="null",
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        # Built on first use: a command pays for the values it makes, not for all there are.
        defer_build=True,
    )


def _without_secrets(words: Any) -> Any:
    return secrets.hidden_line(words) if isinstance(words, (list, tuple)) and all(map(_is_text, words)) else words


def _is_text(word: object) -> bool:
    return isinstance(word, str)


CommandLine = Annotated[tuple[str, ...], BeforeValidator(_without_secrets)]
"""A command line that is kept: whoever makes one, or reads one that somebody else kept, has it without secrets."""
