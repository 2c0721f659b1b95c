"""Writes what the product itself can tell: pages of docs/, and what clients see of each tool.

Run it without words to write them; with `--check` it writes nothing, names each page that is not
fresh, and leaves with exit code 1 if there is one.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson

from counterpoint.core.model import lifecycles
from counterpoint.core.model.lifecycles import LIFECYCLES, Lifecycle, lifecycle
from counterpoint.dialects import registry
from counterpoint.dialects.agentic import nouns
from counterpoint.dialects.colibri import nouns as stages
from counterpoint.dialects.foundry.models import runs
from counterpoint.dialects.nouns import TABLES
from counterpoint.protocol.actions import Action, ActionTool
from counterpoint.protocol.parameters import KEY
from counterpoint.protocol.tools import Tool

ROOT = Path(__file__).parents[1]
TARGET = ROOT
"""The folder that the pages are written below."""
_GENERATED = "<!-- Written by `make pages` from {source}; edit that instead. -->"
_BROUGHT = (stages, nouns, runs)
"""Where the tables of states of our own dialects stand, which `dialects/nouns.py` makes known."""
_LIFECYCLES = (
    "Each kind of work has a table of states, and of the moves between them. Every state has a category."
    " The core looks only at the category, so a dialect can add states of its own by adding a table."
)
_HINTS = {
    "readOnlyHint": ("read-only", "writes"),
    "destructiveHint": ("can remove or overwrite", ""),
    "idempotentHint": ("idempotent", ""),
    "openWorldHint": ("reaches outside the project", ""),
}


def lifecycles_page() -> str:
    """Answer the page with every table of states, drawn and told."""
    source = "src/counterpoint/core/model/lifecycles.py"
    captions = _captions()
    parts = [
        "# Lifecycles",
        _GENERATED.format(source=f"`{source}`"),
        _LIFECYCLES,
        _categories(inspect.getdoc(lifecycles) or ""),
    ]
    for name, table in (LIFECYCLES | {name: lifecycle(name) for name in TABLES}).items():
        parts += [f"## {name.capitalize()}", captions[name], _diagram(table), _moves(table)]
    return "\n\n".join(parts) + "\n"


def _captions() -> dict[str, str]:
    """Answer the sentence that stands below each table in the source."""
    sources = (lifecycles, *_BROUGHT)
    found: dict[str, str] = {}
    for statement, after in (
        pair for source in sources for pair in pairwise(ast.parse(inspect.getsource(source)).body)
    ):
        match statement, after:
            case (
                ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(ast.Constant(str(text))),
            ):
                found[name.lower()] = text
            case _:
                pass
    return found


def _categories(text: str) -> str:
    """Answer the table of categories of the module's docstring as Markdown."""
    lines = text[text.index("    category ") :].splitlines()
    rows = [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines]
    return _table(rows[0], rows[1:])


def _diagram(table: Lifecycle) -> str:
    ends = [state for state, moves in table.moves.items() if not moves]
    edges = [f"    {start} --> {end}" for start, moves in table.moves.items() for end in moves]
    first, last = f"    [*] --> {table.first}", [f"    {state} --> [*]" for state in ends]
    return "\n".join(["```mermaid", "stateDiagram-v2", first, *edges, *last, "```"])


def _moves(table: Lifecycle) -> str:
    rows = [
        [f"`{state}`", table.categories[state], ", ".join(f"`{end}`" for end in moves) or "–"]
        for state, moves in table.moves.items()
    ]
    return _table(["State", "Category", "Next states"], rows)


def tools_page(surface_name: str) -> str:
    """Answer the page of a surface: every tool with what a client is told of it."""
    surface = registry.surface(surface_name)
    source = f"`src/counterpoint/dialects/{surface_name}/`"
    rows = [
        [f"[`{tool.name}`](#{tool.name})", "reads" if tool.reads else "writes", tool.description]
        for tool in surface.tools
    ]
    size = surface.listed_size
    parts = [
        f"# The tools of the {surface_name} dialect",
        _GENERATED.format(source=source),
        f"{len(rows)} tools; the list that a client gets has {size:,} bytes.",
        _table(["Tool", "", "Description"], rows),
        *(part for tool in surface.tools for part in _tool(tool)),
    ]
    return "\n\n".join(parts) + "\n"


def _tool(tool: Tool[Any]) -> Iterator[str]:
    listed: dict[str, Any] = tool.listed()
    schema: dict[str, Any] = listed["inputSchema"]
    yield f"## {tool.name}"
    yield _cell(tool.description)
    hints = [_HINTS[name][not said] for name, said in tool.annotations.items()]
    file = Path(tool.where[0]).resolve().relative_to(ROOT).as_posix()
    yield f"{_sentence(hints)} Source: [`{file}`](../../{file})."
    if isinstance(tool, ActionTool):
        yield _actions(tool)
    required = set(schema.get("required", ()))
    rows = [
        [
            f"`{name}`",
            _type(part),
            "required" if name in required else _default(part),
            _cell(part.get("description", "")),
        ]
        for name, part in schema["properties"].items()
    ]
    yield (
        _table(["Parameter", "Type", "Default", "Description"], rows) if rows else "No parameters."
    )


def _actions(tool: ActionTool[Any]) -> str:
    """Answer the table of a tool's actions, with what each takes."""
    rows = [
        [
            f"`{one.spoken}`",
            "reads" if one.reads else "writes",
            ", ".join(_taken(one)) or "–",
            _cell(one.description),
        ]
        for one in tool.actions
    ]
    return _table(["Action", "", "Parameters (required ones bold)", "Description"], rows)


def _taken(one: Action[Any]) -> Iterator[str]:
    for name in (*one.parameters.names, *sorted(one.parameters.hidden)):
        if name not in {KEY, *one.parameters.beside}:
            yield f"**`{name}`**" if name in one.parameters.required else f"`{name}`"


def _sentence(hints: list[str]) -> str:
    text = "; ".join(hint for hint in hints if hint)
    return f"{text[0].upper()}{text[1:]}."


def _type(part: Mapping[str, Any]) -> str:
    if "enum" in part:
        return _cell(" | ".join(f"`{value}`" for value in part["enum"]))
    if "anyOf" in part:
        return _cell(" | ".join(_type(choice) for choice in part["anyOf"]))
    named = part["$ref"].rpartition("/")[2] if "$ref" in part else part.get("type", "any")
    ends = [part.get("minimum"), part.get("maximum")]
    if any(end is not None for end in ends):
        return f"{named} {'…'.join('' if end is None else str(end) for end in ends)}"
    return f"list of {_type(part['items'])}" if "items" in part else str(named)


def _default(part: Mapping[str, Any]) -> str:
    return f"`{_json(part['default'])}`" if "default" in part else ""


def _json(value: object) -> str:
    return orjson.dumps(value).decode()


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", "<br>")


def _table(heading: list[str], rows: list[list[str]]) -> str:
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def snapshot(surface_name: str) -> str:
    """Answer what clients see of a surface, a line for each tool: a change of any byte changes one."""
    lines = [_seen(tool) for tool in registry.surface(surface_name).tools]
    return f"# Written by `make pages`: name, hints, bytes, hash, parameters\n{''.join(lines)}"


def _seen(tool: Tool[Any]) -> str:
    listed: dict[str, Any] = tool.listed()
    schema: dict[str, Any] = listed["inputSchema"]
    required = set(schema.get("required", ()))
    parameters = ", ".join(
        f"{name}{'' if name in required else '?'}: {_short(part)}"
        for name, part in schema["properties"].items()
    )
    whole = orjson.dumps(listed)
    hints = "".join(
        letter if said else "-"
        for letter, said in zip("rdio", tool.annotations.values(), strict=True)
    )
    return f"{tool.name} {hints} {len(whole)} {sha256(whole).hexdigest()[:12]} ({parameters})\n"


def _short(part: Mapping[str, Any]) -> str:
    if "enum" in part:
        return "|".join(str(value) for value in part["enum"])
    if "items" in part:
        return f"[{_short(part['items'])}]"
    named = part.get("type", "any")
    return named if isinstance(named, str) else "|".join(named)


PAGES: dict[str, Callable[[], str]] = {
    "docs/lifecycles.md": lifecycles_page,
    **{f"docs/tools/{name}.md": lambda name=name: tools_page(name) for name in registry.names()},
    **{
        f"tests/dialects/{name}.tools.txt": lambda name=name: snapshot(name)
        for name in registry.names()
    },
}


def main(words: list[str]) -> int:
    """Write or check the pages; answer the exit code."""
    stale: list[str] = []
    for name, render in PAGES.items():
        page, text = TARGET / name, render()
        if page.exists() and page.read_text("utf-8") == text:
            continue
        stale.append(name)
        if "--check" not in words:
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(text, "utf-8")
    for name in stale:
        print(f"{name} {'is not fresh: make pages' if '--check' in words else 'written'}")
    return int(bool(stale) and "--check" in words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
