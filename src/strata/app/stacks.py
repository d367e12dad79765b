"""The stack that is measured: drafted from a path, or read from a stack file."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from strata.app.where import missing
from strata.errors import SafetyRefusal, UsageError, choices
from strata.host import ownership
from strata.host.netns import may_be
from strata.host.untrusted import WORDS_MOST, read_text
from strata.model.endpoint import OWN_SERVER, Endpoint, EndpointKind, is_loopback, own_export
from strata.model.expect import Expect
from strata.model.stack import Layer, Stack
from strata.model.survey import Survey

OWN_TARGET = f"nbd://{OWN_SERVER}strata"

DISK, FILE_SYSTEM, SHARE = "disk", "file system", "share over loopback"


def local_stack(survey: Survey, data_path: Path, *, share: bool, allow_raw: bool = True) -> Stack:
    """disk → file system (→ share of the same file over loopback) for one mounted path."""
    layers = []
    carrier = survey.file_system.device
    device = next((d.path for d in survey.devices if d.name == carrier), None)
    if device is not None and allow_raw:
        layers.append(Layer(name=DISK, endpoint=f"block:{device}"))
    below = (DISK,) if layers else ()
    allowance = Expect(overhead_max=0.05, source="a local file system adds at most a few percent to its disk")
    layers.append(Layer(name=FILE_SYSTEM, endpoint=f"file:{data_path}", on=below, expect=allowance))
    if share:
        allowance = Expect(overhead_max=0.15, source="a redirected or remote path costs 10–15 % where it is CPU-bound")
        layers.append(Layer(name=SHARE, endpoint=OWN_TARGET, on=(FILE_SYSTEM,), expect=allowance))
    name = survey.file_system.mount_point.strip("/") or f"{survey.hostname} root"
    return Stack(name=name, layers=tuple(layers))


def stack_of(endpoints: Sequence[Endpoint]) -> Stack:
    """Of endpoints of one kind that are driven together: one layer, called as their kind."""
    first = endpoints[0]
    layer = Layer(name=first.kind.value, endpoint=first.uri)
    return Stack(name=" + ".join(e.uri for e in endpoints), layers=(layer,))


def read_stack(path: Path) -> Stack:
    """A stack file. Raises `UsageError` naming it, also where a pipe or a device stands for a namespace."""
    if not path.exists():
        raise missing(path, "diagnose")
    hint = "give a file that you may read"
    stack = Stack.from_toml(read_text(path, "cannot read the stack file", WORDS_MOST, hint), str(path))
    for node in stack.nodes:
        if node.netns is not None and not may_be(node.netns):
            why = f"{node.netns}, the netns of node {node.name!r}, is not a network namespace"
            raise UsageError("cannot use the stack file", str(path), why, "ip netns list shows those that exist")
    if stack.scheduler_netns is not None and not may_be(stack.scheduler_netns):
        why = f"its scheduler_netns, {stack.scheduler_netns}, is not a network namespace"
        raise UsageError("cannot use the stack file", str(path), why, "ip netns list shows those that exist")
    if stack.scheduler is not None and not stack.scheduler.startswith("tls://") and ownership.of_others(path):
        # Whoever answers a plain connection can run code here: another user must not say where it leads.
        why = f"it names a scheduler without certificates, {stack.scheduler}, and other users can write to the file"
        raise SafetyRefusal("will not use the stack file", str(path), why, f"--nodes {stack.scheduler}, if it is yours")
    return stack


def data_path_of(stack: Stack) -> Path:
    """The one file that every layer reaches. Raises `UsageError` when the stack names none, or several."""
    paths = {layer.target.path for layer in stack.layers if layer.target.kind is EndpointKind.FILE}
    if len(paths) != 1:
        found = ", ".join(sorted(p for p in paths if p)) or "none"
        raise UsageError(
            "cannot choose the data file of stack",
            repr(stack.name),
            f"its file: layers must name exactly one file, found {found}",
            "different files or LUNs cannot be compared; name the same file in every file: layer",
        )
    return Path(paths.pop() or "")


def local_paths(stack: Stack) -> tuple[Path, ...]:
    """The devices and files of this machine that layers name, in the order of the layers; namespaces share them."""
    kinds = (EndpointKind.FILE, EndpointKind.BLOCK)
    found = (layer.target.path for layer in stack.layers if layer.target.kind in kinds)
    return tuple(dict.fromkeys(Path(p) for p in found if p))


def asked_of(stack: Stack, nodes: str | None) -> Stack:
    """The stack with the scheduler at that address in place of its own, where one is given."""
    return stack if nodes is None else stack.model_copy(update={"scheduler": nodes, "scheduler_netns": None})


def no_nodes(where: str | Path, done: str) -> UsageError:
    """What is no stack file has no nodes. ``done``: what this machine alone does with it."""
    hint = "write a stack file that names the node of each layer: strata survey PATH --write stack.toml"
    why = f"it is no stack file, and is {done} from this machine"
    return UsageError("cannot use --nodes with", str(where), why, hint)


def elsewhere(stack: Stack, sampled: Collection[str] = ()) -> tuple[str, ...]:
    """In words, a node each: what stands on a machine that is not this one, whose devices cannot be seen from here.

    A node that is a network namespace has this machine's devices, and so has a server that Strata starts itself.
    ``sampled``: layers that their own nodes see; what is on such a layer of another node is seen at both ends.
    """
    if any(node.netns for node in stack.nodes):
        return ()
    found: dict[str, list[str]] = {}
    for layer in stack.layers:
        if any(below.name in sampled and below.node != layer.node for below in stack.stands_on(layer)):
            continue
        if layer.target.remote and own_export(layer.endpoint) is None:
            host = urlsplit(stack.endpoint_of(layer).uri).hostname
            if host and not is_loopback(host):
                found.setdefault(host, []).append(layer.name)
    return tuple(
        f"{host}, behind {', '.join(names)}, is another machine: only the devices of this machine are visible; "
        f"run the same command there to see its devices"
        for host, names in found.items()
    )


def keep_layers(stack: Stack, names: tuple[str, ...] | None) -> Stack:
    """The stack with only these layers; a layer that loses the one below is compared with the next one down."""
    if names is None:
        return stack
    known = {layer.name for layer in stack.layers}
    names = _whole(names, known)
    if unknown := [n for n in names if n not in known]:
        raise UsageError("no such layer", ", ".join(unknown), "", choices(unknown[0], sorted(known)))
    return drop_layers(stack, {n for n in known if n not in names})


def _whole(names: tuple[str, ...], known: set[str]) -> tuple[str, ...]:
    """Names that were split at a comma of their own are put together again where the whole is a layer's."""
    found, at = [], 0
    while at < len(names):
        joined = ((end, ", ".join(names[at:end])) for end in range(len(names), at, -1))
        end, name = next(((end, name) for end, name in joined if name in known), (at + 1, names[at]))
        found.append(name)
        at = end
    return tuple(found)


def drop_layers(stack: Stack, names: set[str]) -> Stack:
    """The stack without these layers; who stood on one or was compared with it has what it stood on instead."""

    instead: dict[str, tuple[str, ...]] = {}

    def left(wanted: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(b for a in wanted for b in instead.get(a, (a,))))

    # A stack names what a layer stands on before the layer.
    for layer in stack.layers:
        if layer.name in names:
            instead[layer.name] = left(layer.on)
    kept = (
        layer.model_copy(update={"on": left(layer.on), "against": left(layer.against)})
        for layer in stack.layers
        if layer.name not in names
    )
    return stack.model_copy(update={"layers": tuple(kept)})
