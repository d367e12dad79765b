"""The rules: one file for each cause. A new rule is a new file and one line here."""

from __future__ import annotations

from collections.abc import Callable

from strata.diagnose.opinion import Case, Opinion
from strata.diagnose.rules import (
    per_request_cost,
    processors,
    quota,
    remote_cap,
    reordering,
    unexplained,
    wire_bandwidth,
    wire_latency,
    wire_loss,
)
from strata.model.finding import Cause

LAYER_RULES: dict[Cause, Callable[[Case], Opinion]] = {
    reordering.CAUSE: reordering.judge,
    quota.CAUSE: quota.judge,
    wire_loss.CAUSE: wire_loss.judge,
    processors.CAUSE: processors.judge,
    wire_bandwidth.CAUSE: wire_bandwidth.judge,
    remote_cap.CAUSE: remote_cap.judge,
    wire_latency.CAUSE: wire_latency.judge,
    per_request_cost.CAUSE: per_request_cost.judge,
}
"""Asked about every layer that costs more than expected, in this order: what counters show directly comes before
what the shape of the losses suggests."""

LAST_RESORT = unexplained.judge
