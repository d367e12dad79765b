"""Open loop: does the mean rate hold, and how late are the starts."""

from __future__ import annotations

import json
import sys
from typing import Any

from strata.model import histogram

from .. import ours, tools
from ..context import Context, say
from ..estimate import exact, median
from ..rows import Row
from ..sample import NotHere

RATES = (1_000, 20_000, 200_000)
LAG_AT = 20_000
PERCENT = 0.02


def rows(ctx: Context) -> list[Row]:
    """Each rate and process on the null endpoint; lag at one of them; whether a rate beyond reach is flagged."""
    say("rates")
    micro = json.loads(tools.run([str(ctx.programs / "strata-micro"), "--fast"]).stdout)
    lags: list[float] = []
    made = []
    for iops in RATES:
        errors, sigmas = [], []
        for turn in range(ctx.rounds):
            answer = _run(ctx, iops, "constant", turn)
            errors.append(_beyond_one(answer, iops))
            if iops == LAG_AT:
                lags.append(histogram.quantiles(answer["lag"], [0.99])[0] / 1e3)
            answer = _run(ctx, iops, "poisson", turn)
            expected = iops * answer["measured_ns"] / 1e9
            sigmas.append((answer["read"]["ops"] - expected) / expected**0.5)
        made.append(Row(f"rate error, constant {iops:,}/s", "asked", "%", "<=", PERCENT, median(errors)))
        made.append(_poisson(iops, sigmas, answer["measured_ns"], micro))
    made.append(Row(f"lag p99 at {LAG_AT:,}/s", "intended start", "µs", "<=", 100.0, median(lags)))
    made.append(_overload())
    return made


def _run(ctx: Context, iops: int, process: str, seed: int) -> dict[str, Any]:
    spec = ours.on_null(ctx, iodepth=64, seed=seed + 1, rate_iops={"iops": iops, "process": process})
    answer, _ = ours.result(ctx, spec)
    return answer


def _poisson(iops: int, sigmas: list[float], measured_ns: int, micro: dict[str, Any]) -> Row:
    """The schedule's own error, and what of the counts' deviation chance (4 standard deviations) does not explain."""
    schedule = next(abs(r["poisson"]) * 100 for r in micro["rates"] if r["iops"] == iops)
    pull = sum(sigmas) / len(sigmas) ** 0.5
    one_sigma = 100 / (iops * measured_ns / 1e9 * len(sigmas)) ** 0.5
    error = schedule + max(0.0, abs(pull) - 4) * one_sigma
    note = f"counts: {pull:+.1f} standard deviations over {len(sigmas)} runs"
    return Row(f"rate error, Poisson {iops:,}/s", "asked", "%", "<=", PERCENT, exact(error), note)


def _beyond_one(answer: dict[str, Any], iops: int) -> float:
    """Percent by which the count is off, beyond the one I/O that any count may be."""
    expected = iops * answer["measured_ns"] / 1e9
    return float(max(0.0, abs(answer["read"]["ops"] - expected) - 1) / expected * 100)


def _overload() -> Row:
    """A rate nobody reaches, through the command a user types: share of runs that said so."""
    words = [sys.executable, "-m", "strata", "measure", "null:", "--rate-iops", "500000000"]
    measure = "overload flagged"
    try:
        done = tools.run([*words, "--runtime", "100ms", "--ramp-time", "0ms", "--json", "--progress", "none"])
    except NotHere as e:
        return Row(measure, "asked", "", ">=", 1.0, why_not=str(e))
    kinds = {check["kind"] for check in json.loads(done.stdout)["checks"]}
    return Row(
        measure,
        "asked",
        "",
        ">=",
        1.0,
        exact(float("overload" in kinds)),
        "1 of 1 run at 500 M/s" if "overload" in kinds else "",
    )
