"""``strata import``: results of other tools into the store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from strata.cli import common
from strata.cli.bundles import Kept
from strata.errors import Exit


def import_(
    named: Kept,
    paths: Annotated[
        list[str],
        typer.Argument(help="Files, archives, folders (with all below them), patterns, or - for standard input."),
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read the files and store nothing.")] = False,
    layer: Annotated[
        str | None, typer.Option(help="Layer that was measured (default: the target as the tool names it).")
    ] = None,
    stack: Annotated[str, typer.Option(help="Stack that the layer belongs to.")] = "imported",
    host: Annotated[str | None, typer.Option(help="Host that issued the I/O (default: the host in the file).")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Setting that the files do not contain: NAME=VALUE, e.g. direct=1 or runtime=60s."),
    ] = None,
    column: common.Columns = None,
    mapping: Annotated[
        Path | None, typer.Option(help="File (.toml) with the meanings of columns and settings: [columns] and [set].")
    ] = None,
    json: common.JsonFlag = False,
    store: common.StoreUrl = None,
) -> int:
    """Import results of fio, diskspd and other tools as runs. Formats are recognised by their content.

    Exit code 1 if a file was not understood; the others are imported.
    """
    from strata.app.imported_run import ImportedAs
    from strata.app.imports import import_paths, mapping_of, settings_of
    from strata.report.import_text import import_text

    columns, given = ({}, {}) if mapping is None else mapping_of(mapping)
    names = ImportedAs(
        layer=layer,
        stack=stack,
        host=host,
        label=named.label,
        settings=given | settings_of(settings or []),
        columns=columns | common.columns(column),
    )
    found = import_paths(paths, store, names, dry_run=dry_run)
    common.show(found, import_text, json)
    return Exit.FAILED if found.refused or any(f.not_kept for f in found.files) else Exit.FINE
