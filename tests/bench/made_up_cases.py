"""Cases that are made up: a verdict beside what is true, and the run of a simulated stack as a trial keeps it."""

from __future__ import annotations

from diagnose.known import SCENES
from diagnosisbench import kept, replay
from diagnosisbench.judge import Judged, Limit, Truth
from diagnosisbench.kept import Said, Verdict
from diagnosisbench.trial import Kind, Put, Trial

from strata.model.cause import Cause
from strata.model.finding import VerdictKind

SLOW = Limit("slow-medium", frozenset({Cause.MEDIUM, Cause.SLOW_MEDIUM}), frozenset({"disk"}))
WIRE = Limit(
    "wrong-nic",
    frozenset({Cause.WRONG_CARD}),
    frozenset({"share"}),
    partly=frozenset({Cause.WIRE_BANDWIDTH}),
    never=frozenset({Cause.MEDIUM, Cause.WIRE_LATENCY}),
)
DISK_STALLS = Limit("stalls", frozenset({Cause.STALLS}), frozenset({"disk"}))
CLIENT = Limit("client-cpu", frozenset({Cause.GENERATOR}), frozenset({"share"}), anywhere=True)


def case(
    limits: tuple[Limit, ...],
    *said: tuple[str | None, Cause, float],
    kind: VerdictKind = VerdictKind.LAYER,
    of: Kind | None = None,
    holds: bool | None = None,
    seed: int = 1,
    stack: str = "share",
    natural: tuple[tuple[str, Cause], ...] = (),
) -> Judged:
    found = [Said(layer=layer, cause=cause, confidence=c, holds=holds) for layer, cause, c in said]
    of = of or (Kind.HEALTHY if not limits else Kind.ONE if len(limits) == 1 else Kind.TWO)
    return Judged(
        name=f"case-{seed}",
        stack=stack,
        setup=stack,
        truth=Truth(of, limits, frozenset(natural)),
        verdict=Verdict(kind=kind, headline="", said=tuple(found)),
        kept=frozenset(),
        neighbour=False,
        seconds=60,
        layers=3,
        seed=seed,
    )


def made_up(name: str, seed: int = 1) -> kept.Case:
    """A case of a simulated run, as a live trial would leave it."""
    scene = SCENES[name]
    trial = Trial(
        seed=seed,
        kind=Kind.ONE,
        setup="block-nbd",
        stack="block-share",
        options={},
        put=(Put(what="wire-bandwidth", position=0.1, value=20),),
    )
    machine = kept.Machine(processors=2, memory_bytes=1, kernel="", load=(0, 0), others=0)
    one = kept.Case(
        trial=trial, revision="", machine=machine, stack=scene.stack, analysis=scene.analysis(seed=1, sd=0.01)
    )
    return one.model_copy(
        update={
            "proofs": (kept.Proof(what="wire-bandwidth", impact=3, cell="", line=""),),
            "verdict": kept.verdict_of(replay.diagnosed(one)),
        }
    )
