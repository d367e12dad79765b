"""The examples that end the help of every command: what to type, and what for."""

from __future__ import annotations

Example = tuple[str, str]

EXAMPLES: dict[str, tuple[Example, ...]] = {
    "": (
        ("strata diagnose --demo far-wire", "try it on a simulated stack with a known limit"),
        ("strata diagnose /mnt/volume --html report.html", "find what limits your storage"),
    ),
    "survey": (
        ("strata survey /mnt/volume", "show what is below a path, and what would distort a measurement"),
        ("strata survey --compare node-1.json node-2.json", "compare nodes, from survey --json on each"),
    ),
    "diagnose": (
        (
            "strata diagnose /mnt/volume --share --html report.html",
            "disk, file system, and a share of it over loopback",
        ),
        ("strata diagnose stack.toml --profile sql-oltp", "your own stack, with the goals of an application"),
    ),
    "plan": (
        ("strata plan /mnt/volume", "show what would run and what would be written"),
        (
            "strata plan file:/mnt/volume/new.dat --matrix full --budget 15m",
            "show what a matrix would measure, and how precisely",
        ),
    ),
    "measure": (
        ("strata measure file:/mnt/new.dat --rw randread --bs 8k --iodepth 8", "create a file, measure it, remove it"),
        ("strata measure block:/dev/sdb --rw read --bs 1m --until 2%", "read a device until the mean is known to ±2 %"),
    ),
    "scale": (
        ("strata scale file:/mnt/new.dat --over iodepth", "find the queue depth from which the rate stops rising"),
        (
            "strata scale nbd://host/export --over threads --what-if limit=2x",
            "find what limits it, and predict the effect of twice the limit",
        ),
    ),
    "stage": (
        ("strata stage cluster.toml", "list the layers with a measurement, and the next step to do by hand"),
        ("strata stage cluster.toml --measure", "measure the next layer, with the settings of those before it"),
    ),
    "verify": (
        ("strata verify file:/mnt/new.dat --size 1g", "check that all acknowledged data is present"),
        (
            "strata verify --check --journal run.journal --power-loss",
            "after a power loss: check that all flushed data is present",
        ),
    ),
    "trace": (
        (
            "strata trace /mnt/volume --seconds 10 --save app.trace",
            "trace the requests that reach the devices below a path",
        ),
        ("strata trace /dev/sdb --waterfall -- fio job.fio", "show where the requests of a command spend their time"),
    ),
    "watch": (
        ("strata watch /mnt/volume --for 60s", "name the layer that limits the current load"),
        ("strata watch /mnt/volume -- fio job.fio", "watch a command from its start to its end"),
    ),
    "check": (
        ("strata check", "check whether the figures of the newest run are consistent"),
        ("strata check results.csv --column 'BW=rate [MiB/s]'", "check the figures of another tool"),
    ),
    "import": (
        ("strata import results/", "read every result in a folder into the store"),
        ("strata import --dry-run --json fio.json", "print what a file contains as JSON; nothing is stored"),
    ),
    "emit": (
        (r"strata emit powershell 'C:\ClusterStorage\v1\t.dat'", "the standard workloads for diskspd"),
        ("strata emit fio /mnt/new.dat --rw randread --bs 8k --iodepth 32", "one workload as a fio job file"),
    ),
    "completions": (
        ("strata completions bash", 'completion for this bash session: eval "$(strata completions bash)"'),
        ("strata completions fish", "the contents of ~/.config/fish/completions/strata.fish"),
    ),
    "schema": (
        ("strata schema", "list the documents"),
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
        (
            "strata serve --control --listen 127.0.0.1:0",
            "also allow pages to rename and delete runs; select a free port",
        ),
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
        ("strata node list tls://scheduler:8786", "list the nodes"),
    ),
    "node trust": (
        ("strata node trust node-1 node-2", "certificates for the scheduler, its user and two nodes"),
        ("strata node trust --revoke node-2", "revoke the certificates of node-2: they are refused from now on"),
    ),
    "node serve": (
        ("strata node serve --listen tls://0.0.0.0:8786", "a scheduler for nodes with certificates"),
        ("strata node serve", "a scheduler for nodes on this machine only"),
    ),
    "node join": (
        ("strata node join tls://scheduler:8786 --name node-2", "make this machine a node"),
        ("strata node join --scheduler-file shared/scheduler.json", "the same in a batch job"),
    ),
    "node list": (
        ("strata node list tls://scheduler:8786", "list the nodes and their clock offsets"),
        ("strata node list tcp://127.0.0.1:8786 --json", "the same, as JSON"),
    ),
    "fleet": (
        ("strata fleet diagnose /mnt/volume --nodes tls://scheduler:8786", "find the slow hosts and their slow layers"),
        ("strata fleet compare RUN-1 RUN-2 RUN-3 RUN-4 RUN-5", "the same for stored or imported runs"),
    ),
    "fleet diagnose": (
        (
            "strata fleet diagnose /mnt/volume --nodes tls://scheduler:8786",
            "measure every layer on every host that has joined",
        ),
        (
            "strata fleet diagnose /etc/{node}.toml --nodes tls://host:8786 --read-only",
            "use each host's own stack file; do not write",
        ),
    ),
    "fleet compare": (
        ("strata fleet compare RUN-1 RUN-2 RUN-3 RUN-4 RUN-5", "compare one run of each host"),
        ("strata fleet compare RUN-1 RUN-2 RUN-3 RUN-4 RUN-5 --json", "the same, as JSON"),
    ),
    "target": (
        ("strata target --memory 1g --listen 0.0.0.0:10809", "a known-good remote end, to measure the network with"),
        ("strata target --null 10g --latency 2ms --bandwidth 100m", "a remote end with a known limit"),
    ),
    "clean": (
        ("strata clean", "remove the files that killed runs left behind"),
        ("strata clean --json", "the same, as JSON"),
    ),
}
