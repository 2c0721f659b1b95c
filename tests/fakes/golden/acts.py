"""Every action that the product can write, as its source says it."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, get_args

import counterpoint
from counterpoint.core.ledger.entry import ACTION
from counterpoint.core.model.journal import Outcomes, RecordKind

RETOLD: Final = ("comment", "decision", "finding", "learning")
"""What moves with an issue to another project."""
SOURCE: Final = Path(counterpoint.__file__).parent
WORDED: Final = {
    "{}.recorded": tuple(f"{kind}.recorded" for kind in get_args(RecordKind)),
    "{}.retold": tuple(f"{kind}.retold" for kind in RETOLD),
    "task.{}": tuple(
        f"task.{ {'done': 'finished', 'partial': 'put_back'}.get(one, one) }"
        for one in get_args(Outcomes)
    ),
    "{}.{}": tuple(
        f"{of}.{how}" for of in ("item", "phase", "change") for how in ("approved", "rejected")
    ),
}
"""Actions that are put together: what the source says, with a gap for what it fills in, and what comes of it."""


def actions() -> dict[str, str]:
    """Answer each action, and the file that writes it."""
    found: dict[str, str] = {}
    for folder in ("core/operations", "dialects"):
        for file in sorted((SOURCE / folder).rglob("*.py")):
            for action in _of_file(file):
                found.setdefault(action, str(file.relative_to(SOURCE)))
    return found


def _of_file(file: Path) -> Iterator[str]:
    text = file.read_text()
    if "recording(" not in text:
        return
    tree = ast.parse(text)
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "recording":
                yield from _words(node.args[1], function, tree, file)
            if isinstance(node, ast.Assign) and _is_action(node.targets[0]):
                yield from _words(node.value, function, tree, file)


def _is_action(target: ast.expr) -> bool:
    return isinstance(target, ast.Attribute) and target.attr == "action"


def _words(value: ast.expr, function: ast.FunctionDef, tree: ast.Module, file: Path) -> list[str]:
    """Answer what an expression may be; AssertionError if nothing tells."""
    match value:
        case ast.Constant(value=str(word)):
            assert ACTION.fullmatch(word), word
            return [word]
        case ast.IfExp(body=yes, orelse=no):
            return [word for one in (yes, no) for word in _words(one, function, tree, file)]
        case ast.JoinedStr(values=parts):
            said = "".join(
                str(one.value) if isinstance(one, ast.Constant) else "{}" for one in parts
            )
            return [*WORDED[said]]
        case ast.Name(id=name):
            return _named(name, function, tree, file)
        case ast.Call(func=ast.Name(id=name)):
            (called,) = [
                one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == name
            ]
            return [
                word
                for one in ast.walk(called)
                if isinstance(one, ast.Return) and one.value is not None
                for word in _words(one.value, called, tree, file)
            ]
        case _:
            raise AssertionError(f"{file}: nothing tells what {ast.unparse(value)} is")


def _named(name: str, function: ast.FunctionDef, tree: ast.Module, file: Path) -> list[str]:
    """Answer what a name stands for: an assignment in the same function, or a constant of the module."""
    found = [
        word
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == name
        for word in _words(node.value, function, tree, file)
    ]
    if found:
        return found
    module = ".".join(("counterpoint", *file.relative_to(SOURCE).with_suffix("").parts))
    return [getattr(importlib.import_module(module.removesuffix(".__init__")), name)]
