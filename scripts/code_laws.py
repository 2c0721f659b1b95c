"""Laws of the code that a parser can see: sizes, captions, docstrings, what may be caught and imported."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import sizes
from source_files import Function, SourceFile

if TYPE_CHECKING:
    from laws import Repository

FILE_LINES = 800
FUNCTION_LINES = 60
FOLDER_FILES = 25
CAPTION = range(8, 95)
TEST_WORDS = 4
REASON_WORDS = 3

TOPS = frozenset({"protocol/surface.py", "cli/main.py"})
"""Where a broad `except Exception` may stand, beside the board: a tool call, the command line."""

SHARED = frozenset(
    {
        "kernel/client_session.py",
        "kernel/starting/garbage.py",
        "kernel/starting/later.py",
        "kernel/starting/programs.py",
        "kernel/starting/restart.py",
        "kernel/starting/signals.py",
        "kernel/listing_cache.py",
        "kernel/lost_calls.py",
        "kernel/ownership.py",
        "kernel/places.py",
        "kernel/releases.py",
        "kernel/tool_scopes.py",
    }
)
"""What the relay shares with the product: the standard library only, as itself."""
SENDER = "cli/clients/sending.py"
"""What a client runs after each call of a tool: no heavier than the relay."""
FROM_RELAY = frozenset(
    {
        "counterpoint",
        "counterpoint.cli.clients.sending",
        "counterpoint.cli.main",
        "counterpoint.cli.server.serving",
        *(f"counterpoint.{path.removesuffix('.py').replace('/', '.')}" for path in SHARED),
    }
)
"""What of the product the relay may import beside itself: the command line takes over, and the server is another process."""

FLOORLESS_TESTS = frozenset(
    {"architecture", "clients", "conformance", "docs", "e2e", "fakes", "golden"}
)
_UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|NotImplementedError|for now)\b")
_SILENCER = re.compile(r"#\s*(?:noqa|type:\s*ignore|pyright:\s*ignore)(?P<words>.*)")
_RULE = re.compile(r"^(?:: ?[A-Z]+\d+(?:, ?[A-Z]+\d+)*|\[[\w, -]+\])(?P<reason>.*)")


# ── sizes ───────────────────────────────────────────────────────────────────────────────────────


def figures_hold(repository: Repository) -> Iterator[str]:
    """No figure is worse than `ratchets.toml` allows."""
    inside = [file for file in repository.tests if file.path.partition("/")[0] not in sizes.APART]
    test_lines = sum(len(file.lines) for file in inside)
    page_lines = sizes.count_page_lines(repository.root)
    limits = sizes.load_limits(repository.root / "scripts" / sizes.RATCHETS.name)
    figures = sizes.figures_of(repository.product, test_lines, page_lines)
    yield from sizes.worse_figures(figures, limits)


def files_are_short(repository: Repository) -> Iterator[str]:
    """No module has more than 800 lines: one that grows past that is two."""
    for file in (*repository.product, *repository.tests):
        if len(file.lines) > FILE_LINES:
            yield f"{file.path} has {len(file.lines)} lines, at most {FILE_LINES}"


def functions_are_short(repository: Repository) -> Iterator[str]:
    """No function of the product has more than 60 lines below its docstring."""
    for file in repository.product:
        for function in file.functions:
            lines = _count_body_lines(function)
            if lines > FUNCTION_LINES:
                yield f"{file.path}:{function.lineno} {function.name} has {lines} lines, at most {FUNCTION_LINES}"


def folders_are_small(repository: Repository) -> Iterator[str]:
    """A folder of the product has at most 25 files beside its `__init__.py`."""
    paths = (PurePosixPath(name) for name in repository.names if name.startswith("src/"))
    counts = Counter(path.parent for path in paths if path.name != "__init__.py")
    for folder, count in counts.items():
        if count > FOLDER_FILES:
            yield f"{folder} has {count} files, at most {FOLDER_FILES}"


def _count_body_lines(function: Function) -> int:
    body = function.body
    if ast.get_docstring(function) is not None:
        body = body[1:]
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


# ── captions and docstrings ─────────────────────────────────────────────────────────────────────


def folders_are_packages(repository: Repository) -> Iterator[str]:
    """A folder with modules has an `__init__.py`, whose first line says what it is."""
    paths = {file.path for file in repository.product}
    for folder in sorted({PurePosixPath(path).parent for path in paths}):
        if (folder / "__init__.py").as_posix() not in paths:
            yield f"{folder} has no __init__.py"


def modules_have_captions(repository: Repository) -> Iterator[str]:
    """The first line of a module is one plain sentence: 8 to 94 characters and a full stop."""
    for file in repository.product:
        caption = (ast.get_docstring(file.tree) or "").partition("\n")[0]
        if len(caption) not in CAPTION or not caption.endswith("."):
            yield f"{file.path}:1 {caption!r}"


def public_names_have_docstrings(repository: Repository) -> Iterator[str]:
    """Public classes, functions and methods say what they return or change."""
    for file in repository.product:
        for node in _list_public(file.tree.body):
            if ast.get_docstring(node) is None:
                yield f"{file.path}:{node.lineno} {node.name}"


def _list_public(body: list[ast.stmt]) -> Iterator[Function | ast.ClassDef]:
    for node in body:
        if not isinstance(node, Function | ast.ClassDef) or node.name.startswith("_"):
            continue
        marks = {ast.unparse(mark).rsplit(".", maxsplit=1)[-1] for mark in node.decorator_list}
        if marks & {"overload", "override", "setter"}:
            continue
        yield node
        if isinstance(node, ast.ClassDef):
            yield from _list_public(node.body)


# ── errors and imports ──────────────────────────────────────────────────────────────────────────


def only_the_tops_catch_everything(repository: Repository) -> Iterator[str]:
    """A broad except stands in a tool call, the command line or a file of the board, once in each."""
    for file in repository.product:
        handlers = [node for node in file.nodes if isinstance(node, ast.ExceptHandler)]
        broad = [node.lineno for node in handlers if _is_broad(node)]
        allowed = 1 if file.path in TOPS or file.path.startswith("board/") else 0
        yield from (f"{file.path}:{line}" for line in broad[allowed:])


def _is_broad(node: ast.ExceptHandler) -> bool:
    # One for BaseException that ends in a raise only tidies up.
    names = {ast.unparse(part) for part in ast.walk(node.type)} if node.type else {"BaseException"}
    if "Exception" in names:
        return True
    return "BaseException" in names and not isinstance(node.body[-1], ast.Raise)


def errors_stand_in_their_tree(repository: Repository) -> Iterator[str]:
    """No error of the product is defined beside `kernel/errors.py`."""
    tree = repository.module("kernel/errors.py").tree
    names = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    for file in repository.product:
        if file.path == "kernel/errors.py":
            continue
        for node in file.nodes:
            if isinstance(node, ast.ClassDef) and names & {
                ast.unparse(base).rpartition(".")[2] for base in node.bases
            }:
                yield f"{file.path}:{node.lineno} {node.name}"


def the_relay_imports_the_standard_library(repository: Repository) -> Iterator[str]:
    """What an agent starts imports nothing that has to be installed or that is slow to load."""
    for file in repository.product:
        if not file.path.startswith("relay/") and file.path not in {"__main__.py", SENDER, *SHARED}:
            continue
        for line, module in _list_imports(file):
            is_own = module.startswith("counterpoint.relay") or module in FROM_RELAY
            if not is_own and module.partition(".")[0] not in sys.stdlib_module_names:
                yield f"{file.path}:{line} {module}"


def the_runner_imports_the_standard_library(repository: Repository) -> Iterator[str]:
    """What runs a command starts without what is installed, and holds nothing of the server that a command could reach."""
    for file in repository.product:
        if not file.path.startswith("runner/"):
            continue
        for line, module in _list_imports(file):
            is_own = module.startswith("counterpoint.runner")
            if not is_own and module.partition(".")[0] not in sys.stdlib_module_names:
                yield f"{file.path}:{line} {module}"


def _list_imports(file: SourceFile) -> Iterator[tuple[int, str]]:
    for node in file.nodes:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, node.module or "counterpoint"


# ── what is left or silenced ────────────────────────────────────────────────────────────────────


def nothing_is_left_for_later(repository: Repository) -> Iterator[str]:
    """The product has no stub, and no note to finish something another day."""
    for file in repository.product:
        for number, line in enumerate(file.lines, 1):
            if _UNFINISHED.search(line):
                yield f"{file.path}:{number} {line.strip()}"


def silenced_checks_give_reasons(repository: Repository) -> Iterator[str]:
    """A comment that silences a checker names the rule and says why, in three words or more."""
    for file in (*repository.product, *repository.tests):
        for number, line in enumerate(file.lines, 1):
            match = _SILENCER.search(line)
            if match is None or "re.compile" in line:
                continue
            rule = _RULE.match(match["words"])
            if rule is None or len(re.findall(r"\w+", rule["reason"])) < REASON_WORDS:
                yield f"{file.path}:{number} {line.strip()}"


# ── tests ───────────────────────────────────────────────────────────────────────────────────────


def tests_are_named_as_sentences(repository: Repository) -> Iterator[str]:
    """A test has at least three words behind `test_`."""
    for file in repository.tests:
        for test in file.functions:
            if test.name.startswith("test_") and len(test.name.split("_")) < TEST_WORDS:
                yield f"{file.path}:{test.lineno} {test.name}"


def tests_neither_mock_nor_sleep(repository: Repository) -> Iterator[str]:
    """Fakes stand at seams, known faults are mended, and waits are bounded by a signal."""
    for file in repository.tests:
        for node in file.nodes:
            match node:
                case ast.ImportFrom(module="unittest.mock") | ast.alias(name="unittest.mock"):
                    yield f"{file.path}:{node.lineno} unittest.mock"
                case ast.Attribute(attr="xfail" | "MagicMock"):
                    yield f"{file.path}:{node.lineno} {node.attr}"
                case ast.Attribute(value=ast.Name(id="time"), attr="sleep"):
                    yield f"{file.path}:{node.lineno} time.sleep"
                case _:
                    pass


def tests_mirror_the_product(repository: Repository) -> Iterator[str]:
    """A folder of tests is named like one of the product, or holds a kind of test that has none."""
    product = {file.path.partition("/")[0] for file in repository.product if "/" in file.path}
    tests = {file.path.partition("/")[0] for file in repository.tests if "/" in file.path}
    yield from (f"tests/{folder}" for folder in sorted(tests - product - FLOORLESS_TESTS))
