"""What would prove a watching's verdict: the load as it was observed, as a profile, and the diagnosis that runs it."""

from __future__ import annotations

import shlex
from pathlib import Path

from strata import units
from strata.app.derive import Derived, write_profile
from strata.app.diagnose import diagnose_path, plan_only
from strata.app.options import Options, unsaid
from strata.app.runner import Emit
from strata.app.where import diagnosis_of, place_of
from strata.errors import StrataError
from strata.host.xdg import state_dir
from strata.model.profile import Profile, ProfileWorkload
from strata.model.trace import TraceFigures
from strata.model.watch import Confirmation
from strata.plan.from_trace import workload_of, workload_of_trace

NAME = "observed"


def observed_profile(figures: TraceFigures | None, whole: bool, where: str) -> Derived | None:
    """The load at the uppermost device that saw any, by the derivation of ``strata plan --from-trace``; None
    without.
    """
    traced = None if figures is None else workload_of(figures, whole)
    if traced is None or figures is None:
        return None
    try:
        workload, notes = workload_of_trace(traced)
    except StrataError:
        return None
    window = units.duration(figures.window_ns)
    made = ProfileWorkload(
        name=f"{traced.device}: {workload.label}",
        workload=workload,
        why=f"{units.count(traced.iops)} IOPS at {traced.device} for {window}",
    )
    profile = Profile(
        name=NAME,
        title=f"Observed at {where}",
        source="the watched load; it has no goals",
        workloads=(made,),
    )
    return Derived(profile=profile, notes=notes)


def options_of(derived: Derived, nodes: str | None) -> Options:
    """A diagnosis with the observed load alone."""
    return unsaid([]).model_copy(update={"profile": derived.profile, "load_seconds": 0.05, "nodes": nodes})


def confirmation(
    where: str, derived: Derived | None, to: Path | None = None, nodes: str | None = None
) -> Confirmation | None:
    """The command, with bytes and time by its plan; the profile is kept in ``to``, else in the state directory.

    ``nodes``: the scheduler whose nodes drive the layers, where it was named beside the stack.
    """
    place = place_of(where)
    if place is None:
        return None
    command = diagnosis_of(place, nodes)
    if derived is None:
        return Confirmation(command=command, workload="the standard workloads", workload_key="")
    path = to or _own_file()
    write_profile(path, derived)
    workload = derived.profile.workloads[0].workload
    seconds, written = None, None
    try:
        plan = plan_only(place, options_of(derived, nodes))
        seconds, written = plan.seconds, plan.bytes_written
    except StrataError as e:
        derived = derived.model_copy(update={"notes": (f"the plan cannot be made: {e.headline}", *derived.notes)})
    return Confirmation(
        command=f"{command} --profile {shlex.quote(str(path))}",
        workload=workload.label,
        workload_key=workload.key,
        profile=str(path),
        writes_bytes=written,
        seconds=seconds,
        open_questions=derived.notes,
    )


def confirmed(
    where: str,
    derived: Derived | None,
    asked: Confirmation,
    store: str | None,
    emit: Emit,
    nodes: str | None = None,
) -> Confirmation:
    """Runs it: a diagnosis with the observed load, on a file that it makes and removes. Raises what a diagnosis
    raises.
    """
    place = place_of(where)
    if place is None:
        return asked
    options = unsaid([]) if derived is None else options_of(derived, nodes)
    report = diagnose_path(place, options.model_copy(update={"store": store, "nodes": nodes}), emit)
    return asked.model_copy(update={"verdict": report.diagnosis.verdict, "run": report.run.id})


def _own_file() -> Path:
    folder = state_dir() / "watch"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder / f"{NAME}.toml"
