"""The rules of the house that a parser can see: sizes, names, captions, docstrings."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("house")
"""All files are read once."""

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "counterpoint"
TESTS = ROOT / "tests"

FILE_LINES = 800
FUNCTION_LINES = 60
FOLDER_FILES = 25
CAPTION = range(8, 95)
TEST_WORDS = 3
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
        "kernel/listing_cache.py",
        "kernel/ownership.py",
        "kernel/places.py",
        "kernel/releases.py",
        "kernel/tool_scopes.py",
    }
)
"""What the relay has of the ground floor: as much the standard library only as itself."""
SENDER = "cli/clients/sending.py"
"""What a client runs after each call of a tool: no heavier than the relay."""

FLOORLESS_TESTS = frozenset(
    {"architecture", "clients", "conformance", "docs", "e2e", "fakes", "golden"}
)

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def modules(top: Path) -> dict[str, ast.Module]:
    """Answer every module below a folder, by its path from there."""
    return {
        path.relative_to(top).as_posix(): ast.parse(path.read_text("utf-8"), str(path))
        for path in sorted(top.rglob("*.py"))
        if "__pycache__" not in path.parts
    }


@cache
def nodes(tree: ast.AST) -> list[ast.AST]:
    """Answer everything in a tree; there are many, so they are walked once."""
    return list(ast.walk(tree))


def functions(tree: ast.Module) -> Iterator[Function]:
    """Answer every function and method of a tree, nested ones included."""
    return (node for node in nodes(tree) if isinstance(node, Function))


def body_lines(function: Function) -> int:
    """Count the lines of a function below its docstring."""
    body = function.body
    if ast.get_docstring(function) is not None:
        body = body[1:]
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def public(body: list[ast.stmt]) -> Iterator[Function | ast.ClassDef]:
    """Answer the public classes, functions and methods of a module's or a class's body."""
    for node in body:
        if not isinstance(node, Function | ast.ClassDef) or node.name.startswith("_"):
            continue
        marks = {ast.unparse(mark).rsplit(".", maxsplit=1)[-1] for mark in node.decorator_list}
        if marks & {"overload", "override", "setter"}:
            continue
        yield node
        if isinstance(node, ast.ClassDef):
            yield from public(node.body)


def test_no_source_file_is_longer_than_one_sitting() -> None:
    """A file that grows past 800 lines is two files."""
    lengths = {
        f"{top.name}/{path}": len((top / path).read_text("utf-8").splitlines())
        for top in (SRC, TESTS)
        for path in modules(top)
    }
    assert {path: lines for path, lines in lengths.items() if lines > FILE_LINES} == {}


def test_no_function_is_longer_than_a_screen() -> None:
    """No function of the product has more than 60 lines below its docstring."""
    long = [
        f"{path}:{function.lineno} {function.name} has {body_lines(function)} lines"
        for path, tree in modules(SRC).items()
        for function in functions(tree)
        if body_lines(function) > FUNCTION_LINES
    ]
    assert long == []


def test_no_folder_holds_more_than_25_files() -> None:
    """A folder of the product has at most 25 files beside its `__init__.py`."""
    counts = {
        folder.relative_to(SRC).as_posix(): sum(
            file.is_file() and file.name != "__init__.py" for file in folder.iterdir()
        )
        for folder in [SRC, *SRC.rglob("*/")]
        if folder.name != "__pycache__"
    }
    assert {folder: count for folder, count in counts.items() if count > FOLDER_FILES} == {}


def test_every_folder_of_the_product_has_a_caption_file() -> None:
    """A folder with modules is a package whose first line says what it is."""
    folders = {Path(path).parent.as_posix() for path in modules(SRC)}
    assert {folder for folder in folders if not (SRC / folder / "__init__.py").exists()} == set()


def test_every_module_opens_with_one_plain_sentence() -> None:
    """The first line of a module is its caption: 8 to 94 characters and a full stop."""
    faults: list[str] = []
    for path, tree in modules(SRC).items():
        caption = (ast.get_docstring(tree) or "").partition("\n")[0]
        if len(caption) not in CAPTION or not caption.endswith("."):
            faults.append(f"{path}: {caption!r}")
    assert faults == []


def test_everything_public_says_what_it_answers_or_changes() -> None:
    """Public classes, functions and methods have a docstring."""
    faults = [
        f"{path}:{node.lineno} {node.name}"
        for path, tree in modules(SRC).items()
        for node in public(tree.body)
        if ast.get_docstring(node) is None
    ]
    assert faults == []


def test_only_the_three_tops_catch_everything() -> None:
    """A broad except stands in a tool call, the command line or the board, once in each."""
    faults: list[str] = []
    for path, tree in modules(SRC).items():
        broad = [
            node.lineno
            for node in ast.walk(tree)
            if isinstance(node, ast.ExceptHandler) and catches_everything(node)
        ]
        allowed = 1 if path in TOPS or path.startswith("board/") else 0
        faults += [f"{path}:{line}" for line in broad[allowed:]]
    assert faults == []


def catches_everything(node: ast.ExceptHandler) -> bool:
    """Tell a catch-all; one for BaseException that ends in a raise only tidies up."""
    names = {ast.unparse(part) for part in ast.walk(node.type)} if node.type else {"BaseException"}
    if "Exception" in names:
        return True
    return "BaseException" in names and not isinstance(node.body[-1], ast.Raise)


def test_the_relay_needs_the_standard_library_only() -> None:
    """What an agent starts imports nothing that has to be installed or that is slow to load."""
    imported: set[str] = set()
    for path, tree in modules(SRC).items():
        if not path.startswith("relay/") and path not in {"__main__.py", SENDER, *SHARED}:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                imported |= {name.name for name in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(node.module or "counterpoint")
    # The command line is what takes over where there is nothing to relay, and the server is another process.
    assert "counterpoint.cli.main" in imported
    others = {name for name in imported if name.partition(".")[0] not in sys.stdlib_module_names}
    assert {name for name in others if not name.startswith("counterpoint.relay")} == {
        "counterpoint",
        "counterpoint.cli.clients.sending",
        "counterpoint.cli.main",
        "counterpoint.cli.server.serving",
        *(f"counterpoint.{path.removesuffix('.py').replace('/', '.')}" for path in SHARED),
    }


def test_what_runs_a_command_needs_the_standard_library_and_itself_only() -> None:
    """It starts without what is installed, and holds nothing of the server that a command could reach."""
    imported = {
        node.module or ""
        for path, tree in modules(SRC).items()
        if path.startswith("runner/")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
    }
    others = {name for name in imported if name.partition(".")[0] not in sys.stdlib_module_names}
    assert others
    assert all(name.startswith("counterpoint.runner") for name in others)


def test_nothing_in_the_product_is_left_for_later() -> None:
    """There is no stub and no note to finish something another day."""
    wanted = re.compile(r"\b(TODO|FIXME|XXX|NotImplementedError|for now)\b")
    faults = [
        f"{path}:{number} {line.strip()}"
        for path in modules(SRC)
        for number, line in enumerate((SRC / path).read_text("utf-8").splitlines(), 1)
        if wanted.search(line)
    ]
    assert faults == []


def test_every_silenced_check_gives_its_reason() -> None:
    """A comment that silences a checker names the rule and says why in words."""
    silencer = re.compile(r"#\s*(?:noqa|type:\s*ignore|pyright:\s*ignore)(?P<rest>.*)")
    rule = re.compile(r"^(?:: ?[A-Z]+\d+(?:, ?[A-Z]+\d+)*|\[[\w, -]+\])(?P<reason>.*)")
    faults: list[str] = []
    for top in (SRC, TESTS):
        for path in modules(top):
            for number, line in enumerate((top / path).read_text("utf-8").splitlines(), 1):
                found = silencer.search(line)
                if found is None or "re.compile" in line:
                    continue
                said = rule.match(found["rest"])
                if said is None or len(re.findall(r"\w+", said["reason"])) < REASON_WORDS:
                    faults.append(f"{top.name}/{path}:{number} {line.strip()}")
    assert faults == []


def test_every_test_is_named_as_a_sentence() -> None:
    """A test has at least three words in its name; it needs no other sentence."""
    faults: list[str] = []
    for path, tree in modules(TESTS).items():
        for test in functions(tree):
            if not test.name.startswith("test_"):
                continue
            if len(test.name.split("_")) <= TEST_WORDS:
                faults.append(f"{path}:{test.lineno} {test.name}")
    assert faults == []


def test_no_test_is_mocked_or_excused_or_sleeps() -> None:
    """Fakes stand at seams, known faults are mended, and waits are bounded by a signal."""
    faults: list[str] = []
    for path, tree in modules(TESTS).items():
        for node in ast.walk(tree):
            match node:
                case ast.ImportFrom(module="unittest.mock") | ast.alias(name="unittest.mock"):
                    faults.append(f"{path}: unittest.mock")
                case ast.Attribute(attr="xfail" | "MagicMock") as found:
                    faults.append(f"{path}:{found.lineno} {found.attr}")
                case ast.Attribute(value=ast.Name(id="time"), attr="sleep") as found:
                    faults.append(f"{path}:{found.lineno} time.sleep")
                case _:
                    pass
    assert faults == []


def test_tests_stand_where_what_they_test_stands() -> None:
    """Each folder of tests carries the name of a floor, or of a kind of test with no floor."""
    floors = {path.name for path in SRC.iterdir() if path.is_dir()} | FLOORLESS_TESTS
    folders = {path.name for path in TESTS.iterdir() if path.is_dir()} - {"__pycache__"}
    assert folders - floors == set()
