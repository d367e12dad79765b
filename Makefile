# Two commands do everything on a fresh machine that has Python ≥ 3.11, cargo and make.
PYTHON ?= python3
HOUSE := $(PYTHON) scripts/house.py

.PHONY: run test quick check docs changelog packages same-packages test-packages release setup lock clean bench-demos bench-diagnosis bench-engine bench-fleet bench-gate bench-honesty bench-imports bench-lab bench-matrix bench-probes bench-scale bench-serve bench-store bench-trace bench-watch lab-selftest soak fuzz

run: ## build, then measure the storage under this directory and name what limits it
	@$(HOUSE) run $(ARGS)

test: ## build, install what the tests need, run every check and the tests of every day (STRATA_SUITE=whole: all that CI runs)
	@$(HOUSE) test $(ARGS)

quick: ## within a minute: lints, and the unit tests of what changed since BASE (main); builds nothing
	@$(HOUSE) quick $(BASE)

check: ## formatters, linters, types, floor plan
	@$(HOUSE) check

setup: ## environment and native engine only
	@$(HOUSE) setup

lab-selftest: setup ## every lab stack and injection, as root (QUICK=1: one of each kind, minutes)
	@.venv/bin/strata lab selftest $(if $(QUICK),--quick) $(ARGS)

bench-demos: setup ## how often each demo is named correctly (TIMES=10)
	@.venv/bin/python benches/demos/run.py --times $(or $(TIMES),10)

bench-diagnosis: setup ## how often a verdict is right, by the lab's truth: replays the kept cases (ARGS="--live 10": as root, trials more)
	@.venv/bin/python benches/diagnosis/run.py $(ARGS)

bench-engine: setup ## the load engine beside fio and other peers (ROUNDS=7; ARGS=--smoke)
	@.venv/bin/python benches/engine/run.py $(ARGS)

bench-fleet: setup ## what a cluster of nodes costs up to 1,000 hosts, how far apart loads begin, are slow hosts found (QUICK=1; ARGS=--tls)
	@failed=; each() { .venv/bin/python benches/fleet/"$$@" || failed="$$failed $$1"; }; \
	each run.py $(if $(QUICK),--nodes 4 --idle 5) $(ARGS); \
	each starts.py $(if $(QUICK),--quick); \
	each hosts.py $(if $(QUICK),--quick); \
	each merging.py $(if $(QUICK),--clients 100 1000); \
	each peers.py $(if $(QUICK),--quick); \
	if [ -n "$$failed" ]; then echo "failed:$$failed" >&2; exit 1; fi

bench-lab: setup ## as root: every layer of the stacks of several nodes, with bytes on the wires and cycles per byte (QUICK=1; ARGS=--ceph)
	@.venv/bin/python benches/lab/run.py $(ARGS)

bench-honesty: setup ## do stated intervals hold: known series and the real engine against itself (QUICK=1)
	@.venv/bin/python benches/honesty/run.py $(ARGS)

bench-imports: setup ## 1,000 JSON files and 100 MB of log of fio: time and memory of an import
	@.venv/bin/python benches/imports/run.py $(ARGS)

bench-matrix: setup ## 280 cells in a fraction of the time against known tables and a long reference (QUICK=1)
	@.venv/bin/python benches/matrix/run.py $(ARGS)

bench-gate: setup ## false alarms and finds of gate and change points, beside Apache Otava (OTAVA_PYTHON=…)
	@.venv/bin/python benches/gate/run.py $(ARGS)

bench-watch: setup ## how often a watching is right, by the lab's truth: replays the kept cases (ARGS="--live 10": as root, trials more)
	@.venv/bin/python benches/watch/run.py $(ARGS)

bench-probes: setup ## what reading every counter costs, against the bar of 1 % of a core at 1 s (QUICK=1)
	@.venv/bin/python benches/probes/run.py $(ARGS)

bench-scale: setup ## as root: what `strata scale --what-if` predicts, against changes that are made in the lab (QUICK=1; ARGS=--tables)
	@.venv/bin/python benches/scale/run.py $(if $(QUICK),--quick) $(ARGS)

bench-serve: setup ## the pages of strata serve over 10,000 runs and a million cells: time at the server
	@.venv/bin/python benches/serve/run.py $(ARGS)

bench-store: setup ## a store of a million cells in SQLite and PostgreSQL: how long it takes to answer
	@.venv/bin/python benches/store/run.py $(ARGS)

bench-trace: setup ## what a block trace costs in IOPS and processor time (root; ARGS="--rounds 31")
	@.venv/bin/python benches/trace/run.py $(ARGS)

soak: ## MINUTES of load (30): nothing is lost, nothing grows
	@$(HOUSE) soak $(or $(MINUTES),30)

fuzz: ## both sides of the NBD parser guided by coverage, and every parser of files by mutations, SECONDS for each (300)
	@$(HOUSE) fuzz $(or $(SECONDS),300)

docs: ## the pages of docs/ and of `import strata`, into docs/_build; a warning fails
	@$(HOUSE) docs

packages: ## wheels, deb, rpm and container image of the last commit into dist/, with hashes (ARGS="--only wheel,deb --arch x86_64,aarch64")
	@$(HOUSE) packages $(ARGS)

same-packages: ## builds those of dist/ again, in another clone and folder: other bytes fail (ARGS=OTHER/SHA256SUMS: builds nothing)
	@$(HOUSE) same-packages $(ARGS)

test-packages: ## as root: install each of dist/ in a clean root and use it there
	@$(HOUSE) test-packages $(ARGS)

release: ## VERSION=0.2.0: numbers, CHANGELOG.md, a commit and a tag; then make packages
	@$(HOUSE) release $(VERSION)

changelog: ## what the next release brings, from changelog.d/; nothing is written
	@$(HOUSE) changelog

lock: ## resolve requirements/*.in into the hashed locks
	@$(HOUSE) lock

clean: ## remove what was built
	rm -rf .venv .stamps docs/_build target build dist src/strata/_core.abi3.so
