"""The open loop: the rate is kept, lateness is told, and a rate that cannot be kept is never passed over."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import QUICK, measured, strata, target

from strata.model import histogram

SECONDS = 1.0
RATE = 2000
QUANTILES = [0.1, 0.5, 0.9, 0.99, 1.0]


@pytest.fixture(scope="module")
def capped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """1000 requests a second and no more."""
    socket: Path = tmp_path_factory.mktemp("capped") / "s"
    with target("--memory", "16m", "--writable", "--iops", 1000, "--socket", socket) as (uri, _):
        yield uri


def times(result: dict[str, Any]) -> tuple[list[int], list[int]]:
    """Service and response times at the same quantiles, after checking that both speak of every I/O."""
    read = result["read"]
    assert histogram.total(read["response_time"]) == histogram.total(read["service_time"]) == read["ops"]
    return histogram.quantiles(read["service_time"], QUANTILES), histogram.quantiles(read["response_time"], QUANTILES)


def kinds(document: dict[str, Any]) -> list[str]:
    return [c["kind"] for c in document["checks"]]


@pytest.mark.alone
@pytest.mark.parametrize("process", ["constant", "poisson"])
def test_the_rate_is_what_was_asked(process: str) -> None:
    words = ("null:", "--rate-iops", RATE, "--rate-process", process, "--runtime", f"{SECONDS}s")
    asked = RATE * SECONDS
    # A constant rate is exact but for what a stall at an end moves across it; Poisson counts differ by √n.
    slack = 0.02 * asked + (6 * math.sqrt(asked) if process == "poisson" else 0)
    for _ in range(3):
        document = measured(*words)
        result = document["result"]
        # A wrong rate is wrong each time.
        if abs(result["read"]["ops"] - asked) <= slack:
            break
    assert abs(result["read"]["ops"] - asked) <= slack
    assert document["workload"]["arrival"] == {"kind": "open", "iops": RATE, "process": process, "iodepth": 256}
    assert abs(histogram.total(result["lag"]) - asked) <= slack + 1
    service, response = times(result)
    assert all(r >= s for s, r in zip(service, response, strict=True))
    assert "overload" not in kinds(document)


@pytest.mark.alone
def test_a_target_that_keeps_up_is_not_flagged(capped: str) -> None:
    for _ in range(3):
        document = measured(capped, "--rate-iops", 500, "--runtime", f"{SECONDS}s")
        # A stall at an end moves its share across it, and may be an overload for once.
        if kept := abs(document["result"]["read"]["ops"] - 500 * SECONDS) <= 50 and "overload" not in kinds(document):
            break
    assert kept, (document["result"]["read"]["ops"], kinds(document))


@pytest.mark.alone
def test_overload_is_said(capped: str) -> None:
    words = (capped, "--rate-iops", RATE, "--runtime", f"{SECONDS}s")
    document = measured(*words)
    result = document["result"]
    assert result["read"]["ops"] <= 1050 * SECONDS
    service, response = times(result)
    assert all(r >= s for s, r in zip(service, response, strict=True))
    # A second's work is asked for in half a second: the last I/O is some half a second late.
    assert response[-1] > 2e8
    assert histogram.quantiles(result["lag"], [1.0])[0] > 1e8
    said = [c["message"] for c in document["checks"] if c["kind"] == "overload"]
    assert len(said) == 1
    assert "the target does not keep up" in said[0]
    text = strata("measure", *words, *QUICK)
    assert text.returncode == 0, text.stderr
    assert "! overload" in text.stdout
    assert "from the intended start" in text.stdout


def test_an_unknown_process_is_a_usage_error() -> None:
    done = strata("measure", "null:", "--rate-iops", 10, "--rate-process", "bursty", *QUICK)
    assert done.returncode == 2
    assert "bursty" in done.stderr
