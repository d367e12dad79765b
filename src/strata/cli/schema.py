"""``strata schema``: the shape of the documents that ``--json`` prints."""

from __future__ import annotations

from typing import Annotated

import typer

from strata.cli import lab_door
from strata.text.output import out


def schema(
    name: Annotated[
        str | None, typer.Argument(help="Document: report, check, import, … (default: the names of all).")
    ] = None,
) -> None:
    """Print the JSON Schema of a document that --json prints. Documents: strata.report/1 and others."""
    from strata.app import schemas

    others = lab_door.documents()
    if name is None:
        out("\n".join(f"strata.{one}/1" for one in schemas.names(others)))
        return
    out(schemas.schema(name.removeprefix("strata.").partition("/")[0], others), exact=True)
