"""The few numbers of each cell in columns, series over runs, heads for lists, and baselines.

What earlier versions saved is read once and put into the columns. A result that cannot be read stays as it is, without
figures: reading it says what is wrong with it.
"""

from __future__ import annotations

import array
import json
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

from strata.errors import RunFailed
from strata.model import histogram
from strata.parsing import inflate, json_of
from strata.store.payload import INFLATED_MOST

revision = "0002"
down_revision = "0001"

GRID = (1.0, *(float(p) for p in range(2, 99, 2)), 99.0, 99.5, 99.9, 99.99)
NAMED = {"p50_ns": 50.0, "p90_ns": 90.0, "p99_ns": 99.0, "p999_ns": 99.9}
BATCH = 500
UNLIKE = (ValueError, KeyError, TypeError, AttributeError, OverflowError)
"""What comes of a document that is no result of ours."""


def upgrade() -> None:
    """The tables, and what is known already in them."""
    heads = op.create_table(
        "heads",
        sa.Column("run_id", sa.String(64), nullable=False),
        sa.Column("layers", sa.Text(), nullable=False),
        sa.Column("workloads", sa.Text(), nullable=False),
        sa.Column("rounds", sa.Integer(), nullable=False),
        sa.Column("message", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("run_id", name="pk_heads"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_heads_run_id", ondelete="CASCADE"),
    )
    series = op.create_table(
        "series",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("layer", sa.Text(), nullable=False),
        sa.Column("workload_key", sa.Text(), nullable=False),
        sa.Column("identity", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_series"),
        sa.UniqueConstraint("layer", "workload_key", "identity", name="uq_series_layer"),
    )
    numbers: list[tuple[str, Any, bool]] = [("ops", sa.BigInteger(), False), ("errored", sa.BigInteger(), False)]
    numbers += [(n, sa.Float(), False) for n in ("iops", "bytes_per_second")]
    numbers += [(n, sa.Float(), True) for n in ("mean_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns")]
    figures = op.create_table(
        "figures",
        sa.Column("run_id", sa.String(64), nullable=False),
        sa.Column("step_order", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("series_id", sa.Integer(), nullable=False),
        sa.Column("created_unix_ns", sa.BigInteger(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        *(sa.Column(name, kind, nullable=empty) for name, kind, empty in numbers),
        sa.Column("caching", sa.Text(), nullable=False),
        sa.Column("quantiles", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "step_order", name="pk_figures"),
        sa.ForeignKeyConstraint(["series_id"], ["series.id"], name="fk_figures_series_id"),
        sa.ForeignKeyConstraint(
            ["run_id", "step_order"], ["cells.run_id", "cells.step_order"], name="fk_figures_run_id", ondelete="CASCADE"
        ),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_figures_series_id", "figures", ["series_id", "created_unix_ns"])
    op.create_table(
        "baselines",
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("created_unix_ns", sa.BigInteger(), nullable=False),
        sa.Column("runs", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", "version", name="pk_baselines"),
    )
    assert heads is not None and series is not None and figures is not None
    _fill(op.get_bind(), heads, series, figures)


def downgrade() -> None:
    """The columns are lost, and with them nothing that was measured; the baselines are lost."""
    op.drop_index("ix_figures_series_id", "figures")
    for table in ("baselines", "figures", "series", "heads"):
        op.drop_table(table)


def _fill(connection: sa.Connection, heads: sa.Table, series: sa.Table, figures: sa.Table) -> None:
    known: dict[tuple[str, str, str], int] = {}
    for run_id, created, text in connection.execute(sa.text("SELECT id, created_unix_ns, document FROM runs")).all():
        try:
            document = json_of(text)
            head, places = _head(document), _places(document)
        except UNLIKE:
            continue
        connection.execute(heads.insert(), {"run_id": run_id, **head})
        rows = []
        for order, layer, key, figure in _results(connection, run_id):
            identity = places.get(layer, "")
            if (layer, key, identity) not in known:
                known[layer, key, identity] = len(known) + 1
                # Without its number, which the database counts itself and goes on counting.
                connection.execute(series.insert(), {"layer": layer, "workload_key": key, "identity": identity})
            found = {"series_id": known[layer, key, identity], "created_unix_ns": created}
            rows.append({"run_id": run_id, "step_order": order, **found, **figure})
            if len(rows) == BATCH:
                connection.execute(figures.insert(), rows)
                rows = []
        if rows:
            connection.execute(figures.insert(), rows)


def _head(document: dict[str, Any]) -> dict[str, Any]:
    plan = document["plan"]
    keys = dict.fromkeys(cell_key(c) for c in plan["cells"])
    return {
        "layers": json.dumps([x["name"] for x in plan["stack"]["layers"]]),
        "workloads": json.dumps(list(keys)),
        "rounds": plan["rounds"],
        "message": document.get("message"),
    }


def cell_key(cell: dict[str, Any]) -> str:
    """A saved cell's workload key; it is not saved itself."""
    from strata.model.workload import Workload

    return Workload.model_validate(cell["workload"]).key


def _places(document: dict[str, Any]) -> dict[str, str]:
    stack = document["plan"]["stack"]
    environment = document["environment"]
    start = (environment["hostname"], stack["name"])
    engine = environment.get("engine", {}).get("name", "native")
    other = () if engine == "native" else (engine,)
    return {x["name"]: " · ".join((*start, _where(x["endpoint"]), *other)) for x in stack["layers"]}


def _where(endpoint: str) -> str:
    scheme, _, rest = endpoint.partition(":")
    if scheme in ("file", "block"):
        path = rest.removeprefix("//")
        return f"{scheme}:{path if scheme == 'block' else path.rpartition('/')[0] or '/'}"
    own = "127.0.0.1:0/"
    return f"own server, {endpoint.partition(own)[2]}" if scheme != "null" and own in endpoint else endpoint


def _results(connection: sa.Connection, run_id: str) -> Iterator[tuple[int, str, str, dict[str, Any]]]:
    asked = sa.text("SELECT step_order, round, kind, layer, workload_key, result FROM cells WHERE run_id = :run")
    for order, number, kind, layer, key, packed in connection.execute(asked, {"run": run_id}).all():
        try:
            figure = _figure(json_of(inflate(packed, INFLATED_MOST).decode()))
        except UNLIKE:
            continue
        if figure is not None:
            yield order, layer, key, {"round": number, "kind": kind, **figure}


def _figure(step: dict[str, Any]) -> dict[str, Any] | None:
    r = step.get("result")
    if r is None or step.get("error") or r["measured_ns"] <= 0:
        return None
    sides = (r["read"], r["write"])
    ops, seconds = sum(s["ops"] for s in sides), r["measured_ns"] / 1e9
    if ops == 0:
        return None
    times = _times([s.get("service_time") for s in sides])
    at = dict(zip(GRID, times, strict=True)) if times else {}
    return {
        "ops": ops,
        "errored": r["errored"],
        "iops": ops / seconds,
        "bytes_per_second": sum(s["bytes"] for s in sides) / seconds,
        "mean_ns": sum(s.get("service_sum_ns", 0) for s in sides) / ops,
        **{name: at.get(p) for name, p in NAMED.items()},
        "caching": _caching(r.get("caching")),
        "quantiles": array.array("f", times).tobytes(),
    }


def _times(payloads: list[str | None]) -> list[float]:
    try:
        merged = histogram.merge(payloads)
        if merged is None or not histogram.total(merged):
            return []
        return [float(v) for v in histogram.quantiles(merged, [p / 100 for p in GRID])]
    except RunFailed:
        return []


def _caching(caching: dict[str, Any] | None) -> str:
    if caching is None:
        return ""
    state = caching["in_force"]
    return f"{'direct' if state['direct'] else 'buffered'}, sync {state['sync']}, page cache {state['cache']}"
