"""One lab: its nodes, its processes, its directory, and the ledger that can undo all of it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from strata.errors import RunFailed, UsageError
from strata.host import programs
from strata_lab import nodes, proc, where
from strata_lab.ledger import Ledger, Line, all_labs_locked, heads
from strata_lab.nodes import LabNode
from strata_lab.parts.hop import HopControl
from strata_lab.proc import LabProcess

_SUBNETS = 128  # two fabrics each: 10.77.0.0 to 10.77.255.0


class Lab:
    """A lab that is being built, is up, or is being removed.

    Use `Lab.create` in `up` and `Lab.open` everywhere else. Whoever changes it holds ``lab.ledger.locked()``.
    """

    def __init__(self, ledger: Ledger) -> None:
        self.ledger, self.name = ledger, ledger.name
        head = ledger.head
        index = head.get("index", 0)
        self.token, self.index = str(head.get("token", "")), index if isinstance(index, int) else 0
        self.stack, self.reduced = str(head.get("stack", "")), bool(head.get("reduced"))
        self.data = where.data_dir(self.name)
        self._children: dict[int, LabProcess] = {}

    @classmethod
    def create(cls, name: str, stack: str) -> Lab:
        """Claims the name and a subnet and makes the lab's directory. Raises `UsageError` when the name is taken."""
        ledger = Ledger(name)
        with all_labs_locked():
            taken = {head.get("index") for head in heads()}
            index = next((i for i in range(_SUBNETS) if i not in taken), None)
            if index is None:
                raise RunFailed("cannot build the lab", name, f"{_SUBNETS} labs are running", "strata lab list")
            data = where.data_dir(name)
            if data.exists() and not ledger.path.exists():
                hint = f"check it; if it is not a lab of yours: rm -r {data}"
                raise RunFailed("cannot build the lab", name, f"{data} exists, but no ledger lists it", hint)
            ledger.create(
                {
                    "token": secrets.token_hex(8),
                    "index": index,
                    "stack": stack,
                    "boot": boot_id(),
                    "since": int(time.time()),
                    "reduced": not where.is_root(),
                }
            )
            lab = cls(ledger)
            lab.undo("directory", path=str(data))
            data.mkdir(mode=0o755)
            lab.undo("directory", path=str(data), inode=data.lstat().st_ino)
        return lab

    @classmethod
    def open(cls, name: str) -> Lab:
        """The lab of that name. Raises `UsageError` naming those that are up."""
        return cls(Ledger(where.checked(name)))

    def undo(self, kind: str, /, **ids: Any) -> None:
        """Writes down how to remove what is made next. The kinds are those of `strata_lab.undo.HANDLERS`."""
        self.ledger.append({"undo": kind, **ids})

    def fact(self, kind: str, /, **what: Any) -> None:
        """Writes down what others (injections, `status`) need to know."""
        self.ledger.append({"fact": kind, **what})

    def facts(self, kind: str) -> list[Line]:
        """Every fact of that kind, oldest first."""
        return self.ledger.facts(kind)

    def last_fact(self, kind: str, /, **match: Any) -> Line | None:
        """The newest fact of that kind that has these values."""
        fitting = [f for f in self.facts(kind) if all(f.get(k) == v for k, v in match.items())]
        return fitting[-1] if fitting else None

    def dir(self, name: str) -> Path:
        """A directory of the lab, made if missing; it goes with the lab."""
        path = self.data / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    # --- nodes

    @property
    def switch(self) -> str | None:
        """The namespace of the bridges, made on first use; None in a reduced lab."""
        if self.reduced:
            return None
        if not self.facts("switch"):
            path = nodes.add_switch(self.ledger, f"strata-{self.name}-sw", len(nodes.FABRICS))
            self.fact("switch", netns=path)
        return str(self.facts("switch")[0]["netns"])

    def add_node(self, name: str, *, nics: int = 1, owner: bool = False, bytes_per_s: float | None = None) -> LabNode:
        """A node with ``nics`` cards (1 or 2), each limited to ``bytes_per_s`` in both directions."""
        number = len(self.nodes) + 1
        switch = self.switch
        if switch is None:
            node = LabNode(name, None, ("127.0.0.1",), owner)
        else:
            addresses = tuple(f"10.77.{2 * self.index + nic}.{number}" for nic in range(nics))
            path = nodes.add_node(self.ledger, switch, f"strata-{self.name}-{name}", name, addresses)
            node = LabNode(name, path, addresses, owner)
        self.fact("node", name=name, netns=node.netns, addresses=list(node.addresses), owner=owner)
        if switch is not None and bytes_per_s is not None:
            for nic in range(nics):
                self.shape(node, nic, bytes_per_s)
        return node

    @property
    def nodes(self) -> tuple[LabNode, ...]:
        """Every node, in the order they were made."""
        return tuple(LabNode(f["name"], f["netns"], tuple(f["addresses"]), f["owner"]) for f in self.facts("node"))

    def node(self, name: str) -> LabNode:
        """Raises `UsageError` naming the nodes there are."""
        for node in self.nodes:
            if node.name == name:
                return node
        known = ", ".join(n.name for n in self.nodes) or "none"
        raise UsageError("there is no node", repr(name), f"in the lab {self.name}", f"nodes: {known}")

    def shape(self, node: LabNode, nic: int, bytes_per_s: float | None) -> None:
        """Limits a card in both directions; None: as fast as the machine is."""
        node.own_netns("limit the rate of")
        assert self.switch is not None
        nodes.shape(self.switch, node, nic, bytes_per_s)
        self.fact("rate", node=node.name, nic=nic, bytes_per_s=bytes_per_s)

    def hop(self, node: LabNode, nic: int, words: str) -> HopControl:
        """Delays or loses frames between a card and the bridge, both ways: ``delay=1000`` (µs), ``loss=5000`` (ppm).

        A second call for the same card changes the hop that is there. One that only delays gets frames of up to 64 KiB,
        as every card here does: cut into segments first they are half as many bytes, and a limit that nobody asked for.
        """
        switch = self.switch
        if switch is None:
            raise RunFailed("cannot delay", node.name, "a reduced lab has no network links", "run the lab as root")
        single = any(not word.startswith("delay") for word in words.split())
        if found := self.last_fact("hop", node=node.name, nic=nic):
            if single:
                nodes.cut_into_segments(switch, node, nic)
            control = HopControl(found["ctl"])
            control.set(words)
            return control
        name = f"hop-{node.name}-{nic}"
        ctl = self.dir("hops") / f"{name}.sock"
        a, b = nodes.cut_in(switch, node, nic)
        if single:
            nodes.cut_into_segments(switch, node, nic)
        control = HopControl(ctl)
        words_of_it = programs.python("strata_lab.parts.hop", a, b, "--ctl", str(ctl), "--model", words)
        self.run(LabNode("switch", switch, ()), words_of_it, name=name, wait_for=ctl.exists)
        control.wait()
        self.fact("hop", node=node.name, nic=nic, ctl=str(ctl))
        return control

    # --- processes

    @property
    def environment(self) -> dict[str, str]:
        """What Strata finds as a part of the lab: what it measures there is kept with the lab, and goes with it."""
        return {"STRATA_STATE_DIR": str(self.data / "state")}

    def run(
        self,
        node: LabNode | None,
        argv: Sequence[str],
        *,
        name: str,
        wait_for: Callable[[], bool] | None = None,
        timeout_s: float = 20.0,
        env: Mapping[str, str] | None = None,
        cgroups: Sequence[Path] = (),
    ) -> LabProcess:
        """Starts a process in a node (None: in the machine's own namespace) that stays when this command ends.

        It must stay in the foreground (``-F``, ``--foreground``), so that its pid is known. Its output goes to
        ``logs/NAME.log``. With ``wait_for`` this returns when that is true, or raises `RunFailed` with its last words.
        """
        log = self.dir("logs") / f"{name}.log"
        netns = node.netns if node is not None else None
        more = {**self.environment, **(env or {})}
        child = proc.start(self.ledger, self.token, argv, name=name, log=log, netns=netns, env=more, cgroups=cgroups)
        self._children[child.pid] = child
        if wait_for is not None:
            proc.wait_until(child, wait_for, timeout_s)
        return child

    @property
    def processes(self) -> tuple[LabProcess, ...]:
        """Every process that was started and not stopped on purpose, also those that have ended."""
        stopped = {(f["pid"], f["started"]) for f in self.facts("stopped")}
        found = []
        for line in self.ledger.lines():
            if line.get("undo") == "process" and (line["pid"], line["started"]) not in stopped:
                child = LabProcess(line["pid"], line["started"], line["name"], Path(line["log"]))
                found.append(self._children.get(child.pid, child))
        return tuple(found)

    def process(self, name: str) -> LabProcess:
        """The running process of that name. Raises `RunFailed` when there is none."""
        for child in reversed(self.processes):
            if child.name == name and child.alive:
                return child
        known = ", ".join(c.name for c in self.processes if c.alive) or "none"
        raise RunFailed("there is no process", repr(name), f"in the lab {self.name}", f"running: {known}")

    def stop(self, child: LabProcess) -> None:
        """Stops a process on purpose: `status` does not call it lost."""
        child.stop()
        self.fact("stopped", pid=child.pid, started=child.started)


def boot_id() -> str:
    """Which start of the machine this is."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
