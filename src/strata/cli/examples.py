"""The examples that end the help of every command: what to type, and what for."""

from __future__ import annotations

Example = tuple[str, str]

EXAMPLES: dict[str, tuple[Example, ...]] = {
    "": (
        ("strata diagnose --demo far-wire", "rehearse on a modelled stack with a known limit"),
        ("strata diagnose /mnt/volume --html report.html", "what limits your own storage"),
    ),
    "survey": (
        ("strata survey /mnt/volume", "what is under a path, and what would spoil a measurement"),
        ("strata survey /mnt/volume --write stack.toml", "begin a stack file for what lies above it"),
    ),
    "diagnose": (
        ("strata diagnose /mnt/volume --share --html report.html", "disk, file system and a share of it"),
        ("strata diagnose stack.toml --profile sql-oltp", "a stack of your own, with an application's goals"),
    ),
    "plan": (
        ("strata plan /mnt/volume", "what would run and be written"),
        ("strata plan file:/mnt/volume/new.dat --matrix full --budget 15m", "what a matrix would bring"),
    ),
    "measure": (
        ("strata measure file:/mnt/new.dat --rw randread --bs 8k --iodepth 8", "make a file, measure it, remove it"),
        ("strata measure block:/dev/sdb --rw read --bs 1m --until 2%", "read a device until ±2 % is sure"),
    ),
    "verify": (
        ("strata verify file:/mnt/new.dat --size 1g", "is everything that was acknowledged there"),
        ("strata verify --check --journal run.journal --power-loss", "after a cut, what must have survived it"),
    ),
    "trace": (
        ("strata trace /mnt/volume --seconds 10 --save app.trace", "what reaches the devices below a path"),
        ("strata trace /dev/sdb -- fio job.fio", "as long as a command runs"),
    ),
    "check": (
        ("strata check", "can the figures of the newest run be true"),
        ("strata check results.csv --column 'BW=rate [MiB/s]'", "and those of another tool"),
    ),
    "compare": (
        ("strata compare r-20260314", "a run, by the beginning of its id, with the newest"),
        ("strata compare r-20260314 r-20260315 --markdown changes.md", "two runs, for a merge request"),
    ),
    "history": (
        ("strata history --all", "every cell that was ever measured"),
        ("strata history 'disk/randread-4KiB-*' --html history.html", "some of them over time"),
    ),
    "gate": (
        ("strata gate --max-loss 10%", "may the newest run pass, held against the baseline main"),
        ("strata gate --last 3 --against main --junit gate.xml", "three runs, for a pipeline"),
    ),
    "baseline": (
        ("strata baseline save main --last 5", "later runs are held against these five"),
        ("strata baseline list", "what there is"),
    ),
    "report": (
        ("strata report", "the newest run again"),
        ("strata report r-20260314 --html report.html", "an earlier one as a page"),
    ),
    "explain": (
        ("strata explain", "the evidence of the newest verdict, row by row"),
        ("strata explain 20261120-1 2 --json", "of one finding of an earlier run, for a program"),
    ),
    "runs": (
        ("strata runs", "what is in the store"),
        ("strata runs --stack '/mnt/*' --since 7d --json", "of one place, for a program"),
    ),
    "runs delete": (
        ("strata runs delete 20261120-101500-abcd", "one that was a mistake; it asks"),
        ("strata runs delete 20261120-1 20261120-2 --yes", "several, from a script"),
    ),
    "target": (
        ("strata target --memory 1g --listen 0.0.0.0:10809", "a good remote end, to measure the wire against"),
        ("strata target --null 10g --latency 2ms --bandwidth 100m", "one with a known limit"),
    ),
    "clean": (
        ("strata clean", "remove what a killed run left"),
        ("strata clean --json", "the same, for a program"),
    ),
    "lab": (
        ("strata lab list --all", "the stacks and limits there are"),
        ("strata lab up local --inject slow-medium", "a stack on this machine with a known limit"),
    ),
    "lab up": (
        ("strata lab up share --set protocol=smb", "a file share of two nodes"),
        ("strata lab up local --name slow --inject slow-medium:severe", "with a limit in it from the start"),
    ),
    "lab down": (
        ("strata lab down", "remove the only lab"),
        ("strata lab down --all", "remove every lab"),
    ),
    "lab grow": (
        ("strata lab grow", "one storage node more in the only lab"),
        ("strata lab grow --name big", "in the one of this name"),
    ),
    "lab list": (
        ("strata lab list", "the labs that are up"),
        ("strata lab list --all", "also what could be built"),
    ),
    "lab status": (
        ("strata lab status", "is everything of the only lab alive"),
        ("strata lab status --name slow --json", "of one of several, for a program"),
    ),
    "lab shell": (
        ("strata lab shell client", "look around in a node"),
        ("strata lab shell owner --name slow", "in a node of one of several labs"),
    ),
    "lab exec": (
        ("strata lab exec client -- ip address", "one command in a node"),
        ("strata lab exec client --name slow -- ping -c 3 10.77.0.1", "in a node of one of several labs"),
    ),
    "lab inject": (
        ("strata lab inject wire-latency", "put a limit into the only lab"),
        ("strata lab inject slow-medium:severe --name slow", "a severe one, into one of several"),
    ),
    "lab selftest": (
        ("strata lab selftest --quick", "does every stack and kind of limit work here"),
        ("strata lab selftest --only 'slow-medium:*'", "one limit, in every severity"),
    ),
}
