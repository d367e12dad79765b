"""What an experiment may change beside the workload: one mechanism each, refused with the reason where it cannot be.

Each is a context manager that gives the change made to the request of the changed cell, right before it is measured.
What it brought about is undone when the block ends.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from strata.app.runner import Change
from strata.engine import Backing, Request, TargetConfig, TargetProcess
from strata.errors import RunFailed
from strata.model.endpoint import Endpoint, address, is_loopback
from strata.model.experiment import Condition, Experiment
from strata.model.placement import Placement

if TYPE_CHECKING:
    from strata.app.session import Session

STILL_THERE = 0.05
"""A share of the file's pages that may be left: cold is what was read from below."""


class Refused(Exception):
    """The experiment cannot be run here; the text is the reason."""


def condition(session: Session, experiment: Experiment) -> AbstractContextManager[Change]:
    """The mechanism of this experiment's condition. Entering it may raise `Refused`."""
    return _MECHANISMS[experiment.condition](session, experiment)


@contextmanager
def _none(_session: Session, _experiment: Experiment) -> Iterator[Change]:
    yield lambda request: request


@contextmanager
def _cold(session: Session, _experiment: Experiment) -> Iterator[Change]:
    """This run's own file leaves this machine's memory before each measurement; nothing else does."""

    def dropped(request: Request) -> Request:
        try:
            left = session.place.drop_pages()
        except OSError as e:
            raise RunFailed("cannot drop the pages of", str(session.place.path), e.strerror or str(e)) from e
        if left > STILL_THERE:
            why = f"{left:.0%} of its pages stay in memory"
            raise RunFailed("cannot drop the pages of", str(session.place.path), why)
        # What a ramp read would be warm again.
        return request.model_copy(update={"timing": request.timing.model_copy(update={"ramp_s": 0.0})})

    yield dropped


@contextmanager
def _pinned(session: Session, _experiment: Experiment) -> Iterator[Change]:
    """The load's threads on a processor that they were not told to use; the last one where they were told nothing."""
    allowed = sorted(os.sched_getaffinity(0))
    told = session.running().plan.placement
    if told is not None and told.nodes:
        raise Refused("the threads are kept on NUMA nodes as the user asked")
    others = [cpu for cpu in allowed if told is None or cpu not in told.cpus]
    if len(allowed) < 2 or not others:
        raise Refused("there is no other processor that this process may use")
    elsewhere = Placement(cpus=(others[-1],))
    yield lambda request: request.model_copy(update={"placement": elsewhere})


@contextmanager
def _null_end(session: Session, experiment: Experiment) -> Iterator[Change]:
    """A server of our own that stores nothing, on the far node itself: what is left is the path to it."""
    if experiment.workload.rw.writes:
        raise Refused("only reads go to a far end that stores nothing")
    endpoint = session.place.endpoint(experiment.layer)
    host = urlsplit(endpoint.uri).hostname
    if not endpoint.remote or host is None or is_loopback(host):
        # Every node has a loopback: a server on another one's is not where the address leads.
        raise Refused(f"{experiment.layer} has no far end that is reached over a network")
    run = session.running()
    assert run.data is not None
    backing = Backing(kind="null", size_bytes=run.data.size)
    # Those of one measurement, those of the one before that are not off the books yet, and the one that asks first.
    clients = 2 * max(endpoint.connections, experiment.workload.threads) + 1
    with ExitStack() as held:
        for netns in (n.netns for n in run.plan.stack.nodes if n.netns not in (None, endpoint.netns)):
            config = TargetConfig(
                tcp=address(host, 0), netns=netns, export="null", backing=backing, max_connections=clients
            )
            try:
                server = held.enter_context(TargetProcess(config))
            except RunFailed:
                # The address is another node's.
                continue
            other = Endpoint.parse(server.uri(endpoint.connections))
            yield _to(other.model_copy(update={"netns": endpoint.netns}))
            return
    raise Refused("the far node is no namespace of this machine: no server of ours can be started there")


def _to(other: Endpoint) -> Change:
    return lambda request: request.model_copy(update={"endpoint": other})


@contextmanager
def _slowed(session: Session, experiment: Experiment) -> Iterator[Change]:
    """A server that Strata started itself, each of whose requests takes a little longer; nothing else is slowed."""
    if experiment.added_ns is None:
        raise Refused("it does not say by how much")
    with session.place.slower(experiment.layer, experiment.added_ns) as other:
        if other is None:
            raise Refused(f"{experiment.layer} is not slowed down on purpose: what runs there may be others'")
        yield _to(other)


_MECHANISMS: dict[Condition, Callable[[Session, Experiment], AbstractContextManager[Change]]] = {
    Condition.NONE: _none,
    Condition.COLD: _cold,
    Condition.PINNED: _pinned,
    Condition.SLOWED: _slowed,
    Condition.NULL_END: _null_end,
}
