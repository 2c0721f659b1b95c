"""Sets keys of a table in the text of a TOML document, or removes the table.

An edit is made if and only if (1) the text is TOML, (2) the table is absent, and is then added at
the end, or stands under a header of its own, and (3) the edited text reads back as the old value
with these keys set. Otherwise MalformedDocument.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from counterpoint.cli.clients.files import newline_of
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import MalformedDocument

_HEADER: Final = re.compile(r"^[ \t]*\[", re.MULTILINE)


def load_toml(text: str) -> dict[str, Any]:
    """Return the value of a text; MalformedDocument says where it cannot be read."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as fault:
        raise MalformedDocument(f"the file cannot be read as TOML: {fault}") from fault


def set_table(text: str, path: Sequence[str], values: Mapping[str, Json]) -> str:
    """Return the text with keys of a table set; MalformedDocument if that is not safe."""
    before = load_toml(text)
    expected = _with(before, path, values)
    header = _header(path).search(text)
    edited = _added(text, path, values) if header is None else _changed(text, header, values)
    if _loads(edited) != expected:
        raise MalformedDocument("the file cannot be edited without touching other parts of it")
    return edited


def remove_table(text: str, path: Sequence[str]) -> str:
    """Return the text without a table, as it is if there is none; MalformedDocument if that is not safe."""
    whole = load_toml(text)
    header = _header(path).search(text)
    if header is None:
        if _without(whole, path) == whole:
            return text
        raise MalformedDocument("the table does not stand under a header of its own")
    following = _HEADER.search(text, header.end())
    tail = text[following.start() :] if following else ""
    before = text[: header.start()]
    edited = before + tail if tail else before.rstrip() + ("\n" if before.strip() else "")
    if _loads(edited) not in (_without(whole, path), _without(whole, path[:1])):
        raise MalformedDocument("the file cannot be edited without touching other parts of it")
    return edited


def _without(whole: Any, path: Sequence[str]) -> Any:
    """Return a value without what stands at a path; a table that is empty then is none for a text."""
    table = cast("dict[str, Any]", whole if isinstance(whole, dict) else {})
    if path[0] not in table:
        return cast("Any", whole)
    others: dict[str, Any] = {key: value for key, value in table.items() if key != path[0]}
    inner: Any = _without(table[path[0]], path[1:]) if len(path) > 1 else None
    return {**others, path[0]: inner} if inner else others


def _with(whole: Any, path: Sequence[str], values: Mapping[str, Json]) -> Json:
    if not isinstance(whole, dict):
        raise MalformedDocument("the table's place holds something else")
    table = cast("dict[str, Any]", whole)
    if not path:
        return {**table, **values}
    return {**table, path[0]: _with(table.get(path[0], {}), path[1:], values)}


def _loads(text: str) -> Any:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return None


def _header(path: Sequence[str]) -> re.Pattern[str]:
    names = r"[ \t]*\.[ \t]*".join(f"[\"']?{re.escape(name)}[\"']?" for name in path)
    return re.compile(rf"^[ \t]*\[[ \t]*{names}[ \t]*\][^\n]*(?:\n|$)", re.MULTILINE)


def _added(text: str, path: Sequence[str], values: Mapping[str, Json]) -> str:
    line = newline_of(text)
    gap = "" if not text.strip() else line if text.endswith("\n") else line + line
    lines = [f"[{'.'.join(path)}]", *(f"{key} = {_dump(value)}" for key, value in values.items())]
    return text + gap + "".join(part + line for part in lines)


def _changed(text: str, header: re.Match[str], values: Mapping[str, Json]) -> str:
    begin = header.end()
    following = _HEADER.search(text, begin)
    end = following.start() if following else len(text)
    block = text[begin:end]
    for key, value in values.items():
        assignment = re.compile(rf"^[ \t]*[\"']?{re.escape(key)}[\"']?[ \t]*=[ \t]*", re.MULTILINE)
        if old := assignment.search(block):
            value_end = _value_end(block, old.end())
            if "\n" in (before := block[old.end() : value_end]) and "#" in before:
                raise MalformedDocument(f"a comment stands inside of the value of {key}")
            block = block[: old.end()] + _dump(value) + block[value_end:]
        else:
            block = f"{key} = {_dump(value)}\n{block}"
    return text[:begin] + block + text[end:]


def _value_end(block: str, begin: int) -> int:
    """Return where a value ends: with its line, or a later one if it reads as a value only with that."""
    for line in re.finditer(r"[^\r\n]*", block[begin:]):
        if _loads(f"value = {block[begin : begin + line.end()]}") is not None:
            return begin + line.end()
    return len(block)


def _dump(value: Json) -> str:
    """Return a value as TOML on one line: JSON's form, but for tables."""
    if isinstance(value, list):
        return f"[{', '.join(map(_dump, cast('list[Json]', value)))}]"
    if isinstance(value, dict):
        pairs = (
            f"{json.dumps(key)} = {_dump(inner)}"
            for key, inner in cast("dict[str, Json]", value).items()
        )
        return f"{{{', '.join(pairs)}}}"
    return json.dumps(value, ensure_ascii=False)
