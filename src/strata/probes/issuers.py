"""Who issues I/O on this machine: processes with what they moved, their control group, and where their threads wait.

Reads    /proc/PID/io, stat, cgroup and schedstat of every process at the beginning, at the end and in between; of the
         few that move data, state and wait channel of their threads; who serves the command (`serving`). Costs    a
         look at all processes 25 µs each, at most `Paced`'s share of the time; a look at threads 20 µs each, of
         who goes on without an end at most `THREADS_SHARE` of a CPU. Needs
         root for the processes of other users, and for wait channels. Blind to I/O of a process that began and ended
         between two looks, and of one that ended after the last of them (both are its parent's, once that has waited
         for it); whose pages the kernel writes later (they count where they were dirtied); requests that a server
         issues for others (they are the server's).
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from strata.host.cgroups import groups
from strata.host.proc import Sys
from strata.model.watch import ISSUERS_MOST, Issuer, ThreadTime
from strata.probes.processes import TICK_S, fields_of, names_in, start_of
from strata.probes.serving import Serving

THREADS_MOST = 24
LOOK_S = 0.05
_ALL_S, FAMILY_S = 1.0, 0.2
SHARE, THREADS_SHARE = 0.003, 0.003
"""Of the time that may go into looks at all processes, and of a CPU into looks at threads that go on without an end."""
_LEAST_BYTES = 4096
_FLAGS, _KTHREAD = 6, 0x00200000
_STORAGE = ("read_events", "io_cqring_wait", "io_schedule", "iomap_dio", "blkdev_direct", "wait_on_page", "folio_wait",
            "jbd2_log_wait", "submit_bio_wait", "balance_dirty", "rq_qos_wait", "blk_mq_get_tag", "xfs_log_force",
            "do_io_getevents", "aio_", "request_wait_answer", "fuse_")  # fmt: skip
"""Parts of the names of kernel functions in which a thread waits for storage."""
_SLEEP = ("nanosleep", "hrtimer_nanosleep")
_CONTAINER = re.compile(r"(?:docker|libpod|cri-containerd|crio|lxc|kubepods)[-/.:][^/]*|[0-9a-f]{64}")
_VM = re.compile(r"machine-qemu|machine\.slice|libvirt")


FAMILY_SHARE = 0.02
"""Of the time that may go into looks at the command's processes."""
GONE_MOST = 4096
"""Processes that have ended of which is remembered what they moved, of more those that moved most: a command may begin
new ones without an end."""
_OF_CHILDREN = ("read_bytes", "write_bytes", "rchar", "wchar", "syscr", "syscw")
"""What the kernel adds to a parent's own when it has waited for a child."""


@dataclass
class _Seen:
    """One process: what it had counted at first and at last, and of that what children had that it waited for
    (``waited_for``). ``beside``: what its ``parent`` had counted when this one was last seen.
    """

    name: str
    start: int
    first: dict[str, float]
    last: dict[str, float]
    parent: int = 0
    beside: dict[str, float] = field(default_factory=dict)
    waited_for: dict[str, float] = field(default_factory=dict)
    gone: bool = False
    states: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("running", "storage", "sleeping", "other"), 0)
    )
    looks: int = 0
    threads: int = 0
    busiest: dict[int, int] = field(default_factory=dict)
    moved_before: float = 0.0
    """Bytes, until it was counted anew: a watching that goes on looks at all processes only then."""

    def grown(self, key: str) -> float:
        """By how much, since the beginning, by its own doing."""
        return self.last.get(key, 0.0) - self.first.get(key, 0.0) - self.waited_for.get(key, 0.0)

    @property
    def moved(self) -> float:
        """Bytes, since the beginning, by its own doing."""
        return self.grown("read_bytes") + self.grown("write_bytes")

    @property
    def at_work(self) -> float:
        """Bytes: what it moved, or had until it was counted anew."""
        return max(self.moved_before, self.moved)

    def begin_again(self) -> None:
        """What comes is counted from here on."""
        self.moved_before = self.moved
        self.first, self.looks, self.threads, self.waited_for = self.last, 0, 0, {}
        self.states = dict.fromkeys(self.states, 0)


@dataclass
class _Periods:
    """Periods of a quota, and those in which it was used up: when they were first read, and last."""

    first: tuple[float, float]
    last: tuple[float, float]


class Issuers:
    """One recording; looks in a thread of its own between `start` and `stop`. ``root``: the command, once it runs."""

    def __init__(
        self,
        sys: Sys | None = None,
        look_s: float = LOOK_S,
        all_s: float = _ALL_S,
        threads_share: float | None = None,
    ) -> None:
        self._sys = sys or Sys()
        self._look_s, self._all_s = look_s, all_s
        # Who looks more rarely than one watching does goes on without an end.
        self._threads_share = threads_share or (1.0 if look_s <= LOOK_S else THREADS_SHARE)
        self._looking = threading.Lock()
        self._seen: dict[int, _Seen] = {}
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._began = self._ended = 0.0
        self._own = os.getpid()
        self._quotas: dict[int, dict[str, _Periods]] = {}
        self._root: int | None = None
        self._groups: dict[int, str] = {}
        self._family: dict[int, int] = {}
        """The command and those that were seen below it, as long as they are there, with their starts."""
        self._family_gone: set[int] = set()
        self._gone_most = GONE_MOST
        self._serving: Serving | None = None
        self._chosen: list[int] | None = None
        """Whose threads are looked at; None: it is asked anew."""
        self._turn = 0
        """Which of those behind the first one is looked at next, where not all were."""

    def start(self) -> Issuers:
        """The first look."""
        self._began = time.monotonic()
        self._look_at_all()
        self._thread = threading.Thread(target=self._go, name="strata-issuers", daemon=True)
        self._thread.start()
        return self

    def command(self, pid: int) -> None:
        """From now on this process and those below it are the watched ones."""
        self._serving = Serving()
        start = start_of(self._sys, pid)
        self._family = {} if start is None else {pid: start}
        self._root = pid

    @property
    def family(self) -> tuple[int, ...]:
        """The command and all processes that were seen below it."""
        return tuple(sorted(self._family.keys() | self._family_gone))

    @property
    def unseen(self) -> str:
        """Why nobody may be known to serve the command though somebody does; empty where that is known."""
        return "" if self._serving is None else self._serving.unseen

    @property
    def serving(self) -> tuple[int, ...]:
        """The processes that were seen to serve the command."""
        return () if self._serving is None else tuple(sorted(self._serving.found))

    def stop(self) -> tuple[Issuer, ...]:
        """The last look, and who issued most, first."""
        self.end()
        return self.take()

    def end(self) -> None:
        """No look more. May be called again."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        if self._serving is not None:
            self._serving.close()

    def take(self) -> tuple[Issuer, ...]:
        """Who issued most since the last call, first; for who goes on without an end."""
        with self._looking:
            self._look_at_all()
            self._ended = time.monotonic()
            found = [self._told(pid, one) for pid, one in self._seen.items()]
            self._forget()
            for one in self._seen.values():
                one.begin_again()
            for quotas in self._quotas.values():
                for quota in quotas.values():
                    quota.first = quota.last
            self._began, self._chosen = self._ended, None
        return most(i for i in found if _moves(i) or i.watched)

    def _forget(self) -> None:
        """Who has gone: numbers come again, and a watching that goes on sees processes without an end. And the quotas
        of who did nothing for long: they are not read then, so that a later slice would have the periods of earlier
        ones.
        """
        self._seen = {pid: one for pid, one in self._seen.items() if self._sys.exists(f"/proc/{pid}")}
        self._groups = {pid: group for pid, group in self._groups.items() if pid in self._seen}
        self._quotas = {pid: quotas for pid, quotas in self._quotas.items() if self._followed(pid)}
        self._sys.missed.clear()

    def _go(self) -> None:
        begun = time.monotonic()
        all_at, family_at = begun + self._all_s, begun
        while not self._stop.wait(self._look_s):
            with self._looking:
                now = time.monotonic()
                if self._root is not None and now >= family_at:
                    self._look_at_family()
                    family_at = now + max(FAMILY_S, (time.monotonic() - now) / FAMILY_SHARE)
                    self._look_at_serving()
                if now >= all_at:
                    self._look_at_all()
                    spent = time.monotonic() - now
                    # Often at first, when a command starts its processes.
                    all_at = now + max(self._all_s, min(spent / SHARE, now - begun))
                self._look_at_threads()

    def _look_at_family(self) -> None:
        """The command and those below it, also by the kernel's list of children where it has one."""
        todo, done = [self._root], set[int | None]()
        while todo:
            pid = todo.pop()
            if pid is None or pid in done or len(done) >= THREADS_MOST:
                continue
            done.add(pid)
            self._look_at(pid)
            for tid in names_in(self._sys.at(f"/proc/{pid}/task"))[:THREADS_MOST]:
                children = self._sys.text(f"/proc/{pid}/task/{tid}/children") or ""
                todo += [int(child) for child in children.split()]
        for pid in self._family.keys() - done:
            self._look_at(pid)
        self._note_gone(self._family)

    def _look_at_serving(self) -> None:
        if self._serving is not None:
            at_work = [pid for pid, one in self._seen.items() if one.at_work >= _LEAST_BYTES and not one.gone]
            at_work.sort(key=lambda pid: -self._seen[pid].at_work)
            self._serving.look(self._family, at_work[: 2 * ISSUERS_MOST])

    def _look_at_all(self) -> None:
        for name in names_in(self._sys.at("/proc")):
            if name[0] in "123456789" and (pid := int(name)) != self._own:
                self._look_at(pid)
        self._note_gone(self._seen)
        gone = [pid for pid, one in self._seen.items() if one.gone]
        if len(gone) > self._gone_most:
            gone.sort(key=lambda pid: self._seen[pid].moved)
            for pid in gone[: len(gone) // 2]:
                del self._seen[pid]
                self._groups.pop(pid, None)
                self._quotas.pop(pid, None)

    def _note_gone(self, pids: Iterable[int]) -> None:
        """What a child had counted is in its parent's count, too, once the parent has waited for it."""
        for pid in tuple(pids):
            one = self._seen.get(pid)
            if one is None or one.gone or self._sys.exists(f"/proc/{pid}"):
                continue
            one.gone = True
            if self._family.pop(pid, None) is not None:
                self._family_gone.add(pid)
            if (parent := self._seen.get(one.parent)) is None:
                continue
            self._look_at(one.parent)
            for key in _OF_CHILDREN:
                # Of a child that nobody waits for nothing is added.
                grown = parent.last.get(key, 0.0) - one.beside.get(key, 0.0)
                had = min(one.last.get(key, 0.0), max(0.0, grown))
                parent.waited_for[key] = parent.waited_for.get(key, 0.0) + had

    def _look_at(self, pid: int) -> None:
        self._chosen = None
        stat = self._sys.text(f"/proc/{pid}/stat") or ""
        fields = fields_of(stat)
        if len(fields) < 22:
            return
        self._note_family(pid, int(fields[19]), int(fields[1]))
        io = dict(line.partition(": ")[::2] for line in self._sys.lines(f"/proc/{pid}/io"))
        now = {key: float(value) for key, value in io.items() if value.isdigit()}
        now["cpu"] = (int(fields[11]) + int(fields[12])) * TICK_S
        waited = (self._sys.text(f"/proc/{pid}/schedstat") or "").split()
        if len(waited) == 3:
            now["waited"] = int(waited[1]) / 1e9
        seen = self._seen.get(pid)
        if seen is None or seen.start != int(fields[19]):
            name = stat.partition("(")[2].rpartition(")")[0]
            # Who came since the first look is counted from its birth.
            first = dict.fromkeys(now, 0.0) if self._thread is not None else now
            seen = self._seen[pid] = _Seen(name, int(fields[19]), first, now)
            self._groups.pop(pid, None)
            self._quotas.pop(pid, None)
        # Of one that has ended and is not waited for yet, only some can be read.
        seen.last = {**seen.last, **now}
        seen.parent = int(fields[1])
        above = self._seen.get(seen.parent)
        seen.beside = {} if above is None else above.last
        if self._followed(pid):
            self._look_at_group(pid)

    def _followed(self, pid: int) -> bool:
        one = self._seen.get(pid)
        return one is not None and (self._watched(pid) or one.at_work >= _LEAST_BYTES)

    def _watched(self, pid: int) -> bool:
        return pid in self._family or pid in self._family_gone

    def _note_family(self, pid: int, start: int, parent: int) -> None:
        """A number that was given out again is another process, whose children are not the command's."""
        self._family_gone.discard(pid)
        if self._family.get(pid, start) != start:
            del self._family[pid]
        above = self._family.get(parent)
        if above is not None and start_of(self._sys, parent) in (None, above):
            self._family[pid] = start

    def _look_at_group(self, pid: int) -> None:
        if pid not in self._groups:
            self._groups[pid] = group_of(self._sys.lines(f"/proc/{pid}/cgroup"))
        for directory, name in groups(self._sys, pid):
            self._note_quota(directory, name, pid)

    def _note_quota(self, directory: str, name: str, pid: int) -> None:
        if name == "/":
            return
        pairs = dict(line.split(" ", 1) for line in self._sys.lines(f"{directory}/cpu.stat") if " " in line)
        if "nr_periods" in pairs and "nr_throttled" in pairs:
            told = float(pairs["nr_periods"]), float(pairs["nr_throttled"])
            self._quotas.setdefault(pid, {}).setdefault(directory, _Periods(told, told)).last = told

    def _look_at_threads(self) -> None:
        """State and wait channel of the threads that are at work, of those processes that move data."""
        if self._root is not None and self._root not in self._seen:
            self._look_at(self._root)
        if self._chosen is None:
            # The command first, then who moves most: there is not room for all on a busy host.
            self._chosen = sorted(
                (pid for pid, one in self._seen.items() if self._followed(pid) and not one.gone),
                key=lambda pid: (pid not in self._family, -self._seen[pid].at_work),
            )[: 2 * ISSUERS_MOST]
        first, rest = self._chosen[:1], self._chosen[1:]
        at = self._turn % len(rest) if rest else 0
        room, until = THREADS_MOST, time.thread_time() + self._threads_share * self._look_s
        for done, pid in enumerate((*first, *rest[at:], *rest[:at])):
            room -= self._look_at_process(pid, room)
            if room <= 0:
                return
            if done and time.thread_time() > until:
                # The others have their turn at the next looks.
                self._turn += done
                return
        self._turn = 0

    def _look_at_process(self, pid: int, room: int) -> int:
        one, home = self._seen[pid], f"/proc/{pid}/task"
        tids = [int(name) for name in names_in(self._sys.at(home))][:THREADS_MOST]
        switches = {}
        for tid in tids if len(tids) > 1 else ():
            told = (self._sys.text(f"{home}/{tid}/schedstat") or "").split()
            if len(told) == 3:
                switches[tid] = int(told[2])
        grown = {tid: n - one.busiest.get(tid, n) for tid, n in switches.items()}
        one.busiest = switches
        most = max(grown.values(), default=0)
        # A thread that hardly ever runs is no issuer: it waits for the others.
        at_work = [tid for tid, n in grown.items() if n * 4 >= most][:room] if len(tids) > 1 else tids
        for tid in at_work:
            state = fields_of(self._sys.text(f"{home}/{tid}/stat") or "")
            if state:
                one.states[self._state(home, tid, state[0])] += 1
                one.looks += 1
        one.threads = max(one.threads, len(at_work))
        return len(at_work) + 1

    def _state(self, home: str, tid: int, state: str) -> str:
        if state == "R":
            return "running"
        if state == "D":
            return "storage"
        where = self._sys.text(f"{home}/{tid}/wchan") or ""
        if any(part in where for part in _SLEEP):
            return "sleeping"
        return "storage" if any(part in where for part in _STORAGE) else "other"

    def _told(self, pid: int, one: _Seen) -> Issuer:
        seconds = max(self._ended - self._began, 1e-9)

        def rate(*names: str) -> float:
            return sum(max(0.0, one.grown(n)) for n in names) / seconds

        looks = ThreadTime(threads=one.threads, looks=one.looks, **one.states) if one.looks else None
        group = self._groups.get(pid, "")
        return Issuer(
            pid=pid,
            name=one.name,
            kind=_kind(one.name, group, pid),
            group=group,
            read_bytes=rate("read_bytes"),
            write_bytes=rate("write_bytes"),
            asked_bytes=rate("rchar", "wchar"),
            asked_ios=rate("syscr", "syscw") if "syscr" in one.last else None,
            cores=rate("cpu"),
            waiting=rate("waited") if "waited" in one.last else None,
            watched=self._watched(pid),
            throttled=self._throttled(pid),
            threads=looks,
        )

    def _throttled(self, pid: int) -> float | None:
        shares = [
            max(0.0, quota.last[1] - quota.first[1]) / (quota.last[0] - quota.first[0])
            for quota in self._quotas.get(pid, {}).values()
            if quota.last[0] > quota.first[0]
        ]
        return max(shares, default=None)


def most(found: Iterable[Issuer]) -> tuple[Issuer, ...]:
    """The command first (a client in user space moves nothing that the kernel calls storage), then who moved most."""
    return tuple(sorted(found, key=lambda i: (not i.watched, -_bytes(i), -i.asked_bytes, -i.cores))[:ISSUERS_MOST])


def _bytes(one: Issuer) -> float:
    return one.read_bytes + one.write_bytes


def _moves(one: Issuer) -> bool:
    return _bytes(one) >= 1


def group_of(lines: Iterable[str]) -> str:
    """The group that tells most of those of ``/proc/PID/cgroup``, one for each hierarchy: what names a container or a
    VM, then what the manager of services chose, then the longest path.
    """

    def tells(line: list[str]) -> tuple[bool, bool, int]:
        _, controllers, path = line
        managed = controllers in ("", "name=systemd") and path != "/"
        return bool(_VM.search(path) or _CONTAINER.search(path)), managed, len(path)

    fields = [line.split(":", 2) for line in lines]
    return max((f for f in fields if len(f) == 3), key=tells, default=["", "", ""])[2]


def _kind(name: str, group: str, pid: int) -> str:
    if not group and pid == 2:
        return "kernel"
    if _VM.search(group) or name.startswith(("qemu-system", "qemu-kvm")):
        return "vm"
    return "container" if _CONTAINER.search(group) else "process"


def process_of_thread(tid: int, sys: Sys | None = None) -> tuple[int, bool]:
    """(the process of a thread, whether it is the kernel's own); the thread itself where it has gone."""
    sys = sys or Sys()
    pairs = dict(line.split(":", 1) for line in sys.lines(f"/proc/{tid}/status") if ":" in line)
    fields = fields_of(sys.text(f"/proc/{tid}/stat") or "")
    kernel = len(fields) > _FLAGS and bool(int(fields[_FLAGS]) & _KTHREAD)
    tgid = pairs.get("Tgid", "").strip()
    return (int(tgid) if tgid.isdigit() else tid), kernel
