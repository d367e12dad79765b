"""What every value of the vocabulary is: frozen, closed to unknown keys, saved and loaded as JSON."""

from __future__ import annotations

import json
import math
import os

# No plugin of another package has a say in our values, and looking for one opens every package that is installed.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, SecretStr, StringConstraints
from pydantic_core import PydanticSerializationError

from strata import parsing, units
from strata.text import controls, secrets


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

    def __copy__(self) -> Self:
        """Without what was worked out from the fields: ``model_copy`` gives the copy other ones."""
        copied = super().__copy__()
        for name in copied.__dict__.keys() - type(self).__pydantic_fields__.keys():
            del copied.__dict__[name]
        return copied

    def model_dump_json(self, *, indent: int | None = None, **how: Any) -> str:
        """As pydantic's. A path that is no text, which no JSON can hold, is in it as it is shown."""
        try:
            return super().model_dump_json(indent=indent, **how)
        except PydanticSerializationError:
            told = _as_text(self.model_dump(mode="json", **how))
            return json.dumps(told, indent=indent, ensure_ascii=False, allow_nan=False)


def build_all() -> None:
    """Builds every value that is imported: whoever answers others does not let the first of them wait for it."""
    left = [Value]
    while left:
        for kind in left.pop().__subclasses__():
            kind.model_rebuild()
            left.append(kind)


class WithPassword(Value):
    """A value with an address whose password is kept beside it while it lives, and saved or printed with nothing."""

    _password: SecretStr | None = PrivateAttr(default=None)

    @property
    def password(self) -> str | None:
        """The password that stood in the address."""
        return None if self._password is None else self._password.get_secret_value()

    def with_password(self, password: str | None) -> Self:
        """The same and this password for its address."""
        made = self.model_copy()
        made._password = None if password is None else SecretStr(password)
        return made


class OfCell(Value):
    """What is said of one cell, by its two keys."""

    layer: str
    workload_key: str

    @property
    def name(self) -> str:
        """``<layer>/<workload key>``, as in a plan."""
        return f"{self.layer}/{self.workload_key}"


def _as_text(told: Any) -> Any:
    """A JSON value whose texts can be encoded and whose numbers JSON knows."""
    if isinstance(told, dict):
        return {_as_text(key): _as_text(value) for key, value in told.items()}
    if isinstance(told, list):
        return [_as_text(value) for value in told]
    if isinstance(told, float) and not math.isfinite(told):
        return None
    return controls.halves(told) if isinstance(told, str) else told


def sparse(default: Any, **constraints: Any) -> Any:
    """A field that is not written where it says nothing: one that came later, so that older readers agree."""
    return Field(default=default, exclude_if=lambda value: value == default, **constraints)


def _without_secrets(words: Any) -> Any:
    texts = isinstance(words, (list, tuple)) and all(isinstance(word, str) for word in words)
    return secrets.hidden_line(words) if texts else words


RunId = Annotated[str, StringConstraints(pattern=rf"^{parsing.RUN_ID}$")]
"""The name of a run, wherever it comes from."""

UnixNs = Annotated[int, Field(ge=0, lt=units.MOST)]
"""An instant in ns since the epoch, until the year 2262: what a database keeps in 64 bits."""

CommandLine = Annotated[tuple[str, ...], BeforeValidator(_without_secrets)]
"""A command line that is kept: whoever makes one, or reads one that somebody else kept, has it without secrets."""
