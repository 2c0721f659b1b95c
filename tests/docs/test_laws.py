"""Each law of `make laws` accepts what keeps it and finds what breaks it."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "scripts"
MODULES = ("laws", "code_laws", "start_laws", "file_laws", "sizes", "source_files")
CODE = "src/counterpoint/work/item.py"
RELAY = "src/counterpoint/relay/start.py"
TEST = "tests/kernel/test_item.py"
HOMES = "home"
ERRORS = {"src/counterpoint/kernel/errors.py": '"""Errors."""\nclass Gone(Exception):\n    """Gone."""\n'}  # fmt: skip
HOME = f"/{HOMES}/ann"
INDEX = f"https:{2 * '/'}packages.example.org/simple"
"""Put together, so that this file does not break the laws itself."""
LIMITS = "[most]\n{}\n[least]\ncomments = 0\n"
FIGURES = "code imports physical files folders one_importer foundry tests small empty_names vague_names board orchestrator"
PIN = "{}==1 \\\n    --hash=sha256:ab\n"
LOCKS = {
    "pyproject.toml": '[project]\ndependencies = ["mcp>=2"]\n',
    "requirements/run.txt": PIN.format("mcp"),
    "requirements/dev.txt": PIN.format("mcp") + PIN.format("pytest"),
    "requirements/bootstrap.txt": PIN.format("uv"),
    "requirements/docs.txt": PIN.format("mkdocs-material"),
}
RULES = '[tool.ruff.lint]\nignore = [\n  "D203",{}\n]\n[tool.ruff.lint.flake8-bugbear]\n'
DECISION = "# 0001 It\n## Context\nIt is so, chosen because it is.\n## Consequences\nNone.\n"
CHECK = {
    ".ci/run": "for step in install lint laws imports test; do\n    make types\n",
    "Makefile": "check: lint laws types imports test ## All\n",
}
RECORDING = '<svg xmlns="http://www.w3.org/2000/svg">counterpoint</svg>'
SHOWN = {
    "README.md": "![it](docs/recordings/a.svg)",
    "CONTRIBUTING.md": "",
    "docs/recordings/a.svg": RECORDING,
}


def lines(count: int) -> str:
    """Return a module with so many lines of code behind its caption."""
    return '"""A module of lines."""\n' + "x = 1\n" * count


def function(count: int) -> str:
    """Return a function with so many lines."""
    return "def count():\n" + "    x = 1\n" * count


# A law, files that keep it, what is changed in them, and what is said of that.
CASES = [
    (
        "figures_hold",
        {"scripts/ratchets.toml": LIMITS.format("\n".join(f"{key} = 10" for key in FIGURES.split())), CODE: lines(9)},
        {CODE: lines(11)},
        "code lines: 11, at most 10",
    ),
    ("files_are_short", {CODE: lines(799)}, {CODE: lines(800)}, "work/item.py has 801 lines"),
    ("functions_are_short", {CODE: function(60)}, {CODE: function(61)}, "count has 61 lines"),
    (
        "folders_are_small",
        {f"src/counterpoint/work/m{number}.py": "" for number in range(25)} | {"src/counterpoint/work/__init__.py": ""},
        {"src/counterpoint/work/piece.md": ""},
        "src/counterpoint/work has 26 files",
    ),
    (
        "folders_are_packages",
        {"src/counterpoint/work/__init__.py": "", CODE: ""},
        {"src/counterpoint/rooms/a.py": ""},
        "rooms has no __init__.py",
    ),
    ("modules_have_captions", {CODE: '"""Rows of items."""'}, {CODE: '"""Rows of items"""'}, "work/item.py:1"),
    (
        "public_names_have_docstrings",
        {CODE: 'class A:\n    """It."""\n    def _b(self): ...\n'},
        {CODE: 'class A:\n    """It."""\n    def b(self): ...\n'},
        "work/item.py:3 b",
    ),
    (
        "only_the_tops_catch_everything",
        {
            "src/counterpoint/cli/main.py": "try:\n    a()\nexcept Exception:\n    b()\n",
            CODE: "try:\n    a()\nexcept BaseException:\n    b()\n    raise\n",
        },
        {CODE: "try:\n    a()\nexcept (OSError, Exception):\n    b()\n"},
        "work/item.py:3",
    ),
    (
        "errors_stand_in_their_tree",
        {**ERRORS, CODE: "class A(Other): ...\n"},
        {CODE: "class A(errors.Gone): ...\n"},
        "work/item.py:1 A",
    ),
    (
        "the_relay_imports_the_standard_library",
        {RELAY: "import os\nfrom counterpoint.kernel.places import find_prefix\n", CODE: "import anyio\n"},
        {RELAY: "from counterpoint.kernel.errors import Gone\n"},
        "relay/start.py:1 counterpoint.kernel.errors",
    ),
    (
        "the_runner_imports_the_standard_library",
        {"src/counterpoint/runner/a.py": "import os\nfrom counterpoint.runner import b\n"},
        {"src/counterpoint/runner/a.py": "import anyio\n"},
        "runner/a.py:1 anyio",
    ),
    ("nothing_is_left_for_later", {CODE: "# Todo lists are plans.\n"}, {CODE: "# TODO: more\n"}, "work/item.py:1"),
    (
        "silenced_checks_give_reasons",
        {CODE: "x = 1  # noqa: S105 -- is no secret at all\n"},
        {CODE: "x = 1  # noqa: S105 -- is none\n"},
        "work/item.py:1",
    ),
    (
        "tests_are_named_as_sentences",
        {TEST: "def test_it_is_so(): ...\n"},
        {TEST: "def test_it_is(): ...\n"},
        "kernel/test_item.py:1 test_it_is",
    ),
    (
        "tests_neither_mock_nor_sleep",
        {TEST: "import time\ntime.monotonic()\n"},
        {TEST: "import time\ntime.sleep(1)\n"},
        "kernel/test_item.py:2 time.sleep",
    ),
    (
        "tests_neither_mock_nor_sleep",
        {TEST: "from unittest import TestCase\n"},
        {TEST: "from unittest.mock import patch\n"},
        "kernel/test_item.py:1 unittest.mock",
    ),
    (
        "tests_neither_mock_nor_sleep",
        {TEST: "import pytest\n"},
        {TEST: "import pytest\npytest.mark.xfail\n"},
        "kernel/test_item.py:2 xfail",
    ),
    ("tests_mirror_the_product", {**ERRORS, TEST: ""}, {"tests/rooms/test_a.py": ""}, "tests/rooms"),
    (
        "interpreters_are_isolated",
        {CODE: "a = [sys.executable, '-P', '-m', 'x']\n"},
        {CODE: "a = [sys.executable, '-m', 'x']\n"},
        "work/item.py:1 [sys.executable, '-m', 'x']",
    ),
    (
        "interpreters_are_isolated",
        {"src/counterpoint/cli/demo/scenario.py": "a = sys.executable\n"},
        {CODE: "a = sys.executable\n"},
        "work/item.py:1 outside of a list",
    ),
    (
        "the_plan_of_the_demonstration_is_isolated",
        {"src/counterpoint/cli/demo/pieces/plan.md": "verify: {python} -P -m x\n"},
        {"src/counterpoint/cli/demo/pieces/plan.md": "verify: {python} -m x\n"},
        "without `-P -m`",
    ),
    (
        "no_file_names_a_path_of_a_machine",
        {"docs/a.md": "See https://example.org/work/x and ~/work.\n"},
        {"docs/a.md": f"first\n    {HOME}/x\n"},
        f"docs/a.md:2 {HOME}/x",
    ),
    (
        "no_file_names_a_package_index",
        {"docs/a.md": "pip install counterpoint\n"},
        {"docs/a.md": f"from {INDEX}\n"},
        "docs/a.md:1",
    ),
    ("locks_are_requirement_files", {"requirements/run.txt": ""}, {"uv.lock": ""}, "uv.lock"),
    (
        "locks_are_requirement_files",
        {"tests/clients/package-lock.json": "{}"},
        {"tests/clients/package-lock.json": '{"resolved": "x"}'},
        "names where a package lies",
    ),
    ("locks_carry_hashes", LOCKS, {"requirements/run.txt": "mcp==1\n"}, "requirements/run.txt: mcp==1"),
    (
        "locks_pin_what_the_project_needs",
        LOCKS,
        {"requirements/run.txt": PIN.format("click")},
        "requirements/run.txt has no mcp",
    ),
    (
        "locks_pin_what_the_project_needs",
        LOCKS,
        {"requirements/dev.txt": "mcp==2\n"},
        "requirements/dev.txt has mcp 2, run.txt 1",
    ),
    (
        "locks_pin_what_the_project_needs",
        LOCKS,
        {"requirements/dev.txt": PIN.format("mcp") + PIN.format("mkdocs-material")},
        "requirements/docs.txt alone",
    ),
    (
        "ignored_rules_give_reasons",
        {"pyproject.toml": RULES.format(" # says why it is")},
        {"pyproject.toml": RULES.format("")},
        '"D203",',
    ),
    ("the_check_runs_every_step", CHECK, {".ci/run": "for step in install lint laws imports test; do\n"}, ".ci/run does not go through types"),
    ("the_check_runs_every_step", CHECK, {"Makefile": "check: lint\n"}, "Makefile: check is not"),
    (
        "the_page_for_agents_is_short",
        {"AGENTS.md": "x\n" * 80},
        {"AGENTS.md": "x\n" * 81},
        "AGENTS.md has 81 lines",
    ),
    (
        "the_architecture_page_names_every_folder",
        {"docs/internals/architecture.md": "work\n", CODE: ""},
        {"src/counterpoint/board/a.py": ""},
        "docs/internals/architecture.md: board",
    ),
    (
        "decisions_say_why",
        {"docs/decisions/0001-a.md": DECISION, "docs/decisions/README.md": "[a](0001-a.md)"},
        {"docs/decisions/0001-a.md": DECISION.replace("chosen because", "and")},
        "lacks `chosen because`",
    ),
    (
        "decisions_say_why",
        {"docs/decisions/0001-a.md": DECISION, "docs/decisions/README.md": "[a](0001-a.md)"},
        {"docs/decisions/0001-b.md": DECISION},
        "0001-b.md has no number of its own",
    ),
    (
        "decisions_say_why",
        {"docs/decisions/0001-a.md": DECISION, "docs/decisions/README.md": "[a](0001-a.md)"},
        {"docs/decisions/0002-b.md": DECISION},
        "0002-b.md is not listed",
    ),
    (
        "links_lead_somewhere",
        {"README.md": "[a](docs/a.md#first-of-all) [b](docs/) [c](https://x)", "CONTRIBUTING.md": "", "docs/a.md": "# First, of all\n[b](../README.md)"},
        {"README.md": "[a](docs/b.md)"},
        "README.md: docs/b.md",
    ),
    (
        "links_lead_somewhere",
        {"README.md": "[a](docs/a.md#it)", "CONTRIBUTING.md": "", "docs/a.md": "# It"},
        {"docs/a.md": "```\n# It\n```"},
        "README.md: docs/a.md#it",
    ),
    (
        "the_contents_lead_to_every_page",
        {"README.md": "[a](docs/contents.md)", "docs/contents.md": "[a](a.md)", "docs/a.md": "", "docs/more/b.md": ""},
        {"docs/b.md": ""},
        "docs/contents.md does not link docs/b.md",
    ),
    (
        "tables_are_whole",
        {"README.md": "| a |\n|---|\n| b |\n", "CONTRIBUTING.md": ""},
        {"README.md": "| a |\n|---|\n\n| b |\n"},
        "README.md:4 | b |",
    ),
    ("recordings_stand_on_a_page", SHOWN, {"README.md": ""}, "docs/recordings/a.svg is shown and missing"),
    ("recordings_stand_on_a_page", SHOWN, {"docs/recordings/a.svg": RECORDING + "//x"}, "names an address"),
]  # fmt: skip


@pytest.fixture
def laws(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """Give the program that checks the laws."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    yield importlib.import_module("laws")
    for name in MODULES:
        sys.modules.pop(name, None)


def find_faults(laws: ModuleType, root: Path, law: str, files: dict[str, str]) -> list[str]:
    """Write files and return what a law says of a repository that has them alone."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        path.chmod(0o755)
    return list(laws.find_laws()[law](laws.Repository(root, tuple(sorted(files)))))


@pytest.mark.parametrize(
    ("law", "files", "changes", "words"), CASES, ids=[f"{case[0]}-{n}" for n, case in enumerate(CASES)]
)  # fmt: skip
def test_a_law_finds_what_breaks_it(
    laws: ModuleType, tmp_path: Path, law: str, files: dict[str, str], changes: dict[str, str], words: str
) -> None:  # fmt: skip
    assert find_faults(laws, tmp_path, law, files) == []
    faults = find_faults(laws, tmp_path, law, files | changes)
    assert [fault for fault in faults if words in fault]


def test_whoever_starts_a_program_is_listed(
    laws: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start_laws = importlib.import_module("start_laws")
    monkeypatch.setattr(start_laws, "STARTING", {"work/item.py": "the interpreter, -P"})
    monkeypatch.setattr(start_laws, "LOOKING", {"work/look.py"})
    files = {
        CODE: "import subprocess\nsubprocess.run(['x'])\n",
        "src/counterpoint/work/look.py": "import shutil\nshutil.which('x')\n",
    }
    law = "starting_places_are_listed"
    assert find_faults(laws, tmp_path, law, files) == []
    files |= {
        CODE: "",
        "src/counterpoint/work/look.py": "from subprocess import run\nrun('x', shell=True)\n",
        "src/counterpoint/work/start.py": "import os\nos.execv('x', [])\n",
    }
    assert find_faults(laws, tmp_path, law, files) == [
        "work/look.py:1 imports run",
        "work/look.py:2 shell=",
        "work/item.py starts nothing, and is in STARTING",
        "work/start.py is not in STARTING",
        "work/look.py looks for nothing, and is in LOOKING",
    ]


def test_a_test_that_a_page_names_must_exist(
    laws: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.import_module("file_laws"), "NAMED_TESTS", {"docs/a.md": 1})
    files = {
        "docs/a.md": "`test_a_is_so` `test_b_is_so`",
        TEST: "def test_a_is_so(): ...\ndef test_b_is_so(): ...\n",
    }
    assert find_faults(laws, tmp_path, "named_tests_exist", files) == []
    files |= {TEST: "def test_a_is_so(): ...\n"}
    assert find_faults(laws, tmp_path, "named_tests_exist", files) == ["docs/a.md: test_b_is_so"]


def test_a_table_of_sizes_that_is_far_off_is_found(laws: ModuleType, tmp_path: Path) -> None:
    sizes = importlib.import_module("sizes")
    files = {CODE: lines(400), "docs/internals/architecture.md": ""}
    law = "the_table_of_sizes_is_fresh"
    (fault,) = find_faults(laws, tmp_path, law, files)
    assert "has other rows" in fault
    product = laws.Repository(tmp_path, tuple(files)).product
    cells = [
        (label, *(" · ".join(map(str, part)) for part in counts))
        for label, *counts in sizes.rows(product)
    ]
    files["docs/internals/architecture.md"] = "".join(f"| {' | '.join(row)} |\n" for row in cells)
    assert find_faults(laws, tmp_path, law, files) == []
    files[CODE] = lines(600)
    assert find_faults(laws, tmp_path, law, files) == [
        "docs/internals/architecture.md: all: [600]; run `python scripts/sizes.py`"
    ]


def test_the_program_names_each_law_that_is_broken(
    laws: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It reads what git tracks or would track, and can be asked for some laws."""
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    module = tmp_path / CODE
    module.parent.mkdir(parents=True)
    module.write_text("# TODO\n", "utf-8")
    (tmp_path / ".gitignore").write_text("*.md\n", "utf-8")
    (tmp_path / "a.md").write_text(HOME, "utf-8")
    chosen = ["nothing_is_left_for_later", "no_file_names_a_path_of_a_machine", "files_are_short"]
    assert laws.main(["--root", str(tmp_path), *chosen]) == 1
    assert capsys.readouterr().out == "nothing_is_left_for_later: work/item.py:1 # TODO\n"
    assert laws.main(["--root", str(tmp_path), "files_are_short"]) == 0


def test_every_law_is_tried_here(laws: ModuleType) -> None:
    """A law that is added has a case, and finds what breaks it."""
    elsewhere = {"starting_places_are_listed", "named_tests_exist", "the_table_of_sizes_is_fresh"}
    assert laws.find_laws().keys() == {case[0] for case in CASES} | elsewhere
