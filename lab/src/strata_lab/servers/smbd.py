"""Samba's smbd: SMB 3.1.1 with one or two cards (multichannel), every directory its own, one share of one directory.

Clients log in as ``labuser`` with password ``labpass``: a name that the server maps to root in a password file of its
own, so that no account of the machine is made or changed. Server-side figures: ``smbstatus -s CONF -P``.

smbd reads and writes through the page cache of its machine and cannot be told otherwise: to have the medium answer, let
it serve a directory of `strata_lab.servers.direct`.
"""

from __future__ import annotations

from pathlib import Path

from strata.errors import RunFailed
from strata.host import process
from strata_lab.lab import Lab
from strata_lab.nodes import LabNode
from strata_lab.servers import LabServer, answers, program

USER, PASSWORD, SHARE, PORT = "labuser", "labpass", "volume", 445
_SPEED_BIT_S = 10_000_000_000
_SETTING_S = 60.0


def start(
    lab: Lab, node: LabNode, directory: Path, *, multichannel: bool = True, signing: bool = False, sync: bool = True
) -> LabServer:
    """Serves ``directory`` as ``//node/volume``. ``sync``: a flush of the client is one of the disk."""
    daemon, secrets = program("smbd", "samba"), program("smbpasswd", "samba")
    home = lab.dir(f"smbd-{node.name}")
    conf = home / "smb.conf"
    conf.write_text(_conf(home, node, directory, multichannel=multichannel, signing=signing, sync=sync))
    (home / "users").write_text(f"root = {USER}\n")
    twice = f"{PASSWORD}\n{PASSWORD}\n".encode()
    done = process.run([secrets, "-c", str(conf), "-s", "-a", "root"], _SETTING_S, given=twice)
    if done.code:
        raise RunFailed("cannot set the password of", f"{USER} for the lab's smbd", done.err.strip())
    child = lab.run(
        node,
        [daemon, "-F", "--no-process-group", "-s", str(conf), "--debug-stdout", "-d", "0"],
        name=f"smbd-{node.name}",
        wait_for=answers(node, PORT),
    )
    uri = f"smb://{USER}:{PASSWORD}@{node.address}/{SHARE}"
    lab.fact("server", kind="smb", node=node.name, process=child.name, conf=str(conf), uri=uri)
    return LabServer(child, node, PORT, uri)


def _conf(home: Path, node: LabNode, directory: Path, *, multichannel: bool, signing: bool, sync: bool) -> str:
    dirs = {name: home / name for name in ("private", "lock", "state", "cache", "pid", "ncalrpc")}
    for path in dirs.values():
        path.mkdir(mode=0o755, exist_ok=True)
    cards = " ".join(f'"{a};capability=RSS,speed={_SPEED_BIT_S}"' for a in node.addresses)
    return f"""[global]
  server role = standalone server
  workgroup = LAB
  netbios name = {node.name.upper()}
  private dir = {dirs["private"]}
  lock directory = {dirs["lock"]}
  state directory = {dirs["state"]}
  cache directory = {dirs["cache"]}
  pid directory = {dirs["pid"]}
  ncalrpc dir = {dirs["ncalrpc"]}
  passdb backend = tdbsam:{dirs["private"]}/passdb.tdb
  username map = {home}/users
  interfaces = {cards}
  bind interfaces only = yes
  disable netbios = yes
  disable spoolss = yes
  load printers = no
  printcap name = /dev/null
  smb ports = {PORT}
  server min protocol = SMB3
  server multi channel support = {_yes(multichannel)}
  server signing = {"mandatory" if signing else "auto"}
  aio read size = 1
  aio write size = 1
  smbd profiling level = on
  strict sync = {_yes(sync)}
  store dos attributes = no
  map archive = no
  ea support = no
  nt acl support = no

[{SHARE}]
  path = {directory}
  read only = no
"""


def _yes(value: bool) -> str:
    return "yes" if value else "no"
