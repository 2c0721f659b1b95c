"""Write a value with every parameter of a dialect, start the server anew, and read each value back by another tool.

A table of a dialect has calls that write (`Write`), each with a `Back` for every parameter that says where its value is
read. `FULL` and `LINE` stand for the longest value that the schema accepts. Where there is nothing to read, `nothing`
says why. `$name` in later arguments, paths and words is what an earlier call answered, under the names of `keep`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, Self, cast

import e2e_wire

from builders import AGENT_PROCESS, asked_by, open_repository
from counterpoint.dialects.registry import surface
from counterpoint.settings import Settings

PIECE = 'He said "no":\t{"a": [1, null]}\n\u00e9\u4e16\U0001f600 \\ '
UNLIMITED = 3_000
"""Characters of a text whose schema has no limit."""
LARGE_NUMBER = 7_919
EVERYWHERE = {
    "idempotency_key": "makes a retry safe; the call answers as before",
    "cursor": "goes on with an answer",
    "limit": "narrows an answer",
}
"""Parameters of all dialects that keep nothing, and why."""


class Size(Enum):
    """What stands in arguments for the longest value that the schema accepts."""

    FULL = "with new lines and tabs"
    LINE = "of one line"


FULL, LINE = Size.FULL, Size.LINE


class Same(Enum):
    """What is expected where nothing else is stated."""

    SAME = "what was written"


SAME = Same.SAME


@dataclass(frozen=True, kw_only=True)
class Back:
    """Where a value is read: a call, the path in its answer, and the value if it is not what was written.

    An empty path, and one that ends by choosing an entry, goes on with the name of the parameter. by: the connection that reads.
    is_part: the value stands in a longer text. ids: names in the arguments → where what they stand for is read before.
    """

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    path: tuple[str | int, ...] = ()
    value: Any = SAME
    by: str = ""
    is_part: bool = False
    ids: Mapping[str, Back] = field(default_factory=dict[str, "Back"])


@dataclass(frozen=True, kw_only=True)
class Write:
    """A call that writes; back: the path of a parameter (`outcome.summary`) → where it is read."""

    tool: str
    arguments: Mapping[str, Any]
    back: Mapping[str, Back] = field(default_factory=dict[str, Back])
    keep: Mapping[str, str] = field(default_factory=dict[str, str])
    by: str = ""


@dataclass(frozen=True, kw_only=True)
class Act:
    """What is done beside the tools: a function of the repository and of the names kept so far, which it may add to."""

    do: Callable[[Path, dict[str, Any]], None]


@dataclass(frozen=True, kw_only=True)
class Table:
    """All that is written with a dialect and read back.

    connections: name → more words of the command line. nothing: (tool, parameter) → why nothing is read back; a tool of `*`
    stands for all. open_objects: (tool, parameter) → the names of an object that the tool itself checks, each of which
    is read back.
    """

    dialect: str
    steps: Sequence[Write | Act]
    nothing: Mapping[tuple[str, str], str]
    connections: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    settings: Settings = field(default_factory=Settings)
    open_objects: Mapping[tuple[str, str], Sequence[str]] = field(
        default_factory=dict[tuple[str, str], Sequence[str]]
    )


@dataclass(frozen=True, kw_only=True)
class Row:
    """One parameter of one call, by the place of the call in the table."""

    number: int
    parameter: str
    name: str


def rows_of(table: Table) -> list[Row]:
    """Return a row for each parameter that is read back."""
    return [
        Row(
            number=number,
            parameter=parameter,
            name=f"{_label(table, step)}-{parameter}",
        )
        for number, step in enumerate(table.steps)
        if isinstance(step, Write)
        for parameter in step.back
    ]


def parameters_without_row(table: Table) -> list[str]:
    """Return every parameter in the schemas of the dialect that no row reads back and no reason excuses."""
    covered = {
        (_label(table, step), parameter)
        for step in table.steps
        if isinstance(step, Write)
        for parameter in step.back
    }
    inner = [
        f"{label}: {parameter}.{name}"
        for (label, parameter), names in table.open_objects.items()
        for name in names
        if not any(
            row.startswith(f"{parameter}.") and name in row.split(".")
            for known, row in covered
            if known == label
        )
    ]
    return inner + [
        f"{label}: {parameter}"
        for label, parameter in _parameters(table)
        if not {(label, parameter), (label, parameter.split(".")[0])} & covered
        and not any(row.startswith(f"{parameter}.") for known, row in covered if known == label)
        and not _is_excused(table, label, parameter)
    ]


def stale_reasons(table: Table) -> list[str]:
    """Return the reasons that name a tool or parameter that is not there."""
    known = set(_parameters(table))
    names = {parameter for _, parameter in known}
    return [
        f"{label}: {parameter}"
        for label, parameter in table.nothing
        if (label, parameter) not in known and not (label == "*" and parameter in names)
    ]


def play(table: Table, folder: Path) -> dict[Row, tuple[Any, Any]]:
    """Return what was written and what was read of each row; what cannot be read is the exception or a missing path in words."""
    open_repository(folder)
    names: dict[str, Any] = {"folder": str(folder)}
    written: dict[int, dict[str, Any]] = {}
    with _Connections(table, folder, names) as writers:
        for number, step in enumerate(table.steps):
            if isinstance(step, Act):
                step.do(folder, names)
                continue
            arguments = _filled_call(
                table, _label(table, step), _resolved(dict(step.arguments), names)
            )
            written[number] = arguments
            answer = writers.call(step.by, step.tool, arguments)
            for name, path in step.keep.items():
                names[name] = _at(answer, [*path.split(".")])
    end_server(folder)
    read: dict[str, Any] = {}
    found: dict[Row, tuple[Any, Any]] = {}
    with _Connections(table, folder, names) as readers:
        for row in rows_of(table):
            step = cast("Write", table.steps[row.number])
            back = step.back[row.parameter]
            path = row.parameter.split(".")
            given = _at(written[row.number], path) if back.value is SAME else back.value
            ids = {name: _read(readers, one, (), names, read) for name, one in back.ids.items()}
            known = {**names, **ids}
            written_value = _resolved(given, known)
            read_value = _read(readers, back, path[-1:], known, read)
            if back.is_part and written_value in read_value:
                read_value = written_value
            if isinstance(read_value, str) and isinstance(written_value, list | dict):
                # What is too large for a page goes on as the text of its JSON.
                with suppress(ValueError):
                    read_value = json.loads(read_value)
            found[row] = (written_value, read_value)
    end_server(folder)
    return found


def _read(
    readers: _Connections,
    back: Back,
    name: Sequence[str],
    names: Mapping[str, Any],
    read: dict[str, Any],
) -> Any:
    """Return what stands where a value is read. read: the answers so far, which are asked for once."""
    where = _resolved(list(back.path), names)
    chooses = not where or ("=" in str(where[-1]) and not str(where[-1]).startswith("has:"))
    asked = _resolved(dict(back.arguments), names)
    key = json.dumps([back.by, back.tool, asked], sort_keys=True)
    if key not in read:
        read[key] = _whole(readers, back.by, back.tool, asked)
    return _at(read[key], [*where, *(name if chooses else ())])


def end_server(folder: Path) -> None:
    """End the server of a folder by the command for it."""
    command = [sys.executable, "-m", "counterpoint", "down"]
    subprocess.run(
        command, cwd=folder, env=_environment(), capture_output=True, timeout=60, check=False
    )


def _environment() -> dict[str, str]:
    """Return the variables of this process without settings of the product."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith("COUNTERPOINT_")
    }
    return kept | {"COUNTERPOINT_IDLE_MINUTES": "0"}


class _Connections:
    """Clients of real servers over standard streams, opened at their first call, each an agent of its own."""

    def __init__(self, table: Table, folder: Path, names: dict[str, Any]) -> None:
        self._table, self._folder, self._names = table, folder, names
        self._clients: dict[str, Any] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def call(self, by: str, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool on a connection."""
        if by not in self._clients:
            words = [
                str(one) for one in _resolved([*self._table.connections.get(by, ())], self._names)
            ]
            command = (*AGENT_PROCESS, *e2e_wire.SERVER, "--surface", self._table.dialect, *words)
            client = e2e_wire.Client(self._folder, command, only=_environment())
            self._stack.callback(client.close)
            client.greet(by or "ada")
            self._clients[by] = client
        answer = self._clients[by].call(tool, **arguments)
        data = answer.get("data")
        # One dialect tells refusals in answers that succeed.
        assert not (isinstance(data, dict) and data.get("ok") is False), (tool, data)
        return answer


def _whole(readers: _Connections, by: str, tool: str, asked: dict[str, Any]) -> dict[str, Any]:
    """Return an answer with each of its parts put together from its pages."""
    whole: dict[str, Any] = {}
    waiting, first, passed = [""], True, set[str]()
    while waiting:
        cursor = waiting.pop(0)
        assert cursor not in passed, f"{tool} {asked} does not go on"
        passed.add(cursor)
        page = readers.call(by, tool, {**asked, **({"cursor": cursor} if cursor else {})})
        waiting += _cursors(page)
        join_page(whole, page, first=first)
        first = False
    return whole


def _cursors(page: Mapping[str, Any]) -> Iterator[str]:
    paged = page.get("meta", {}).get("pagination", {}).get("cursor")
    data = page.get("data")
    inner = data.get("next_cursor") if isinstance(data, dict) else None
    own = page.get("cursor")
    yield from (one for one in (paged, page.get("next_cursor"), inner, own) if one)
    more = page.get("more", {})
    yield from more.values() if isinstance(more, dict) else ()


REPEATED = {"id", "note", "key", "category", "updated_at", "updated_by"}
"""What each page tells again."""


def join_page(whole: dict[str, Any], page: Mapping[str, Any], *, first: bool) -> None:
    """Add a page to what was read; texts and lists go on, objects part by part."""
    for name, content in page.items():
        before = whole.get(name)
        if first or name not in whole or name in REPEATED:
            whole[name] = content
        elif isinstance(content, dict) and isinstance(before, dict):
            join_page(before, content, first=False)
        elif isinstance(content, str | list) and before != content:
            whole[name] = before + content


def _at(value: Any, path: Sequence[str | int]) -> Any:
    """Return what stands at a path; in words what is missing.

    A part `name=text` chooses the entry of a list whose field has that value; `has:text` tells whether a text has another.
    """
    for part in path:
        if isinstance(value, str) and str(part).startswith("has:"):
            return str(part).removeprefix("has:") in value
        if isinstance(value, str) and value.startswith("{"):
            # A document that goes out as the text of its JSON.
            value = json.loads(value)
        if isinstance(value, list) and isinstance(part, str) and "=" in part:
            name, _, wanted = part.partition("=")
            matches = [one for one in value if str(one.get(name)) == wanted]
            if not matches:
                return f"no entry with {part} in {json.dumps(value)[:300]}"
            value = matches[0]
        elif isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and str(part).lstrip("-").isdigit():
            if int(part) >= len(value):
                return f"no entry {part} of {len(value)}"
            value = value[int(part)]
        else:
            known = sorted(value) if isinstance(value, dict) else type(value).__name__
            return f"no {part!r} in {known}"
    return value


def _resolved(value: Any, names: Mapping[str, Any]) -> Any:
    """Return a value with `$name` replaced by what is kept under that name."""
    if isinstance(value, str) and "$" in value:
        if value[1:] in names and value.startswith("$"):
            return names[value[1:]]
        for name in sorted(names, key=len, reverse=True):
            value = value.replace(f"${name}", str(names[name]))
        return value
    if isinstance(value, dict):
        return {name: _resolved(part, names) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_resolved(part, names) for part in value]
    return value


def _label(table: Table, step: Write) -> str:
    """Return what a call runs: the tool, or its action and command."""
    # An argument may have one of these names too.
    chosen = [str(step.arguments[name]) for name in _CHOOSING if name in step.arguments]
    labels = (" ".join([step.tool, *chosen[:count]]) for count in (2, 1, 0))
    return next(label for label in labels if label in _schemas(table.dialect, table.settings))


_CHOOSING = ("action", "command")


@cache
def _schemas(dialect: str, settings: Settings) -> Mapping[str, dict[str, Any]]:
    """Return the schemas that the arguments of each part of each tool are checked by, by its label.

    What is listed leaves out the limits, which a refusal names.
    """
    schemas: dict[str, dict[str, Any]] = {}
    for tool in surface(dialect, settings).tools:
        for part in tool.parts:
            name, fixed = asked_by(part)
            label = " ".join([name, *(fixed[one] for one in _CHOOSING if one in fixed)])
            checked = _plain(_inlined(part.parameters._adapter.core_schema))["fields"]
            listed = cast("dict[str, Any]", part.parameters.schema["properties"])
            schemas[label] = {one: checked[one] for one in listed if one not in fixed}
    return schemas


def _inlined(schema: Any, known: Mapping[str, Any] | None = None) -> Any:
    """Return a schema with what it only refers to put in its place; none of ours refers to itself."""
    known = known or {}
    if isinstance(schema, dict):
        if schema.get("type") == "definitions":
            known = {one["ref"]: one for one in schema["definitions"]}
            return _inlined(schema["schema"], known)
        if schema.get("type") == "definition-ref":
            return _inlined(known[schema["schema_ref"]], known)
        return {name: _inlined(part, known) for name, part in schema.items()}
    if isinstance(schema, list | tuple):
        return [_inlined(part, known) for part in schema]
    return schema


def _parameters(table: Table) -> Iterator[tuple[str, str]]:
    """Return each parameter by its label; of an object with properties, those by their path."""
    for label, properties in _schemas(table.dialect, table.settings).items():
        for name, schema in properties.items():
            for path in _leaves(schema, name):
                yield label, path


def _leaves(schema: Mapping[str, Any], path: str) -> Iterator[str]:
    schema = _plain(schema)
    if schema["type"] != "typed-dict":
        yield path
        return
    for name, part in schema["fields"].items():
        yield from _leaves(part, f"{path}.{name}")


def _is_excused(table: Table, label: str, parameter: str) -> bool:
    top = parameter.split(".", maxsplit=1)[0]
    return (
        top in EVERYWHERE
        or {(label, parameter), (label, top), ("*", parameter), ("*", top)} & table.nothing.keys()
        != set()
    )


def _filled_call(table: Table, label: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return arguments with the longest accepted value in place of each size; every text is another."""
    schemas = _schemas(table.dialect, table.settings)[label]
    return {
        name: _filled(value, schemas[name], name) if name in schemas else value
        for name, value in arguments.items()
    }


def _filled(value: Any, schema: Mapping[str, Any], mark: str) -> Any:
    schema = _plain(schema)
    if isinstance(value, Size):
        return longest(schema, value, mark)
    if isinstance(value, dict) and schema["type"] == "typed-dict":
        inner = schema["fields"]
        return {name: _filled(part, inner[name], f"{mark}.{name}") for name, part in value.items()}
    if isinstance(value, list) and schema["type"] in _LISTS:
        return [_filled(part, _entry(schema), f"{mark} {n}") for n, part in enumerate(value)]
    return value


_LISTS = ("list", "tuple")


def _entry(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    entries = schema["items_schema"]
    return entries[0] if isinstance(entries, list) else entries


def _plain(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part of a schema that says which values it takes, below defaults, validators and None."""
    while "schema" in schema and schema["type"] not in ("str", "int"):
        schema = schema["schema"]
    if schema["type"] == "union":
        choice = schema["choices"][0]
        return _plain(choice[0] if isinstance(choice, list | tuple) else choice)
    return schema


def longest(schema: Mapping[str, Any], size: Size, mark: str) -> Any:
    """Return the longest value that a schema accepts; a text begins with its mark."""
    schema = _plain(schema)
    kind = schema["type"]
    if kind == "literal":
        return schema["expected"][-1]
    if kind in _LISTS:
        count = schema.get("max_length", 20)
        return [longest(_entry(schema), size, f"{mark} {number}") for number in range(count)]
    if kind == "typed-dict":
        return {
            name: longest(part, size, f"{mark}.{name}") for name, part in schema["fields"].items()
        }
    if kind == "bool":
        return True
    if kind in ("int", "float"):
        return schema.get("le", LARGE_NUMBER)
    assert kind == "str", f"{mark}: no longest {kind} is known; write one"
    return _text(schema.get("max_length", UNLIMITED), size, mark)


def _text(length: int, size: Size, mark: str) -> str:
    piece = PIECE if size is FULL else PIECE.replace("\n", " ").replace("\t", " ")
    # Counted, so that no page of it is like another.
    pieces = (f"{number} {piece}" for number in range(length // len(piece) + 1))
    text = f"{mark} {''.join(pieces)}"[: length - 1].rstrip()
    # A last character of its own shows a text that was cut, and white space at an end is nothing to tell.
    return f"{text}!".ljust(length, "!")[:length]
