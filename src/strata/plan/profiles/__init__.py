"""Profiles: the workloads of an application, one TOML file each beside this one.

A file has a ``title``, a ``source``, and ``[[workload]]`` tables in the words of the command line (``rw``, ``bs``,
``iodepth``, ``rwmixread``, …) with a ``name``, a ``why`` and ``goals``. Users' own files look the same.
"""

from __future__ import annotations

from importlib import resources
from typing import Any

from pydantic import ValidationError

from strata import parsing, units
from strata.errors import UsageError, choices
from strata.host import shipped
from strata.model.profile import RATES, Goal, Profile, ProfileWorkload
from strata.model.workload_options import WORDS
from strata.plan.words import workload_from_words

_OWN = ("name", "why", "goals")


def own_profile(name: str) -> Profile:
    """The profile of that name that comes with Strata. Raises `UsageError` that names those there are."""
    if name not in shipped.profiles():
        there = f"{choices(name, shipped.profiles())}; or give a .toml file"
        raise UsageError("there is no profile", name, "", there)
    return profile_of((resources.files(__name__) / f"{name}.toml").read_text(encoding="utf-8"), name, name)


def profile_of(text: str, name: str, where: str) -> Profile:
    """The profile that a TOML text holds. Raises `UsageError` with every problem found."""
    try:
        raw = parsing.toml_of(text)
    except parsing.Malformed as e:
        raise UsageError("cannot read the profile", where, str(e)) from e
    problems = [f"unknown key {key!r}" for key in raw if key not in ("title", "source", "workload")]
    problems += [f"no {key}" for key in ("title", "source", "workload") if not raw.get(key)]
    tables = raw.get("workload", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        problems.append("workload must be an array of [[workload]] tables")
        tables = []
    made = [w for i, table in enumerate(tables) if (w := _workload(table, i + 1, problems)) is not None]
    if not problems:
        try:
            return Profile(name=name, title=raw["title"], source=raw["source"], workloads=tuple(made))
        except ValidationError as e:
            problems += [str(p["msg"]).removeprefix("Value error, ") for p in e.errors()]
    raise UsageError("cannot use the profile", where, "", "", tuple(problems))


def _workload(table: dict[str, Any], number: int, problems: list[str]) -> ProfileWorkload | None:
    name = str(table.get("name", f"workload {number}"))
    before = len(problems)
    unknown = [key for key in table if key not in WORDS + _OWN]
    problems += [f"{name}: unknown key {key!r}" for key in unknown]
    if "name" not in table:
        problems.append(f"{name}: no name")
    if "rw" not in table:
        problems.append(f"{name}: no rw")
    if len(problems) > before:
        return None
    words = {key: table[key] for key in WORDS if key in table}
    try:
        workload = workload_from_words(**words)
        goals = tuple(_goal(goal) for goal in table.get("goals", ()))
        return ProfileWorkload(name=name, workload=workload, why=table.get("why", ""), goals=goals)
    except UsageError as e:
        problems += [f"{name}: {problem}" for problem in e.problems or (e.why,)]
    except ValidationError as e:
        problems += [f"{name}: {str(p['msg']).removeprefix('Value error, ')}" for p in e.errors()]
    except (TypeError, AttributeError) as e:
        problems.append(f"{name}: a value has the wrong type for its key ({e})")
    return None


def _goal(raw: dict[str, Any]) -> Goal:
    """Bounds as people write them: ``20ms``, ``500MiB/s``, a number of IOPS."""
    rate = raw.get("figure") in RATES
    bounds = {}
    for key, bound in raw.items():
        if key == "figure":
            continue
        if not isinstance(bound, str):
            bounds[key] = bound
        elif rate:
            bounds[key] = units.parse_size(bound.removesuffix("/s"))
        else:
            bounds[key] = units.parse_duration_ns(bound)
    return Goal.model_validate({"figure": str(raw.get("figure", "")), **bounds})
