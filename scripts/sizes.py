"""Count the code: the parts in `docs/internals/architecture.md`, and the figures that `make ratchets` holds.

Without arguments it prints both tables; with `--check` it prints only the figures that are worse than
`scripts/ratchets.toml` allows and what to do about each, and fails; with paths of modules it prints their empty
names and their importers. `--root` counts another tree.

- **Code** is the lines without blanks, comments, docstrings and imports. A text that is a value is code, all of it.
- **Import lines** are those that import statements cover, also inside of functions.
- **Physical lines, files, folders** are of the Python modules below `src/`; a folder counts if a module lies in it.
- **One importer**: a module that exactly one other imports. `from a import b` imports `a.b` if that is a module, else
  `a`; lazy imports inside of functions count, names in strings do not. A *small* one has fewer than 100 physical lines
  and is no `__init__.py`; it does not count if its first line ends with its reason: `(seam).`, `(start-up).` or
  `(import contract).`.
- **Names** are those that are assigned (by `=`, `for`, `with`, `:=`, unpacking, comprehensions) and all parameters,
  `self` and `cls` too. Each occurrence counts.
- **Comments** are lines with a comment and nothing else, as a share of physical lines.
- `board/` and `orchestrator/` have ceilings of their own and are left out of every other figure, and so are their tests. Of
  `board/` the lines of templates, style and script that are not blank count with the code.
"""

from __future__ import annotations

import argparse
import ast
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from source_files import SourceFile, parse_file, read_files

ROOT = Path(__file__).parents[1]
PACKAGE = "counterpoint"
RATCHETS = Path(__file__).with_name("ratchets.toml")
SMALL_LINES = 100
REASONS = ("(seam).", "(start-up).", "(import contract).")
APART = ("board", "orchestrator")
EMPTY_NAMES = frozenset(
    [
        "one",
        "found",
        "said",
        "told",
        "kept",
        "known",
        "here",
        "there",
        "wanted",
        "asked",
        "left",
        "made",
        "shown",
        "named",
        "rest",
        "given",
        "held",
        "way",
        "place",
        "room",
        "mine",
    ]
)
VAGUE_NAMES = frozenset(("result", "value", "data", "obj", "thing", "item_", "tmp", "res"))


# ── figures ─────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Figure:
    """A counted figure; `advice` is what to do where it got worse."""

    key: str
    label: str
    number: float
    advice: str

    def __str__(self) -> str:
        """Return the number as the table shows it: shares with two decimals."""
        return f"{self.number:,.2f} %" if isinstance(self.number, float) else f"{self.number:,}"


LESS_CODE = (
    "take out what nobody calls, merge what is written twice, or leave the lines to a library"
)
FEWER_FILES = "put the new module's contents where its only importer is"
SMALL = f"merge it into its importer, or end its first line with {', '.join(REASONS[:-1])} or {REASONS[-1]}"
NAMES = "name what the variable holds (AGENTS.md, Style); `python scripts/sizes.py FILE` lists those of a file"
COMMENTS = "say why in a comment where a reader would stop"


def figures_of(files: list[SourceFile], test_lines: int, page_lines: int = 0) -> list[Figure]:
    """Count every figure of the product's modules; the lines of tests and of the board's pages are counted elsewhere."""
    inside = [file for file in files if file.path.partition("/")[0] not in APART]
    names = Counter(name for file in inside for _, name in assigned_names(file))
    total = names.total() or 1
    physical = sum(len(file.lines) for file in inside)
    alone = single_importers(inside)
    small = [file for file in inside if file.path in alone and is_small(file)]

    def share(counted: int, whole: int) -> float:
        return round(100 * counted / (whole or 1), 2)

    def code(part: str = "") -> int:
        return sum(len(file.code_lines) for file in files if file.path.startswith(part))

    apart = {part: code(f"{part}/") for part in APART}
    pages = {"board": page_lines}
    return [
        Figure("code", "code lines", code() - sum(apart.values()), LESS_CODE),
        Figure(
            "imports", "import lines", sum(len(file.import_lines) for file in inside), FEWER_FILES
        ),
        Figure("physical", "physical lines", physical, LESS_CODE),
        Figure("files", "source files", len(inside), FEWER_FILES),
        Figure(
            "folders", "folders", len({Path(file.path).parent for file in inside}), FEWER_FILES
        ),
        Figure(
            "one_importer", "modules with one importer", len(alone), FEWER_FILES
        ),
        Figure("small", "of them small, without a reason", len(small), SMALL),
        Figure(
            "empty_names", "empty names", share(sum(names[name] for name in EMPTY_NAMES), total), NAMES
        ),
        Figure(
            "vague_names", "vague names", share(sum(names[name] for name in VAGUE_NAMES), total), NAMES
        ),
        Figure(
            "comments", "comments", share(sum(len(file.comment_lines) for file in inside), physical),
            COMMENTS,
        ),
        Figure("foundry", "foundry, code lines", code("dialects/foundry/"), LESS_CODE),
        Figure("tests", "test lines", test_lines, "take out tests that fail only together with others"),
        *(
            Figure(part, f"`{part}/`, code lines", lines + pages.get(part, 0), LESS_CODE)
            for part, lines in apart.items()
        ),
    ]  # fmt: skip


def assigned_names(file: SourceFile) -> Iterator[tuple[int, str]]:
    """Yield line and name of each assigned name and each parameter of a module."""
    for node in file.nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg


def is_small(file: SourceFile) -> bool:
    """Tell a module below the limit that gives no reason for standing alone in its first line."""
    caption = (ast.get_docstring(file.tree) or "").partition("\n")[0]
    package = file.path.endswith("__init__.py")
    return len(file.lines) < SMALL_LINES and not package and not caption.endswith(REASONS)


def single_importers(files: list[SourceFile]) -> dict[str, str]:
    """Return the modules that exactly one other imports: path of the one → path of the other."""
    paths = {module_name(file.path): file.path for file in files}
    importers: dict[str, set[str]] = {}
    for file in files:
        for module in imported_modules(file, paths.keys()):
            importers.setdefault(module, set()).add(file.path)
    return {paths[module]: others.pop() for module, others in importers.items() if len(others) == 1}


def imported_modules(file: SourceFile, modules: Iterable[str]) -> set[str]:
    """Return which of the given modules a file imports."""
    imported: set[str] = set()
    for node in file.nodes:
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            source = node.module or ""
            for alias in node.names:
                inner = f"{source}.{alias.name}"
                imported.add(inner if inner in modules else source)
    return imported & set(modules)


def module_name(path: str) -> str:
    """Return the dotted name of a module by its path below the package."""
    parts = [PACKAGE, *Path(path).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


# ── ratchets ────────────────────────────────────────────────────────────────────────────────────


def worse_figures(figures: list[Figure], limits: dict[str, dict[str, float]]) -> list[str]:
    """Return a line for each figure that is worse than its limit: figure, limit, what to do.

    A figure without a limit and a limit without a figure are faults too, so that none is forgotten.
    """
    most, least = limits["most"], limits["least"]
    faults: list[str] = []
    for figure in figures:
        if figure.key in most and figure.number > most[figure.key]:
            faults.append(
                f"{figure.label}: {figure}, at most {most[figure.key]:,}: {figure.advice}"
            )
        elif figure.key in least and figure.number < least[figure.key]:
            faults.append(
                f"{figure.label}: {figure}, at least {least[figure.key]:,}: {figure.advice}"
            )
        elif figure.key not in {*most, *least}:
            faults.append(
                f"{figure.label}: {figure}, without a limit: add `{figure.key}` to the file"
            )
    counted = {figure.key for figure in figures}
    faults += [f"`{key}` is no figure: take it out" for key in {*most, *least} - counted]
    return [f"{RATCHETS.name}: {fault}" for fault in faults]


def count_tree(root: Path) -> list[Figure]:
    """Count the figures of a tree with the layout of this repository."""
    return figures_of(
        read_files(root / "src" / PACKAGE), count_test_lines(root / "tests"), count_page_lines(root)
    )


def count_test_lines(folder: Path) -> int:
    """Count the physical lines of the Python files below a folder, without parsing them and without the parts apart."""
    return sum(
        len(path.read_text("utf-8").splitlines())
        for path in folder.rglob("*.py")
        if path.relative_to(folder).parts[0] not in APART
    )


def count_page_lines(root: Path) -> int:
    """Count the lines of the board's templates, style and script that are not blank."""
    paths = (root / "src" / PACKAGE / "board").rglob("*.*")
    texts = [path.read_text("utf-8") for path in paths if path.suffix in {".html", ".css", ".js"}]
    return sum(bool(line.strip()) for text in texts for line in text.splitlines())


def load_limits(path: Path = RATCHETS) -> dict[str, dict[str, float]]:
    """Load the limits of the figures."""
    return tomllib.loads(path.read_text("utf-8"))


# ── the table of docs/internals/architecture.md ───────────────────────────────────────────────────────────

ROWS = (
    ("`board/`", ("board",)),
    ("`cli/`", ("cli",)),
    ("`core/`", ("core",)),
    ("of it `model/` · `rules/` · `ledger/`", ("core/model", "core/rules", "core/ledger")),
    ("of it `ports/` · `operations/`", ("core/ports", "core/operations")),
    ("of it `queries/` · coordinator", ("core/queries", "core/*")),
    ("`dialects/`, shared", ("dialects/*",)),
    (
        "`agentic/` · `colibri/` · `native/`",
        ("dialects/agentic", "dialects/colibri", "dialects/native"),
    ),
    ("`symphony/` · `workflow/`", ("dialects/symphony", "dialects/workflow")),
    ("`foundry/`", ("dialects/foundry",)),
    ("`evidence/`", ("evidence",)),
    ("`kernel/`", ("kernel",)),
    ("`protocol/`", ("protocol",)),
    ("`providers/`", ("providers",)),
    ("`relay/`", ("relay",)),
    ("`runner/`", ("runner",)),
    ("`storage/`, both databases", ("storage",)),
    ("`app.py`, `settings.py`, `__main__.py`", ("*",)),
    ("all", ("",)),
)
"""What the rows of the table are of: folders with all below them, or with `*` the modules directly in one."""


def part_size(files: list[SourceFile], part: str) -> tuple[int, int]:
    """Return how many lines of code and how many modules lie in a folder of the product."""
    folder = part.removesuffix("*").strip("/")
    direct = part.endswith("*")
    selected = [
        file
        for file in files
        if (Path(file.path).parent.as_posix() == (folder or ".") if direct else file.path.startswith(f"{folder}/" if folder else ""))
    ]  # fmt: skip
    return sum(len(file.code_lines) for file in selected), len(selected)


def rows(files: list[SourceFile]) -> Iterator[tuple[str, list[int], list[int]]]:
    """Yield each row: what it is of, the lines and the files of its parts."""
    for label, parts in ROWS:
        sizes = [part_size(files, part) for part in parts]
        yield label, [lines for lines, _ in sizes], [count for _, count in sizes]


# ── the program ─────────────────────────────────────────────────────────────────────────────────


def main(arguments: list[str] | None = None) -> int:
    """Print the tables, or with `--check` what is worse than allowed; return the exit code."""
    parser = argparse.ArgumentParser(description="Count the code.")
    parser.add_argument(
        "--check", action="store_true", help="print only what is worse than allowed"
    )
    parser.add_argument("--root", type=Path, default=ROOT, help="the tree to count")
    parser.add_argument("paths", nargs="*", type=Path, help="modules whose names to list")
    options = parser.parse_args(arguments)
    if options.paths:
        print_modules(options.paths, options.root)
        return 0
    if options.check:
        faults = worse_figures(count_tree(options.root), load_limits())
        for fault in faults:
            print(fault)
        return 1 if faults else 0
    files = read_files(options.root / "src" / PACKAGE)
    for label, *counts in rows(files):
        cells = [" · ".join(f"{count:,}" for count in part) for part in counts]
        print(f"| {label} | {' | '.join(cells)} |")
    limits = load_limits()
    print()
    for figure in count_tree(options.root):
        limit = limits["most"].get(figure.key, limits["least"].get(figure.key))
        print(f"{figure.label:34}{figure!s:>12}   limit {limit:,}")
    return 0


def print_modules(paths: list[Path], root: Path) -> None:
    """Print the empty and vague names of modules by line, and their one importer."""
    package = root.resolve() / "src" / PACKAGE
    alone = single_importers(read_files(package))
    for path in paths:
        file = parse_file(path.read_text("utf-8"), str(path))
        for line, name in sorted(assigned_names(file)):
            if name in EMPTY_NAMES | VAGUE_NAMES:
                print(f"{path}:{line}: {name}")
        within = path.resolve()
        key = within.relative_to(package).as_posix() if within.is_relative_to(package) else ""
        if key in alone:
            print(f"{path}: imported only by {alone[key]}")


if __name__ == "__main__":
    sys.exit(main())
