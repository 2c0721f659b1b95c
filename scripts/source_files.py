"""Read the Python files of a tree once: text, syntax tree and nodes, shared by the scripts that judge them."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class SourceFile:
    """A parsed module; `path` is relative to the folder that was read, with slashes."""

    path: str
    text: str
    tree: ast.Module

    @cached_property
    def lines(self) -> list[str]:
        """Return the lines without their ends."""
        return self.text.splitlines()

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Return every node of the tree; walking is slow, so it is done once."""
        return list(ast.walk(self.tree))

    @cached_property
    def functions(self) -> list[Function]:
        """Return every function and method, nested ones included."""
        return [node for node in self.nodes if isinstance(node, Function)]

    @cached_property
    def import_lines(self) -> set[int]:
        """Return the numbers of the lines that import statements cover."""
        return {
            number
            for node in self.nodes
            if isinstance(node, ast.Import | ast.ImportFrom)
            for number in _span(node)
        }

    @cached_property
    def docstring_lines(self) -> set[int]:
        """Return the numbers of the lines that docstrings cover, those of fields and constants too."""
        return {
            number
            for node in self.nodes
            if isinstance(node, Documented)
            for statement in node.body
            if isinstance(statement, ast.Expr)
            and isinstance(statement.value, ast.Constant)
            and isinstance(statement.value.value, str)
            for number in _span(statement)
        }

    @cached_property
    def comment_lines(self) -> set[int]:
        """Return the numbers of the lines that hold a comment and nothing else."""
        hashes = {number for number, line in enumerate(self.lines, 1) if line.lstrip()[:1] == "#"}
        return hashes - self._inside_of_strings if hashes else hashes

    @cached_property
    def code_lines(self) -> set[int]:
        """Return the numbers of the lines that are no blank, comment, docstring or import."""
        filled = {number for number, line in enumerate(self.lines, 1) if line.strip()}
        code = filled | self._inside_of_strings
        return code - self.comment_lines - self.docstring_lines - self.import_lines

    @cached_property
    def _inside_of_strings(self) -> set[int]:
        # The first line of a string has code before it or a quote; the others may look like anything.
        return {
            number
            for node in self.nodes
            if isinstance(node, ast.JoinedStr | ast.Constant)
            and isinstance(getattr(node, "value", ""), str | bytes)
            for number in _span(node)[1:]
        }


def _span(node: ast.stmt | ast.expr) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def parse_file(text: str, path: str = "<text>") -> SourceFile:
    """Parse the text of one module. SyntaxError if it is none."""
    return SourceFile(path, text, ast.parse(text, path))


def read_files(folder: Path) -> list[SourceFile]:
    """Parse every module below a folder, in the order of their paths."""
    return [
        parse_file(path.read_text("utf-8"), path.relative_to(folder).as_posix())
        for path in sorted(folder.rglob("*.py"))
        if "__pycache__" not in path.parts
    ]
