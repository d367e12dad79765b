"""The same writes without a flush.

What it changes
    Nothing waits until a write is durable: the workload is the same without its ``sync``, ``fsync`` or ``fdatasync``.
What it tells apart
    If flushes are slow, writes gain the time of the flushes. Any other limit still applies to them.
"""

from __future__ import annotations

from strata.diagnose import flushing
from strata.diagnose.case import Case
from strata.diagnose.causes import slow_flush
from strata.diagnose.expected import SAME, told
from strata.diagnose.opinion import Opinion
from strata.model.cause import Cause
from strata.model.experiment import Experiment, Metric, Prediction
from strata.model.workload import Sync

ABOUT = frozenset({Cause.SLOW_FLUSH})


def propose(case: Case, standing: tuple[Opinion, ...]) -> Experiment | None:
    """Where slow flushes stand, in the cell with the fewest outstanding."""
    mine = next((o for o in standing if o.cause in ABOUT), None)
    found = None if mine is None else flushing.blamed(case, mine)
    if mine is None or found is None:
        return None
    station, cells = found
    cell = min(cells, key=lambda f: f.cell.workload.outstanding).cell
    plain = cell.workload.model_copy(update={"sync": Sync.NONE, "fsync": 0, "fdatasync": 0})
    still = Prediction(metric=Metric.RATIO, low=SAME[0], high=SAME[1], unit="ratio")
    made = Experiment(
        layer=station.layer.name,
        workload=plain,
        reference=cell.workload.key,
        changes="the same writes without a flush",
        prediction=still,
        otherwise="any other limit still applies to the writes",
    )
    gains = slow_flush.predict(case, mine, made)
    if gains is None:
        return None
    others = tuple(o for o in standing if o is not mine)
    known = told((mine, *others), {mine.cause: gains}, others=SAME)
    beside = {"cause": Cause.MEDIUM.value, "layer": mine.layer, "idle": True, "rival": True}
    known = known if others else (*known, still.model_copy(update=beside))
    return made.model_copy(update={"prediction": known[0], "predictions": known})
