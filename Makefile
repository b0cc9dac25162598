# Everything a person or a machine runs here. Works with GNU make 3.81 and any POSIX sh.
# Which deno is used, and its pinned version: scripts/deno_path.

SHELL = /bin/sh
.DEFAULT_GOAL := help
.PHONY: help deno-path demo demo-check test test-real ok fmt lint check bench bundle compile screenshots chaos soak fleet fleet-tour fleet-down release-check clean ready

DENO = "$$(sh scripts/deno_path)"

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

deno-path: ## print the deno in use; installs the pinned one into .tools/ when PATH has another or none
	@sh scripts/deno_path

demo: ready ## a fleet of one on loopback: fixture engine and router; Ctrl-C stops it
	@$(DENO) run -A --frozen scripts/demo.ts

demo-check: ready ## the demo unattended: streams chats through real client SDKs, then exits
	@$(DENO) run -A --frozen scripts/demo.ts --check

fleet: ready ## five hosts as containers on a network of their own; Debian as root, a few minutes
	@sh scripts/provision tests/fleet
	@$(DENO) run -A --frozen scripts/fleet.ts up

fleet-tour: ready ## walk through the story on the fleet that is up, and say what each step proves
	@$(DENO) run -A --frozen scripts/fleet.ts tour

fleet-down: ready ## take the fleet away: hosts, network, its engine, its folder
	@$(DENO) run -A --frozen scripts/fleet.ts down

test: ready ## every test that needs nothing but deno
	@$(DENO) run -A --frozen scripts/suite.ts test

test-real: ready ## tests against real programs: provisioned on Debian as root, else skipped aloud
	@sh scripts/provision tests/real
	@$(DENO) run -A --frozen scripts/suite.ts real

chaos: ready ## a seeded walk of faults with real clients and operators; SEED=7 MINUTES=3 HOSTS=2
	@sh scripts/provision tests/chaos
	@$(DENO) run -A --frozen tests/chaos/main.ts --seed "$${SEED:-$$(date +%s)}" \
	  --minutes "$${MINUTES:-3}" --hosts "$${HOSTS:-2}" $(ARGS)

soak: ready ## memory of routers, agents and publisher over MINUTES=60, as a table; ARGS="--out FILE.json"
	@sh scripts/provision tests/chaos
	@$(DENO) run -A --frozen tests/chaos/soak.ts --minutes "$${MINUTES:-60}" $(ARGS)

ok: ready ## what must pass before a commit: format, lint, types, made files, tests
	@$(DENO) fmt --check
	@$(DENO) lint
	@$(DENO) check --frozen
	@$(DENO) run -A --frozen scripts/schemas.ts --check
	@$(DENO) run -A --frozen scripts/reference.ts --check
	@$(DENO) run -A --frozen scripts/operator_reference.ts --check
	@$(DENO) run -A --frozen scripts/agent_reference.ts --check
	@$(DENO) run -A --frozen scripts/adopter_reference.ts --check
	@$(DENO) run -A --frozen scripts/reference_serves.ts --check
	@$(DENO) run -A --frozen scripts/suite.ts test

fmt: ready ## format everything
	@$(DENO) fmt

lint: ready ## lint, with the room rules of tests/rooms
	@$(DENO) lint

check: ready ## type check everything
	@$(DENO) check --frozen

bench: ready ## side by side with nginx and others, as ratios; ARGS="--write docs/benchmarks.md"
	@sh scripts/provision tests/bench
	@$(DENO) run -A --frozen tests/bench/main.ts $(ARGS)

bundle: ready ## every role for three platforms into dist/; ARGS="--platform linux-x64 --only folder"
	@$(DENO) run -A --frozen scripts/bundle.ts $(ARGS)

compile: ready ## one executable per role by deno compile; exit 1 where its runtime cannot be had
	@$(DENO) run -A --frozen scripts/compile.ts $(ARGS)

screenshots: ready ## the pictures of docs/images, by Chromium from a fixture fleet
	@sh scripts/provision tests/real/dashboard_test.ts
	@$(DENO) run -A --frozen scripts/screenshots.ts

release-check: ready ## may this tag be released? ARGS="--tag v0.1.0 --signers FILE"
	@$(DENO) run -A --frozen scripts/release_check.ts $(ARGS)

clean: ## remove what make, the demo and coverage left in the tree
	@[ ! -e .fleet ] || { echo "a fleet is there: make fleet-down first" >&2; exit 1; }
	rm -rf .tools .demo coverage dist

# The deno, and every dependency of deno.lock in its cache. Refuses a lock that is out of date.
ready:
	@sh scripts/deno_path >/dev/null
	@$(DENO) ci
