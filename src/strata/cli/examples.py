"""The examples that end the help of every command: what to type, and what for."""

from __future__ import annotations

Example = tuple[str, str]

EXAMPLES: dict[str, tuple[Example, ...]] = {
    "": (
        ("strata diagnose --demo far-wire", "try it on a simulated stack with a known limit"),
        ("strata diagnose /mnt/volume --html report.html", "find what limits your own storage"),
    ),
    "survey": (
        ("strata survey /mnt/volume", "what is below a path, and what would distort a measurement"),
        ("strata survey --compare node-1.json node-2.json", "what differs between nodes (of survey --json on each)"),
    ),
    "diagnose": (
        (
            "strata diagnose /mnt/volume --share --html report.html",
            "disk, file system, and a share of it over loopback",
        ),
        ("strata diagnose stack.toml --profile sql-oltp", "your own stack, with the goals of an application"),
    ),
    "plan": (
        ("strata plan /mnt/volume", "what would run, and what would be written"),
        (
            "strata plan file:/mnt/volume/new.dat --matrix full --budget 15m",
            "what a matrix would measure, and how precisely",
        ),
    ),
    "measure": (
        ("strata measure file:/mnt/new.dat --rw randread --bs 8k --iodepth 8", "create a file, measure it, remove it"),
        ("strata measure block:/dev/sdb --rw read --bs 1m --until 2%", "read a device until the mean is known to ±2 %"),
    ),
    "scale": (
        ("strata scale file:/mnt/new.dat --over iodepth", "how far the rate follows the queue depth"),
        (
            "strata scale nbd://host/export --over threads --what-if limit=2x",
            "what limits it, and what twice the limit would bring",
        ),
    ),
    "stage": (
        ("strata stage cluster.toml", "which layers were measured, and what to do by hand next"),
        ("strata stage cluster.toml --measure", "measure the next layer as the ones before it"),
    ),
    "verify": (
        ("strata verify file:/mnt/new.dat --size 1g", "is all acknowledged data present"),
        ("strata verify --check --journal run.journal --power-loss", "after a power loss: is all flushed data present"),
    ),
    "trace": (
        ("strata trace /mnt/volume --seconds 10 --save app.trace", "what reaches the devices below a path"),
        ("strata trace /dev/sdb --waterfall -- fio job.fio", "where the time of each request of a command goes"),
    ),
    "watch": (
        ("strata watch /mnt/volume --for 60s", "which layer limits the load that is there now"),
        ("strata watch /mnt/volume -- fio job.fio", "watch a command from its start to its end"),
    ),
    "check": (
        ("strata check", "are the figures of the newest run consistent"),
        ("strata check results.csv --column 'BW=rate [MiB/s]'", "are the figures of another tool consistent"),
    ),
    "import": (
        ("strata import results/", "read every result in a folder into the store"),
        ("strata import --dry-run --json fio.json", "what is in a file, as JSON; nothing is kept"),
    ),
    "emit": (
        (r"strata emit powershell 'C:\ClusterStorage\v1\t.dat'", "the standard workloads for diskspd"),
        ("strata emit fio /mnt/new.dat --rw randread --bs 8k --iodepth 32", "one workload as a fio job file"),
    ),
    "completions": (
        ("strata completions bash", 'what this bash loads with: eval "$(strata completions bash)"'),
        ("strata completions fish", "what belongs into ~/.config/fish/completions/strata.fish"),
    ),
    "schema": (
        ("strata schema", "the documents that there are"),
        ("strata schema report", "the JSON Schema of a report"),
    ),
    "export": (
        ("strata export csv", "the cells of the newest run, for a spreadsheet"),
        ("strata export jsonl r-20260314 r-20260315 --table rounds", "every round of two runs"),
    ),
    "compare": (
        ("strata compare r-20260314", "compare a run, by the start of its id, with the newest"),
        ("strata compare r-20260314 r-20260315 --markdown changes.md", "compare two runs, for a merge request"),
    ),
    "history": (
        ("strata history --all", "every cell ever measured"),
        ("strata history 'disk/randread-4KiB-*' --html history.html", "some cells over time, as a page"),
    ),
    "gate": (
        ("strata gate --max-loss 10%", "compare the newest run with the baseline main"),
        ("strata gate --last 3 --against main --junit gate.xml", "compare three runs, for a pipeline"),
    ),
    "baseline": (
        ("strata baseline save main --last 5", "save the five newest runs to compare later runs with"),
        ("strata baseline list", "list all baselines"),
    ),
    "report": (
        ("strata report", "show the newest run again"),
        ("strata report r-20260314 --html report.html", "write an earlier run as a page"),
    ),
    "serve": (
        ("strata serve", "the runs of the store in a browser, and a run while it is measured"),
        ("strata serve --control --listen 127.0.0.1:0", "with names that can be changed, at a free port"),
    ),
    "explain": (
        ("strata explain", "the evidence of the newest verdict, row by row"),
        ("strata explain 20261120-1 2 --json", "the second finding of an earlier run, as JSON"),
    ),
    "runs": (
        ("strata runs", "list the newest runs"),
        ("strata runs --stack '/mnt/*' --since 7d --json", "the runs of one place in the last week, as JSON"),
    ),
    "runs delete": (
        ("strata runs delete 20261120-101500-abcd", "delete one run; asks for confirmation"),
        ("strata runs delete 20261120-1 20261120-2 --yes", "delete several runs from a script"),
    ),
    "node": (
        ("strata node join tls://scheduler:8786 --name node-2", "make this machine a node"),
        ("strata node list tls://scheduler:8786", "which nodes have joined"),
    ),
    "node trust": (
        ("strata node trust node-1 node-2", "certificates for the scheduler, its user and two nodes"),
        ("strata node trust --revoke node-2", "the certificates of node-2 are no longer accepted"),
    ),
    "node serve": (
        ("strata node serve --listen tls://0.0.0.0:8786", "a scheduler for nodes with certificates"),
        ("strata node serve", "a scheduler for nodes on this machine alone"),
    ),
    "node join": (
        ("strata node join tls://scheduler:8786 --name node-2", "make this machine a node"),
        ("strata node join --scheduler-file shared/scheduler.json", "the same in a batch job"),
    ),
    "node list": (
        ("strata node list tls://scheduler:8786", "which nodes have joined, and their clocks"),
        ("strata node list tcp://127.0.0.1:8786 --json", "the same, as JSON"),
    ),
    "fleet": (
        ("strata fleet diagnose /mnt/volume --nodes tls://scheduler:8786", "which host is slow, and in which layer"),
        ("strata fleet compare RUN-1 RUN-2 RUN-3 RUN-4 RUN-5", "the same of runs that were imported or kept"),
    ),
    "fleet diagnose": (
        ("strata fleet diagnose /mnt/volume --nodes tls://scheduler:8786", "every layer on every host that has joined"),
        (
            "strata fleet diagnose /etc/{node}.toml --nodes tls://host:8786 --read-only",
            "a stack file of each host's own, without writing",
        ),
    ),
    "fleet compare": (
        ("strata fleet compare RUN-1 RUN-2 RUN-3 RUN-4 RUN-5", "one run of each host"),
        ("strata fleet compare RUN-1 RUN-2 RUN-3 RUN-4 RUN-5 --json", "the same, as JSON"),
    ),
    "target": (
        ("strata target --memory 1g --listen 0.0.0.0:10809", "a known-good remote end, to measure the network with"),
        ("strata target --null 10g --latency 2ms --bandwidth 100m", "a remote end with a known limit"),
    ),
    "clean": (
        ("strata clean", "remove what killed runs left behind"),
        ("strata clean --json", "the same, as JSON"),
    ),
}
