"""A PowerShell script that runs diskspd, with PerfMon's counters beside it, and says what it ran on."""

from __future__ import annotations

import re
from collections.abc import Iterable

from strata.errors import UsageError
from strata.formats.counter_sets import WINDOWS_SETS
from strata.formats.scripts import Script
from strata.formats.scripts.diskspd import creating, options

NAME, TITLE = "powershell", "a PowerShell script that runs diskspd and collects counters"
COUNTER_SETS = tuple(one.name for one in WINDOWS_SETS)
"""Counter sets of PerfMon that tell the layers apart; those that are not on a machine are left out there."""


def write(script: Script) -> str:
    if '"' in script.target:
        raise UsageError("cannot be written for", "PowerShell", 'no name on Windows holds "', "give another path")
    lines = [f"# {line}" for line in script.head]
    lines += _BEGIN.splitlines()
    lines.append(f"$target = {quoted(script.target)}")
    lines += [] if script.device else _ABSENT.splitlines()
    lines += _ENVIRONMENT.splitlines()
    lines.append("$watching = $null")
    lines += [] if script.device else _OWN_FILE.splitlines()
    lines.append("try {")
    if script.counters:
        lines += ["  " + line for line in _COUNTERS.replace("@sets", _array(COUNTER_SETS)).splitlines()]
    if not script.device:
        lines.append(f"  $null = & $Diskspd {_array(creating(script))} $target")
    lines += [f"  Measure-Diskspd {_array(words)}" for words in options(script)]
    lines += _END.splitlines()
    lines += [] if script.device else ["  Remove-Item -LiteralPath $target -Force"]
    return "\n".join([*lines, "}", 'Write-Output "results: $Out"', ""])


def _array(words: Iterable[str]) -> str:
    return f"@({', '.join(map(quoted, words))})"


def quoted(word: str) -> str:
    """An expression of plain ASCII for the word: Windows PowerShell reads a script in the machine's code page."""
    parts = re.split(r"([^\x20-\x7e]+)", word)
    made: list[str] = []
    for at, part in enumerate(parts):
        if at % 2:
            code = part.encode("utf-16-be")
            made += [f"[char]0x{code[i : i + 2].hex()}" for i in range(0, len(code), 2)]
        elif part or len(parts) == 1:
            made.append("'" + part.replace("'", "''") + "'")
    return made[0] if len(made) == 1 and not made[0].startswith("[") else f"(-join ({', '.join(made)}))"


_BEGIN = """\
# Usage: .\\THIS.ps1 [-Diskspd PATH] [-Out FOLDER]   results go into FOLDER, which is made,
# what it ran on into FOLDER.environment.txt
param([string]$Diskspd = 'diskspd.exe', [string]$Out = 'strata-results')
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'
$null = Get-Command -Name $Diskspd
function Assert-Absent([string]$Path) {
  if (Test-Path -LiteralPath $Path) {
    [Console]::Error.WriteLine("error: $Path is there already: it is not overwritten")
    exit 5
  }
}
"""
_ABSENT = """\
# .NET and diskspd start from different folders, so both are given the whole path.
$target = $ExecutionContext.SessionState.Path.GetUnresolvedProviderPathFromPSPath($target)
Assert-Absent $target
"""
_OWN_FILE = """\
# The file must be a new one: an existing file is not touched.
[System.IO.File]::Open($target, 'CreateNew').Dispose()
"""
_ENVIRONMENT = """\
$Out = $ExecutionContext.SessionState.Path.GetUnresolvedProviderPathFromPSPath($Out)
foreach ($end in '', '.environment.txt', '.counters.txt') { Assert-Absent ($Out + $end) }
$null = New-Item -ItemType Directory -Path $Out
function Measure-Diskspd([string[]]$Words) {
  & $Diskspd @Words $target | Out-File -LiteralPath (Join-Path $Out 'diskspd.txt') -Append -Encoding utf8
  if ($LASTEXITCODE -ne 0) { throw "diskspd ended with $LASTEXITCODE" }
}
& {
  $ErrorActionPreference = 'Continue'
  Get-Date -Format o
  powercfg /getactivescheme
  [System.Environment]::OSVersion.VersionString
  (Get-Command -Name $Diskspd).Version
  foreach ($ask in 'Get-PhysicalDisk', 'Get-ClusterSharedVolumeState', 'Get-ClusterSharedVolume', 'Get-SmbConnection',
    'Get-SmbMultichannelConnection', 'Get-NetAdapter') {
    if (Get-Command -Name $ask -ErrorAction SilentlyContinue) { "== $ask"; & $ask | Format-List * | Out-String }
  }
} 2>&1 | Out-File -LiteralPath ($Out + '.environment.txt') -Encoding utf8 -NoClobber
"""
_COUNTERS = """\
$counters = foreach ($set in @sets) { (Get-Counter -ListSet $set -ErrorAction SilentlyContinue).Paths }
if ($counters) {
  $counters | Out-File -LiteralPath ($Out + '.counters.txt') -Encoding ascii -NoClobber
  $watching = Start-Process -FilePath typeperf.exe -WindowStyle Hidden -PassThru -ArgumentList '-y', '-si', '1',
    '-f', 'CSV', '-cf', ('"' + ($Out + '.counters.txt') + '"'),
    '-o', ('"' + (Join-Path $Out 'perfmon.csv') + '"')
}
"""
_END = """\
} finally {
  if ($null -ne $watching) { Stop-Process -Id $watching.Id -Force -ErrorAction SilentlyContinue }
"""
