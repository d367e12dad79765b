"""Where a layer was measured, in words that stay the same from run to run."""

from __future__ import annotations

from pathlib import PurePosixPath

from strata.model.endpoint import OWN_SERVER, EndpointKind, own_export
from strata.model.run import Run
from strata.model.stack import Layer, Stack

BETWEEN = " · "
"""Parts an identity."""
OWN_ENGINE = "native"


def identity_of(run: Run, layer_name: str) -> str:
    """``host · stack · file:/mnt/data``: the test file's own name holds the run's id and is left out.

    Figures of another load generator are another measurement, so its name is added; those of a layer that is driven
    from its own node are, too.
    """
    engine = str(run.environment.engine.get("name", OWN_ENGINE))
    return identity(run.environment.hostname, run.plan.stack, layer_name, engine)


def identity(hostname: str, stack: Stack, layer_name: str, engine: str) -> str:
    """The same of a run that is yet to be made."""
    layers = {layer.name: layer for layer in stack.layers}
    layer = layers.get(layer_name)
    where = "" if layer is None else _where(layer)
    other = () if engine == OWN_ENGINE else (engine,)
    if stack.scheduler is not None and layer is not None and layer.node is not None:
        other = (*other, f"driven by {layer.node}")
    return BETWEEN.join((hostname, stack.name, where, *other))


def _where(layer: Layer) -> str:
    target = layer.target
    if target.kind is EndpointKind.FILE:
        return f"file:{PurePosixPath(target.path or '/').parent}"
    if own_export(target.uri) is not None:
        return f"own server, {target.uri.partition(OWN_SERVER)[2]}"
    return target.uri
