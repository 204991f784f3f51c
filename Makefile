# Every target works in a fresh clone with nothing but `make` and a Python >= 3.11.
#
#   make demo     an agent protected, changed, destroyed and brought back, checked byte for byte
#   make test     the tests that every change has to pass
#
# What is installed comes from the lock files: versions and hashes, no addresses.

PYTHON ?= python3
UV     ?= uv
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input
RUN    := $(BIN)/python tests/run.py
BENCH  ?=
PACKAGE ?=
FORMULA ?=
PARTS  ?= 1,2,3,4
# Child processes would otherwise compile the program again and again where this variable is set.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/.pycache

.DEFAULT_GOAL := help

# A stamp per lock file: a changed lock installs again, and so does a changed pyproject.toml, because entry points
# are read at install time.
$(VENV)/run.stamp: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or later is needed: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || { echo "this Python has no venv: apt-get install python3-venv" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes -r requirements.lock
	$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/dev.stamp: requirements-dev.lock $(VENV)/run.stamp
	$(PIP) --require-hashes -r requirements-dev.lock
	@touch $@

$(VENV)/fuzz.stamp: requirements-fuzz.lock $(VENV)/dev.stamp
	$(PIP) --require-hashes -r requirements-fuzz.lock
	@touch $@

help: ## what can be made
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | while IFS="$$(printf '\t')" read -r name text; do printf '  %-17s %s\n' "$$name" "$$text"; done

demo: $(VENV)/run.stamp ## the whole story on a throw-away workspace
	$(BIN)/lifeboat demo

test: $(VENV)/dev.stamp ## the tests that every change has to pass, but for those of screens and other formats
	$(RUN) test

test-tui: $(VENV)/dev.stamp ## every screen of the dashboard by keys, and its pictures
	$(RUN) tui

test-interchange: $(VENV)/dev.stamp ## AIMEM Bundle, AICF, Aionforge Memory: checklists, round trips, rubbish
	$(RUN) interchange

test-fast: $(VENV)/dev.stamp ## test, test-tui and test-interchange in one run
	$(RUN) fast

test-affected: $(VENV)/dev.stamp ## the parts of slow targets that a change can affect, and those whose turn it is (CI_BASE=REVISION)
	$(RUN) affected

everything: check package ## all tests there are, and every row of the benchmark
	$(RUN) everything

test-durations: $(VENV)/dev.stamp ## record how long each module of the fast targets takes, to balance the processes
	$(RUN) fast --record-durations

check: $(VENV)/dev.stamp ## lint, format, types, imports, links of the documentation
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	PYTHONPATH=tests $(BIN)/python -m support.docs.docs_site

audit: $(VENV)/dev.stamp ## compare the lock files with a vulnerability database on this machine (AUDIT_DB=all.zip of PyPI from osv.dev)
	$(BIN)/python packaging/tools/audit.py $(if $(AUDIT_DB),--database $(AUDIT_DB))

bench: $(VENV)/dev.stamp ## side by side with git, restic, syncthing, tar and a bare walk (BENCH="--quick --strict")
	$(BIN)/python -m benchmarks.run $(BENCH)

test-real: $(VENV)/dev.stamp ## against a real OpenClaw from npm, in a network namespace (root, npm)
	$(RUN) real --parts $(PARTS)

test-scale: $(VENV)/dev.stamp ## an endpoint on PostgreSQL and an object store, servers and workers killed (root, postgresql, swift; PARTS=1,2)
	$(RUN) scale --parts $(PARTS)

test-soak: $(VENV)/dev.stamp ## what takes minutes: hundreds of kills, full disks, tens of thousands of files (root for some; PARTS=1,2)
	$(RUN) soak --parts $(PARTS)

package: $(VENV)/dev.stamp ## wheel, source distribution, Debian package, units and checksums, in dist/ (PACKAGE=--release)
	$(BIN)/python packaging/tools/make.py $(PACKAGE)

test-package: $(VENV)/dev.stamp ## build the packages, install them in a clean root, upgrade, remove (root, debootstrap)
	$(RUN) package --parts $(PARTS)

formula: $(VENV)/dev.stamp ## the formula for Homebrew, of what lies in dist/ (FORMULA="--homepage URL --release URL --index URL")
	$(BIN)/python packaging/tools/formula.py $(FORMULA) dist/agent_lifeboat-*.tar.gz

fuzz: $(VENV)/fuzz.stamp ## coverage-guided fuzzing of the readers (FUZZ_SECONDS=60)
	PYTHONPATH=tests $(BIN)/python -m support.fuzz.fuzz_readers --seconds $(or $(FUZZ_SECONDS),60)

docs: $(VENV)/run.stamp ## write the pages that follow from the code: commands, errors
	PYTHONPATH=tests $(BIN)/python -m support.docs.doc_pages

docs-site: $(VENV)/dev.stamp ## build the documentation as a site, in build/docs/site
	PYTHONPATH=tests $(BIN)/python -m support.docs.docs_site

casts: $(VENV)/dev.stamp ## record the picture of the README and the cast of the tutorial from real commands
	PYTHONPATH=tests $(BIN)/python -m support.docs.story_casts

recording: $(VENV)/dev.stamp ## what the demonstration of the dashboard shows, from real commands on an invented home
	PYTHONPATH=tests $(BIN)/python -m support.tui.recorder

pictures: $(VENV)/dev.stamp ## pictures of every screen, for tests and docs/screenshots (chromium); look at them then
	$(BIN)/python -m pytest -q tests/tui/test_pictures.py --snapshot-update
	PYTHONPATH=tests $(BIN)/python -m support.tui.pictures

COMPILE = $(UV) pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-emit-index-url --custom-compile-command 'make lock' --quiet

lock: ## write the lock files anew (needs uv)
	@command -v $(UV) >/dev/null || { echo "uv is needed to write lock files: pipx install uv" >&2; exit 1; }
	$(COMPILE) --all-extras --group dev -o requirements-dev.lock
	$(COMPILE) --group build -c requirements-dev.lock -o requirements.lock
	$(COMPILE) --extra server --extra scale --extra aws-kms --extra transit --group build -c requirements-dev.lock -o packaging/container/endpoint.lock
	$(subst compile pyproject.toml,compile,$(COMPILE)) --group fuzz -c requirements-dev.lock -o requirements-fuzz.lock

# command:package; only what is missing is installed, and only where that can be done unasked.
SYSTEM := git:git restic:restic syncthing:syncthing tmux:tmux unshare:util-linux \
  debootstrap:debootstrap gnome-keyring-daemon:gnome-keyring dbus-run-session:dbus-daemon secret-tool:libsecret-tools initdb:postgresql pgbouncer:pgbouncer \
  swift-proxy-server:swift-proxy swift-account-server:swift-account swift-container-server:swift-container \
  swift-object-server:swift-object memcached:memcached sshd:openssh-server

system-packages: ## what tests and benchmarks compare with, from apt, as root
	@export PATH="$$PATH:/usr/sbin:$$(echo /usr/lib/postgresql/*/bin | tr ' ' :)"; missing=""; for pair in $(SYSTEM); do command -v "$${pair%%:*}" >/dev/null || missing="$$missing $${pair##*:}"; done; \
	$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || missing="$$missing python3-venv"; \
	/usr/bin/python3 -c 'import keystonemiddleware' 2>/dev/null || missing="$$missing python3-keystonemiddleware"; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then echo "not installed (needs root and apt):$$missing"; exit 0; fi; \
	export DEBIAN_FRONTEND=noninteractive; \
	apt-get update -qq </dev/null && apt-get install -y -qq --no-install-recommends $$missing </dev/null >/dev/null \
	|| echo "could not install:$$missing; what needs them is skipped with a word"

clean: ## remove the environment and every cache
	rm -rf $(VENV) .pycache .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .benchmarks
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: help audit demo test test-tui test-interchange test-fast test-affected test-durations everything check bench test-real test-scale test-soak package test-package formula fuzz docs docs-site casts recording pictures lock system-packages clean
