"""The JSON that a command printed, back as the value it was printed from."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from strata import units
from strata.app.measure import OneResult
from strata.errors import UsageError, choices
from strata.host.untrusted import read_text
from strata.model.base import Value
from strata.model.compared import ComparedRuns
from strata.model.matrix import MatrixResult
from strata.model.scale import ScaleResult
from strata.model.survey import Survey
from strata.parsing import Malformed, json_of
from strata.report.json_ import SCHEMA, SURVEY_SCHEMA, Document

Kept = Document | MatrixResult | ScaleResult | OneResult | ComparedRuns | Survey
"""What a JSON document of ours is."""

_KINDS: dict[str, type[Value]] = {
    SCHEMA: Document,
    **{
        kind.model_fields["schema_version"].default: kind
        for kind in (OneResult, MatrixResult, ScaleResult, ComparedRuns)
    },
    SURVEY_SCHEMA: Survey,
}
_BYTES_MOST = 64 * units.MIB
"""A result of many hours with its intervals has a few MiB."""


def read_document(path: Path) -> Kept:
    """The value in a file that ``--json`` of diagnose, measure, report, compare or survey printed.

    Raises `UsageError` where it is none, or one of another version.
    """
    what, hint = "cannot read the document", "give a file with the --json output of strata diagnose, measure, report …"
    text = read_text(path, what, _BYTES_MOST, hint)
    try:
        found = json_of(text)
    except Malformed as e:
        raise UsageError(what, str(path), str(e), hint) from e
    schema = found.get("schema") if isinstance(found, dict) else None
    if schema not in _KINDS:
        why = "it has no schema key" if schema is None else f"its schema is {schema!r}"
        raise UsageError(what, str(path), why, choices(str(schema), _KINDS))
    kind = _KINDS[schema]
    try:
        value = kind.model_validate(found.get("survey") if kind is Survey else found)
    except ValidationError as e:
        first = e.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(what, str(path), f"{where}: {first['msg']}", "read it with the version that wrote it") from e
    assert isinstance(value, Kept)
    return value
