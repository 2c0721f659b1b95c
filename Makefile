# `make demo` and `make test` ask for Python 3.11 or newer, git and make; everything else they fetch themselves.

BIN := .venv/bin
STAMP := .venv/.installed
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-header --no-annotate --no-emit-index-url $(UPGRADE)

# Judged apart from the whole, because nouns, judgments, proofs and errors have no hard-to-reach lines.
PURE := src/counterpoint/core/*,src/counterpoint/kernel/*

# A worker that has nothing left takes tests from the other; files with slow tests come first (tests/conftest.py).
# The programs of others have targets of their own.
PARALLEL := -n auto --dist worksteal --ignore tests/conformance --ignore tests/clients --ignore tests/board/browser

.DEFAULT_GOAL := help
.PHONY: help install demo test coverage quick ci-long tamper faults conformance clients browser screenshots release-check snippets walk recordings check lint laws ratchets types imports format lock pages outside bench \
	clean package-free

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(STAMP) ## Make .venv from the locked requirements (again only when they change)

$(STAMP): pyproject.toml requirements/dev.txt requirements/bootstrap.txt .ci/install
	@echo "Making .venv from requirements/dev.txt ..."
	@PYTHON="$(PYTHON)" .ci/install "$(MAKECMDGOALS)"

demo: $(STAMP) ## Several agents work one plan in a throwaway repository; ends with a verified proof
	@$(BIN)/counterpoint demo

test: $(STAMP) ## Every test in its short form; files in memory where there is room
	@$(BIN)/python -m pytest $(PARALLEL) $(ARGS)

coverage: $(STAMP) ## The same with coverage: 95 % of all, 100 % of core/ and kernel/; `make faults` tries what is too long to be measured
	@rm -f .coverage .coverage.*
	@$(BIN)/python -m pytest $(PARALLEL) -m "not no_cover" --cov --cov-report=term $(ARGS)
	@pure=$$($(BIN)/coverage report --include='$(PURE)' --fail-under=100) \
		|| { echo "$$pure"; echo "core/ and kernel/ must be covered to 100 %"; exit 1; }

quick: $(STAMP) ## The tests that need no real processes
	@$(BIN)/python -m pytest $(PARALLEL) -m "not slow and not e2e" $(ARGS)

tamper: $(STAMP) ## N seeded changes to live databases (500), from SEED on (0), ON=file or postgres; says which nobody finds
	@$(BIN)/python scripts/tamper.py $(or $(N),500) $(or $(SEED),0) $(or $(ON),file)

faults: $(STAMP) ## The long forms of what fails on purpose or is drawn at random: disks, kills, races, tampering, properties
	@COUNTERPOINT_LONG=1 $(BIN)/python -m pytest $(PARALLEL) -m faults $(ARGS)

conformance: $(STAMP) ## The protocol's own conformance suite and inspector; npm fetches them
	@.ci/programs conformance
	@NODE_PROGRAMS=required $(BIN)/python -m pytest -n 0 tests/conformance $(ARGS)

clients: $(STAMP) ## Claude Code, Codex and Gemini CLI against a scripted model, in short; npm fetches 0.9 GB
	@.ci/programs clients
	@NODE_PROGRAMS=required $(BIN)/python -m pytest -n 0 tests/clients $(ARGS)

browser: $(STAMP) ## The board in a real Chromium, in short; fetches what drives it (45 MB), and skips loudly without a Chromium
	@.ci/programs board/browser
	@.ci/browser
	@$(BIN)/python -m pytest -n 0 -rs tests/board/browser $(ARGS)

screenshots: $(STAMP) ## Every page of the board with work in it, in three widths and two colour schemes: build/screenshots
	@.ci/browser
	@$(BIN)/python scripts/screenshots.py $(FOLDER)

ci-long: coverage faults ## What takes long: coverage, faults, every end-to-end test and client in all its forms
	@COUNTERPOINT_LONG=1 $(BIN)/python -m pytest $(PARALLEL) -m "e2e and not faults" $(ARGS)
	@COUNTERPOINT_LONG=1 $(MAKE) --no-print-directory clients
	@COUNTERPOINT_LONG=1 $(MAKE) --no-print-directory browser

release-check: $(STAMP) ## What would be released: version, changelog, two builds alike, contents, a start from the wheel
	@$(BIN)/python scripts/release.py $(VERSION)

snippets: $(STAMP) ## Every command that README and docs/ show, in an environment made from the wheel; PAGES=docs/people.md for some
	@$(BIN)/python scripts/snippets.py $(PAGES)

recordings: $(STAMP) ## What terminals show of the program, drawn anew in docs/recordings
	@$(BIN)/python scripts/recordings.py

walk: $(STAMP) ## The quickstart alone, from the wheel to three agents at work: how long each step takes
	@$(BIN)/python scripts/walk.py

check: lint laws types imports test ## Everything that needs no programs of others

lint: $(STAMP) ## Style: ruff's rules and its format
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check . || { echo "make format mends this"; exit 1; }

laws: $(STAMP) ## Laws of the code, of its figures and of the pages; each file is parsed once
	@$(BIN)/python scripts/laws.py
	@$(BIN)/python scripts/pages.py --check

ratchets: $(STAMP) ## Of the laws the figures of the code: none worse than scripts/ratchets.toml allows
	@$(BIN)/python scripts/sizes.py --check

types: $(STAMP) ## Types: strict, over src
	@$(BIN)/basedpyright --warnings

imports: $(STAMP) ## Architecture: who may import whom
	@$(BIN)/lint-imports --no-cache

format: $(STAMP) ## Rewrite the files in ruff's format, with the fixes that are safe
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format --quiet .

lock: $(STAMP) ## Write requirements/*.txt anew; UPGRADE=--upgrade takes newer versions
	@$(COMPILE) pyproject.toml --output-file requirements/run.txt
	@$(COMPILE) pyproject.toml --group dev --constraint requirements/run.txt \
		--output-file requirements/dev.txt
	@$(COMPILE) --group pyproject.toml:bootstrap --output-file requirements/bootstrap.txt
	@$(COMPILE) --group pyproject.toml:docs --output-file requirements/docs.txt
	@$(COMPILE) --group pyproject.toml:browser --constraint requirements/dev.txt --output-file requirements/browser.txt

pages: $(STAMP) ## Write the pages of docs/ that the product tells itself: lifecycles, tools
	@$(BIN)/python scripts/pages.py
	@$(BIN)/python scripts/plugin.py

.PHONY: docs
docs: $(STAMP) ## The site of docs/ in build/site, from an environment of its own; every broken link fails
	@cmp -s requirements/docs.txt build/docs/.installed || { rm -rf build/docs && $(BIN)/python -m venv build/docs \
		&& build/docs/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/docs.txt \
		&& cp requirements/docs.txt build/docs/.installed; }
	@$(BIN)/python scripts/docs_site.py
	@NO_MKDOCS_2_WARNING=1 build/docs/bin/mkdocs build --strict

.PHONY: importers
importers: $(STAMP) ## Projects made by the tools that `counterpoint import` reads, and counts compared; npm fetches 1.5 GB
	@$(BIN)/python scripts/importers.py $(FOLDER)

outside: $(STAMP) ## What callers see here and at BASE=revision: any difference that was not meant fails
	@$(BIN)/python scripts/outside compare $(BASE) $(ARGS)

bench: $(STAMP) ## Every benchmark in turn: a table each, beside its floor
	@for script in benchmarks/[a-z]*.py; do echo "== $$script"; $(BIN)/python "$$script" || exit 1; done

clean: ## Remove what tools leave behind
	@rm -rf build dist .coverage .coverage.* htmlcov .hypothesis .pytest_cache .ruff_cache
	@find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

package-free: clean ## Remove the environment too: the tree as cloned
	@rm -rf .venv .node
