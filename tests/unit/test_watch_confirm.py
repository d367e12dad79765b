"""What would prove a watching: the observed load as a profile, its price by the plan, and the diagnosis that is run."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from strata.app import watch_confirm
from strata.app.profiles import find_profile
from strata.app.watch_confirm import confirmation, confirmed, observed_profile, place_of
from strata.model.finding import Cause, Verdict, VerdictKind
from strata.model.rw import Rw
from tests.unit.probes.test_traced_requests import saved_trace


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRATA_STATE_DIR", str(tmp_path / "state"))


def test_the_profile_is_what_was_observed_and_can_be_read_back(tmp_path: Path) -> None:
    derived = observed_profile(saved_trace(tmp_path / "saved"), True, "/mnt")
    assert derived is not None
    proof = confirmation(str(tmp_path), derived)
    assert proof is not None
    assert proof.profile is not None
    again = find_profile(proof.profile)
    assert [w.workload.key for w in again.workloads] == [proof.workload_key]
    workload = again.workloads[0].workload
    assert (workload.rw, workload.bs, workload.outstanding) == (Rw("read"), 8192, 4)
    assert proof.command == f"strata diagnose {tmp_path} --profile {proof.profile}"
    assert proof.seconds is not None
    assert proof.seconds > 0
    assert proof.writes_bytes is not None
    assert not any(p.suffix == ".dat" for p in tmp_path.iterdir())


def test_without_a_trace_the_standard_workloads_would_prove_it(tmp_path: Path) -> None:
    proof = confirmation(str(tmp_path), None)
    assert proof is not None
    assert proof.command == f"strata diagnose {tmp_path}"
    assert observed_profile(None, True, "/mnt") is None


def test_a_file_is_diagnosed_beside_it_and_a_device_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "a.dat"
    file.touch()
    assert place_of(str(file)) == tmp_path
    assert place_of("/dev/null") is None


def test_it_is_run_with_the_observed_load_alone_and_its_verdict_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    verdict = Verdict(
        kind=VerdictKind.LAYER, layer="disk", cause=Cause.SLOW_MEDIUM, confidence=0.97, headline="h", explanation="e",
        next_step="n",
    )  # fmt: skip

    def diagnosed(where: Path, options: Any, emit: Any) -> Any:
        asked.append((where, options))
        return SimpleNamespace(diagnosis=SimpleNamespace(verdict=verdict), run=SimpleNamespace(id="r1"))

    monkeypatch.setattr(watch_confirm, "diagnose_path", diagnosed)
    derived = observed_profile(saved_trace(tmp_path / "saved"), True, "/mnt")
    proof = confirmation(str(tmp_path), derived)
    assert proof is not None
    done = confirmed(str(tmp_path), derived, proof, "sqlite:///x.db", lambda _: None)
    assert (done.verdict, done.run) == (verdict, "r1")
    where, options = asked[0]
    assert where == tmp_path
    assert options.store == "sqlite:///x.db"
    assert [w.workload.key for w in options.profile.workloads] == [proof.workload_key]
    # What was watched on nodes is driven from them.
    confirmed(str(tmp_path), derived, proof, None, lambda _: None, "tls://scheduler:8786")
    assert asked[1][1].nodes == "tls://scheduler:8786"
