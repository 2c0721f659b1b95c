"""Sets or removes one member in the text of a JSON document.

The text is JSON, with two liberties that editors allow: comments (`//`, `/* */`) and a comma after
the last member. An edit is made if and only if (1) the text can be read so, (2) every step of the
path that exists is an object, and (3) the edited text reads back as the old value with that one
member set or gone. Otherwise MalformedDocument, and the caller shows what to do by hand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from counterpoint.cli.clients.files import newline_of
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import MalformedDocument

_BLANK: Final = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_SPACES: Final = re.compile(r"[ \t]*")
_NEWLINE: Final = re.compile(r"\r?\n")
_REMARK: Final = re.compile(r"(?:[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/))*")
"""Comments on the line of a member, which belong to it."""
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR: Final = re.compile(r"-?[0-9][0-9.eE+-]*|true|false|null")
_DEEPEST: Final = 50


@dataclass(slots=True, kw_only=True)
class _Node:
    """A value and where it stands; for an object also its members, and where a next one may go.

    named: where the name begins that it is a member by. last: the end of the last member, or of the opening brace.
    comma: a comma stands after it.
    """

    start: int
    named: int = 0
    end: int = 0
    value: Json = None
    members: dict[str, _Node] = field(default_factory=dict[str, "_Node"])
    first: int = 0
    last: int = 0
    comma: bool = False


def load_jsonc(text: str) -> Json:
    """Return the value of a text; MalformedDocument says where it cannot be read."""
    return _read(text).value


def set_member(text: str, path: Sequence[str], value: Json) -> str:
    """Return the text with the member at a path set; MalformedDocument if that is not safe."""
    if not text.strip("\ufeff \t\r\n"):
        text = "{}\n"
    document = _read(text)
    expected = _with(document.value, path, value)
    if _same(document.value, expected):
        return text
    edited = _edit(text, document, path, value)
    if not _same(load_jsonc(edited), expected):
        raise MalformedDocument("the file cannot be edited without touching other parts of it")
    return edited


def remove_member(text: str, path: Sequence[str]) -> str:
    """Return the text without the member at a path, as it is if there is none; MalformedDocument if that is not safe."""
    if not text.strip("\ufeff \t\r\n"):
        return text
    document = _read(text)
    parent = document
    for name in path[:-1]:
        if name not in parent.members:
            return text
        parent = parent.members[name]
    if path[-1] not in parent.members:
        return text
    edited = _cut(text, parent, path[-1])
    if not _same(load_jsonc(edited), _without(document.value, path)):
        raise MalformedDocument("the file cannot be edited without touching other parts of it")
    return edited


def _without(whole: Json, path: Sequence[str]) -> Json:
    members = dict(cast("dict[str, Json]", whole))
    if len(path) == 1:
        del members[path[0]]
    else:
        members[path[0]] = _without(members[path[0]], path[1:])
    return members


def _cut(text: str, parent: _Node, name: str) -> str:
    """Return the text without a member: with its lines where it has them for itself, and with the comma it leaves."""
    members = [*parent.members.values()]
    index = [*parent.members].index(name)
    node = members[index]
    end, has_comma = _comma_after(text, node.end)
    begin, end = _whole_lines(text, node.named, end)
    if (
        len(members) == 1
        and not (text[parent.start + 1 : begin] + text[end : parent.end - 1]).strip()
    ):
        return f"{text[: parent.start]}{{}}{text[parent.end :]}"
    if index == len(members) - 1 and index and not has_comma:
        comma = _blank(text, members[index - 1].end)
        return text[:comma] + text[comma + 1 : begin] + text[end:]
    return text[:begin] + text[end:]


def _comma_after(text: str, end: int) -> tuple[int, bool]:
    """Return where a member ends with its comma, and whether it has one."""
    position = _blank(text, end)
    return (position + 1, True) if text[position : position + 1] == "," else (end, False)


def _whole_lines(text: str, begin: int, end: int) -> tuple[int, int]:
    """Return the lines of a part that has them for itself; else the part with the spaces before it."""
    first = text.rfind("\n", 0, begin) + 1
    last = end + len(_match(_SPACES, text, end))
    newline = _match(_NEWLINE, text, last)
    if newline and not text[first:begin].strip():
        return first, last + len(newline)
    while begin and text[begin - 1] in " \t":
        begin -= 1
    return begin, end


def _same(first: Json, other: Json) -> bool:
    """Compare as JSON does: true is not 1."""
    return json.dumps(first, sort_keys=True) == json.dumps(other, sort_keys=True)


def _with(whole: Json, path: Sequence[str], value: Json) -> Json:
    if not path:
        return value
    if not isinstance(whole, dict):
        raise MalformedDocument(f"what should hold {path[0]!r} is not an object")
    members = cast("dict[str, Json]", whole)
    return {**members, path[0]: _with(members.get(path[0], {}), path[1:], value)}


def _edit(text: str, document: _Node, path: Sequence[str], value: Json) -> str:
    node, depth = document, 0
    while depth < len(path) and path[depth] in node.members:
        node = node.members[path[depth]]
        depth += 1
    if depth == len(path):
        return text[: node.start] + _dump(text, value, node.start) + text[node.end :]
    for name in reversed(path[depth + 1 :]):
        value = {name: value}
    return _insert(text, node, path[depth], value)


def _insert(text: str, node: _Node, name: str, value: Json) -> str:
    line = newline_of(text)
    if not node.members:
        outer = _indent(text, node.start)
        inner = outer + _unit(text)
        member = f"{json.dumps(name)}: {_dumped(text, value, inner)}"
        after = text[node.last : node.end - 1]
        gap = after.rstrip() if after.strip() else ""
        return f"{text[: node.last]}{gap}{line}{inner}{member}{line}{outer}{text[node.end - 1 :]}"
    inner = _indent(text, node.first)
    is_flat = "\n" not in text[node.start : node.first]
    member = f"{json.dumps(name)}: {json.dumps(value) if is_flat else _dumped(text, value, inner)}"
    gap = " " if is_flat else line + inner
    comma = "," if node.comma else ""
    end = text.index(",", _blank(text, node.last)) + 1 if node.comma else node.last
    tail = "" if is_flat else _match(_REMARK, text, end)
    after = text[end + len(tail) :]
    return f"{text[:end]}{'' if node.comma else ','}{tail}{gap}{member}{comma}{after}"


def _match(pattern: re.Pattern[str], text: str, at: int) -> str:
    match = pattern.match(text, at)
    return match[0] if match else ""


def _dump(text: str, value: Json, at: int) -> str:
    return _dumped(text, value, _indent(text, at))


def _dumped(text: str, value: Json, indent: str) -> str:
    dumped = json.dumps(value, indent=_unit(text), ensure_ascii=False)
    return dumped.replace("\n", newline_of(text) + indent)


def _indent(text: str, at: int) -> str:
    """Return the white space that the line of a place begins with."""
    begin = text.rfind("\n", 0, at) + 1
    return _match(_SPACES, text, begin)


def _unit(text: str) -> str:
    """Return what one step of indentation is in this text."""
    match = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    return match[1] if match else "  "


def _read(text: str) -> _Node:
    node = _value(text, _blank(text, 0), 0)
    end = _blank(text, node.end)
    if end != len(text):
        raise _unreadable(text, end)
    return node


def _blank(text: str, at: int) -> int:
    return at + len(_match(_BLANK, text, at))


def _value(text: str, at: int, depth: int) -> _Node:
    if depth > _DEEPEST:
        raise MalformedDocument("the file is nested too deeply")
    opening = text[at : at + 1]
    if opening == "{":
        return _object(text, at, depth)
    if opening == "[":
        return _array(text, at, depth)
    match = (_STRING if opening == '"' else _SCALAR).match(text, at)
    if match is None:
        raise _unreadable(text, at)
    return _Node(start=at, end=match.end(), value=_scalar(text, at, match[0]))


def _scalar(text: str, at: int, part: str) -> Json:
    try:
        return json.loads(part)
    except ValueError:
        raise _unreadable(text, at) from None


def _object(text: str, at: int, depth: int) -> _Node:
    node = _Node(start=at, last=at + 1)
    members: dict[str, Json] = {}
    position = _blank(text, at + 1)
    while text[position : position + 1] != "}":
        name = _value(text, position, depth + 1)
        if not isinstance(name.value, str) or (node.members and not node.comma):
            raise _unreadable(text, position)
        node.first = node.first or position
        colon = _blank(text, name.end)
        if text[colon : colon + 1] != ":":
            raise _unreadable(text, colon)
        member = _value(text, _blank(text, colon + 1), depth + 1)
        member.named = position
        node.members[name.value] = member
        members[name.value] = member.value
        node.last = member.end
        position, node.comma = _comma(text, member.end)
    node.end, node.value = position + 1, members
    return node


def _array(text: str, at: int, depth: int) -> _Node:
    parts: list[Json] = []
    position, comma = _blank(text, at + 1), True
    while text[position : position + 1] != "]":
        if not comma:
            raise _unreadable(text, position)
        member = _value(text, position, depth + 1)
        parts.append(member.value)
        position, comma = _comma(text, member.end)
    return _Node(start=at, end=position + 1, value=parts)


def _comma(text: str, end: int) -> tuple[int, bool]:
    """Return where the next part begins, and whether a comma stood before it."""
    position = _blank(text, end)
    if text[position : position + 1] == ",":
        return _blank(text, position + 1), True
    return position, False


def _unreadable(text: str, at: int) -> MalformedDocument:
    line = text.count("\n", 0, at) + 1
    return MalformedDocument(f"line {line} cannot be read as JSON")


def member(whole: Json, path: Sequence[str]) -> Json:
    """Return the value at a path, or None."""
    for name in path:
        if not isinstance(whole, Mapping):
            return None
        whole = cast("Mapping[str, Json]", whole).get(name)
    return whole
