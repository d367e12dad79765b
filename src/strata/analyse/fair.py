"""Whether two runs may be compared: their environments, field by field.

A field either *prevents* a comparison (another generator, another size of the data: the figures then are of two
different measurements) or leaves a *caveat* (another kernel, device or power plan: perhaps just what is to be compared,
and then everything else has to be the same). What only one side recorded is a caveat, because it is not known.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from strata import units
from strata.analyse.platform import facts_of
from strata.model.compared import EnvironmentField, Fairness
from strata.model.run import RunBrief
from strata.model.survey import Survey

Fields = Mapping[str, tuple[str | None, Fairness]]

_PREVENTS, _CAVEAT = Fairness.PREVENTS, Fairness.CAVEAT


def compare_environments(a: RunBrief, b: RunBrief) -> tuple[EnvironmentField, ...]:
    """Every field of both, those that are the same too, in the order in which they matter."""
    left, right = fields_of(a), fields_of(b)
    # A survey of an earlier version knows less: what it did not look at is no difference.
    unequal = a.survey is not None and b.survey is not None and _thorough(a.survey) != _thorough(b.survey)
    found = []
    for name in dict.fromkeys((*left, *right)):
        if unequal and (name in left) != (name in right):
            continue
        x, weight = left.get(name, (None, _CAVEAT))
        y, other = right.get(name, (None, _CAVEAT))
        heavy = _PREVENTS if _PREVENTS in (weight, other) and x is not None and y is not None else _CAVEAT
        found.append(EnvironmentField(name=name, a=x, b=y, fairness=Fairness.SAME if x == y else heavy))
    return tuple(found)


def fields_of(run: RunBrief) -> Fields:
    """What is known of the environment of one run, in words."""
    e, plan = run.environment, run.plan
    engine = e.engine
    size = run.data.size if run.data is not None else plan.file_size
    found: dict[str, tuple[str | None, Fairness]] = {
        "load generator": (str(engine.get("name", "native")), _PREVENTS),
        # Of our own engine the released one: each commit has another hash, and most of them change no figure.
        "generator's version": (str(engine.get("version", "unknown")), _PREVENTS),
        "build": (_text(e.build.get("profile")), _PREVENTS),
        "size of the data": (units.size(size), _PREVENTS),
        "ramp and run time": (f"{plan.ramp_s:g} s + {plan.runtime_s:g} s", _PREVENTS),
        "Strata": (e.strata_version, _CAVEAT),
        "sources": (_text(e.build.get("source") or e.build.get("git")), _CAVEAT),
        "host": (e.hostname, _CAVEAT),
        "kernel": (e.kernel, _CAVEAT),
        "stack": (plan.stack.name, _CAVEAT),
        "placement": (_text(plan.placement.job if plan.placement else "none"), _CAVEAT),
        "preconditioning": (_text(plan.precondition.model_dump() if plan.precondition else "none"), _CAVEAT),
        "idle between steps": (f"{plan.cooldown_s:g} s", _CAVEAT),
    }
    if run.survey is not None:
        found |= {name: (value, _CAVEAT) for name, value in _platform(run.survey).items()}
    return found


def _platform(s: Survey) -> dict[str, str | None]:
    """Its facts, with the devices under their own names: another disk is another disk, also of the same model."""
    found: dict[str, str | None] = {"devices": " → ".join(d.name for d in s.devices) or None}
    found |= {f"{device.name}: serial": device.serial for device in s.devices}
    return found | facts_of(s, lambda device: device.name)


def _thorough(s: Survey) -> bool:
    return s.cpu.sockets is not None or bool(s.tiers or s.interfaces)


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
