"""YAML in which every scalar is the text that was written, and front matter.

Layout: one document of YAML 1.1, mappings, sequences and scalars in block or flow style; or, for
front matter, a line `---`, such a document, a line `---`, and a body that is not looked at.

Valid if and only if (1) it is at most 200,000 printable characters, none of them one that ends a line
in YAML and nowhere else (U+0085, U+2028, U+2029), (2) it is one document without
directives, (3) it is nested at most 32 deep, (4) nothing has an anchor, an alias or a tag, (5) every
key is a scalar, is not the merge key `<<`, and stands once in its mapping. So `no`, `1.10` and
`2026-01-01` stay what they look like, an empty value is the empty text, and a small text is never a
large value. What a text means (a number, a yes, a list of words) is heard where it is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import MalformedDocument
from counterpoint.kernel.frozen import frozen
from counterpoint.kernel.matching.expressions import expression

LENGTH_LIMIT = 200_000
DEPTH_LIMIT = 32
NUMBER_LIMIT = 2**53 - 1

Way = tuple[str | int, ...]
"""The keys and positions that lead from the root of a document to a value."""

_MARK = "\ufeff"
_FENCE = "---"
_STRANGE = expression(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
_BEGIN = expression(rf"{_FENCE}[ \t]*\r?(?:\n|\Z)")
_END = expression(rf"^{_FENCE}[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
_SHOWN = 60
_WHOLE = expression(r"-?[0-9]{1,16}")
_YES = {"true": True, "yes": True, "false": False, "no": False}
_ADVICE = {
    "mapping values are not allowed": "Put a value that contains `: ` in quotes.",
    "cannot start any token": "Indent with spaces, and put a value that begins with @, % or ` in quotes.",
}
_PLAIN_ADVICE = "Mend that line; a text with special characters stands in quotes."


@frozen
class YamlText:
    """What a document says, and in which line each part of it stands."""

    value: Json
    lines: Mapping[Way, int]

    def line(self, *path: str | int) -> int:
        """Return the line of a value, or of the nearest part around it that is there."""
        while path not in self.lines:
            path = path[:-1]
        return self.lines[path]


@frozen
class FrontMatter:
    """The keys and values at the head of a text, and the body below them."""

    values: dict[str, Json]
    body: str
    yaml: YamlText

    def line(self, *path: str | int) -> int:
        """Return the line of the whole text in which a value stands."""
        return self.yaml.line(*path)


def read_yaml(text: str, *, first_line: int = 1) -> YamlText:
    """Return the value of a document and its lines, counted from `first_line`; MalformedDocument."""
    text = text.removeprefix(_MARK)
    if len(text) > LENGTH_LIMIT:
        raise _malformed(
            first_line,
            f"the document has {len(text)} characters, which is more than {LENGTH_LIMIT}",
            "Make it shorter, or make it several files.",
        )
    strange = _STRANGE.search(text)
    if strange is not None:
        raise _malformed(
            first_line + text.count("\n", 0, strange.start()),
            f"the character U+{ord(strange[0]):04X} has no place in a text",
            "Take it away, or write it as an escape in double quotes.",
        )
    tree = _Tree(first_line=first_line)
    _parse(text, tree.take, first_line)
    return YamlText(value=tree.value, lines=tree.lines)


def read_front_matter(text: str) -> FrontMatter:
    """Return the front matter of a text with its lines; MalformedDocument if it does not end."""
    text = text.removeprefix(_MARK)
    begin = _BEGIN.match(text)
    if begin is None:
        return FrontMatter(values={}, body=text, yaml=YamlText(value={}, lines={(): 1}))
    end = _END.search(text, begin.end())
    if end is None:
        raise _malformed(
            1, "the front matter does not end", f"Write a line `{_FENCE}` below its last key."
        )
    yaml = read_yaml(text[begin.end() : end.start()], first_line=2)
    if not isinstance(yaml.value or {}, dict):
        raise _malformed(
            2, "the front matter is not made of keys and values", "Write it as lines `key: value`."
        )
    return FrontMatter(values=yaml.value or {}, body=text[end.end() :], yaml=yaml)


def parse_text(key: str, value: Json, *, line: int = 0) -> str:
    """Return a value that must be one text; MalformedDocument if it is a list or a mapping."""
    if not isinstance(value, str):
        raise _unheard(key, value, line, "one text")
    return value


def parse_int(
    key: str,
    value: Json,
    *,
    line: int = 0,
    least: int = -NUMBER_LIMIT,
    most: int = NUMBER_LIMIT,
) -> int:
    """Return a value that must be a whole number in a range; MalformedDocument."""
    number = int(value) if isinstance(value, str) and _WHOLE.fullmatch(value) else None
    if number is None or not least <= number <= most:
        is_open = (least, most) == (-NUMBER_LIMIT, NUMBER_LIMIT)
        raise _unheard(
            key, value, line, "a whole number" + ("" if is_open else f" from {least} to {most}")
        )
    return number


def parse_bool(key: str, value: Json, *, line: int = 0) -> bool:
    """Return a value that must be true, false, yes or no; MalformedDocument."""
    answer = _YES.get(value.lower()) if isinstance(value, str) else None
    if answer is None:
        raise _unheard(key, value, line, "true or false")
    return answer


def parse_words(key: str, value: Json, *, line: int = 0) -> tuple[str, ...]:
    """Return a list of texts, or the parts of one text between commas; MalformedDocument."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list):
        raise _unheard(key, value, line, "a list of texts")
    words = cast("list[Json]", parts)
    for word in words:
        if not isinstance(word, str):
            raise _unheard(key, word, line, "a list of texts")
    return tuple(word.strip() for word in words if word.strip())


@dataclass(slots=True, kw_only=True)
class _Branch:
    """A mapping or a sequence that has begun and has not ended."""

    value: Json
    way: Way
    key: str | None = None


@dataclass(slots=True, kw_only=True)
class _Tree:
    """The value that grows from the events of a parser."""

    first_line: int
    value: Json = ""
    lines: dict[Way, int] = field(default_factory=dict[Way, int])
    _open: list[_Branch] = field(default_factory=list[_Branch])
    _documents: int = 0

    def __post_init__(self) -> None:
        """Know the line of the root, even of an empty document."""
        self.lines[()] = self.first_line

    def take(self, event: Any) -> None:
        """Grow by one event of the parser."""
        line = self.first_line + event.start_mark.line
        match type(event).__name__:
            case "ScalarEvent":
                self._refuse_marks(event, line)
                self._scalar(event, line)
            case "MappingStartEvent":
                self._refuse_marks(event, line)
                self._begin({}, line)
            case "SequenceStartEvent":
                self._refuse_marks(event, line)
                self._begin([], line)
            case "MappingEndEvent" | "SequenceEndEvent":
                self._open.pop()
            case "AliasEvent":
                raise _malformed(
                    line,
                    f"the alias *{event.anchor} has no place here",
                    "Write the value out where it is used.",
                )
            case "DocumentStartEvent":
                self._document(event, line)
            case _:
                pass  # the ends of the document and of the stream

    def _document(self, event: Any, line: int) -> None:
        self._documents += 1
        if self._documents > 1:
            raise _malformed(line, "a second document begins", "Write one document in one file.")
        if event.version or event.tags:
            raise _malformed(line, "directives have no place here", "Take the % lines away.")

    def _refuse_marks(self, event: Any, line: int) -> None:
        if event.anchor is not None:
            raise _malformed(
                line,
                f"the anchor &{event.anchor} has no place here",
                "Take it away; write a value where it is used.",
            )
        if event.tag is not None:
            raise _malformed(
                line,
                f"the tag {event.tag} has no place here",
                "Take it away: every value is a text.",
            )

    def _begin(self, value: Json, line: int) -> None:
        if len(self._open) == DEPTH_LIMIT:
            raise _malformed(
                line,
                f"values are nested more than {DEPTH_LIMIT} deep",
                "Make the document flatter.",
            )
        if self._awaits_key():
            raise _malformed(line, "a key is a list or a mapping", "Write keys as plain words.")
        self._open.append(_Branch(value=value, way=self._place(value, line)))

    def _scalar(self, event: Any, line: int) -> None:
        text = str(event.value)
        if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
            raise _malformed(line, "an escape that is half a character", "Write the character.")
        if not self._awaits_key():
            self._place(text, line)
            return
        branch = self._open[-1]
        if text == "<<" and event.implicit[0]:
            raise _malformed(
                line,
                "the merge key << has no place here",
                "Write the keys out where they are used.",
            )
        if text in branch.value:
            first = self.lines[*branch.way, text]
            raise _malformed(
                line, f"the key {text!r} stands in line {first} already", "Keep one of the two."
            )
        branch.key = text
        self.lines[*branch.way, text] = line

    def _awaits_key(self) -> bool:
        return (
            bool(self._open)
            and isinstance(self._open[-1].value, dict)
            and self._open[-1].key is None
        )

    def _place(self, value: Json, line: int) -> Way:
        """Put a value where it belongs; answer the way to it."""
        if not self._open:
            self.value = value
            return ()
        branch = self._open[-1]
        if branch.key is None:
            path = (*branch.way, len(branch.value))
            branch.value.append(value)
            self.lines[path] = line
            return path
        path = (*branch.way, branch.key)
        branch.value[branch.key] = value
        branch.key = None
        return path


def _parse(text: str, take: Callable[[Any], None], first_line: int) -> None:
    """Tell every event of a text; the library is loaded here, for most runs read no YAML."""
    import yaml

    # The parser in C is the same one, some ten times as fast; some platforms have only the other.
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    parse = cast("Callable[..., Iterator[Any]]", yaml.parse)  # pyright: ignore[reportUnknownMemberType] its stub leaves the stream open
    try:
        for event in parse(text, Loader=loader):
            take(event)
    except yaml.MarkedYAMLError as fault:
        raise _refused(fault, first_line) from fault
    except (
        ValueError,
        OverflowError,
    ) as fault:  # an escape beyond the last character, a huge version
        raise _malformed(first_line, "a number in it is too large", _PLAIN_ADVICE) from fault


def _refused(fault: Any, first_line: int) -> MalformedDocument:
    problem = fault.problem
    line = first_line + fault.problem_mark.line
    if fault.context_mark is not None and fault.context_mark.line != fault.problem_mark.line:
        problem += f" {fault.context} that begins in line {first_line + fault.context_mark.line}"
    advice = next((hint for part, hint in _ADVICE.items() if part in problem), _PLAIN_ADVICE)
    return _malformed(line, problem, advice)


def _unheard(key: str, value: Json, line: int, expected: str) -> MalformedDocument:
    if isinstance(value, str):
        description = repr(value if len(value) <= _SHOWN else f"{value[:_SHOWN]}…")
    else:
        description = "a mapping" if isinstance(value, dict) else "a list"
    problem = f"{key!r} is {description}, not {expected}"
    return MalformedDocument(
        f"line {line}: {problem}" if line else problem,
        hint=f"Write {expected} there.",
        line=line,
        problem=problem,
    )


def _malformed(line: int, problem: str, advice: str) -> MalformedDocument:
    return MalformedDocument(f"line {line}: {problem}", hint=advice, line=line, problem=problem)
