"""Count the lines of code of each part of the product, as `docs/architecture.md` tells them.

Lines of code are those without blanks, comments, docstrings and imports. A statement counts the lines that it covers.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "counterpoint"
_SILENT = frozenset(
    (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
)
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def code_lines(text: str) -> int:
    """Return how many lines of a module are code."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _SILENT and token.string:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in _left_out(ast.parse(text)):
        lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def _left_out(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield imports and docstrings, those of fields too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        if isinstance(node, _DOCUMENTED):
            yield from (
                one
                for one in node.body
                if isinstance(one, ast.Expr)
                and isinstance(one.value, ast.Constant)
                and isinstance(one.value.value, str)
            )


ROWS = (
    ("`cli/`", ("cli",)),
    ("`core/`", ("core",)),
    ("of it `model/` · `rules/` · `ledger/`", ("core/model", "core/rules", "core/ledger")),
    ("of it `ports/` · `operations/` · coordinator", ("core/ports", "core/operations", "core/*")),
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


def size_of(place: str) -> tuple[int, int]:
    """Return how many lines of code and how many modules lie in a folder of the product."""
    whole = not place.endswith("*")
    pattern = "**/*.py" if whole else "*.py"
    found = sorted((SOURCE / place.removesuffix("*")).glob(pattern))
    return sum(code_lines(one.read_text("utf-8")) for one in found), len(found)


def rows() -> Iterator[tuple[str, list[int], list[int]]]:
    """Yield each row: what it is of, the lines and the files of its parts."""
    for label, places in ROWS:
        sizes = [size_of(place) for place in places]
        yield label, [lines for lines, _ in sizes], [files for _, files in sizes]


def main() -> None:
    """Print the rows of the table."""
    for label, *counts in rows():
        cells = [" · ".join(f"{count:,}" for count in some) for some in counts]
        sys.stdout.write(f"| {label} | {' | '.join(cells)} |\n")


if __name__ == "__main__":
    main()
