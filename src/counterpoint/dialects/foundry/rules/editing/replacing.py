r"""Find and replace over the titles and descriptions of a document.

What is looked for is a text, or a regular expression of RE2: strangers write these, and an engine that backtracks can be made
to take years by one of them. RE2 takes a time that grows with the text and with what the expression becomes inside of it;
both together are bounded here, also for an expression that looks far beyond what it matches, again and again.
Lookarounds and backward references are not understood.

In the replacement of an expression `\1` and `\g<name>` stand for what a group matched, `\n` and `\t` for a line's end
and a tab, and `\` before anything else for that; the replacement of a text stands for itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterpoint.dialects.foundry.nouns.nodes import ROOT
from counterpoint.dialects.foundry.rules.shape import (
    FIELD_LIMIT,
    TEXT_LIMIT,
    has_text,
    items_of,
    metadata_of,
    nodes_of,
    quoted,
    text_of,
)
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    import re2

SCOPES: Final = ("all", "titles", "descriptions")
FIND_LIMIT: Final = 256
REPLACEMENTS_LIMIT: Final = 10_000
SAMPLES: Final = 10
_SIZE_LIMIT: Final = 1_000
"""Instructions that an expression may become."""
_WORK_LIMIT: Final = 200_000_000
"""Instructions times letters: what the slowest way through all texts takes a few seconds for."""
_LOOKING: Final = 4
"""What part of an expression each letter behind a match is looked at with, to see whether the match goes on."""
_LETTERS_SHOWN: Final = 200
_MARK: Final = re.compile(r"\\(?:([0-9]{1,2})|g<(\w{1,64})>|(.))", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "t": "\t"}

_Matcher = Callable[[str], tuple[str, int]]
"""Return a text with what is found replaced, and how often it was found."""


@dataclass(frozen=True, slots=True)
class Change:
    """One field in which something was replaced."""

    node_id: str
    field: str
    old: str
    new: str
    count: int

    def as_json(self) -> dict[str, Json]:
        """Return the change as a sample, with long texts cut."""
        return {
            "node_id": self.node_id,
            "field": self.field,
            "old": _cut(self.old),
            "new": _cut(self.new),
            "replacement_count": self.count,
        }


@dataclass(frozen=True, slots=True)
class Replacement:
    """A document with everything replaced, and where that was."""

    document: dict[str, Json]
    changes: tuple[Change, ...]

    def as_json(self) -> dict[str, Json]:
        """Return the counts, and a few of the changes."""
        return {
            "total_replacements": sum(change.count for change in self.changes),
            "nodes_affected": len({change.node_id for change in self.changes}),
            "changes": [change.as_json() for change in self.changes[:SAMPLES]],
            "changes_truncated": len(self.changes) > SAMPLES,
            "total_changes": len(self.changes),
        }


def replaced(
    document: Json,
    find: str,
    replace: str,
    *,
    scope: str = "all",
    use_regex: bool = False,
    case_sensitive: bool = True,
) -> Replacement:
    """Return a document with a text or an expression replaced; InvalidInput, NotFound if it is nowhere.

    error_code is INVALID_REGEX_PATTERN, PATTERN_TOO_BROAD or NO_MATCHES_FOUND.
    """
    _refuse(find, replace, scope)
    matcher = _Pattern(find, replace, use_regex=use_regex, case_sensitive=case_sensitive)
    writer = _Writer(matcher, scope)
    rewritten = writer.document(object_of(document))
    if not matcher.count:
        raise NotFound(
            f"{quoted(find)} is not in the {_told(scope)}", error_code="NO_MATCHES_FOUND"
        )
    return Replacement(rewritten, tuple(writer.changes))


def _refuse(find: str, replace: str, scope: str) -> None:
    faults: list[str] = []
    if scope not in SCOPES:
        faults.append(f"scope is one of {', '.join(SCOPES)}")
    if not 0 < len(find) <= FIND_LIMIT:
        faults.append(f"find has from 1 to {FIND_LIMIT} characters")
    if len(replace) > FIELD_LIMIT:
        faults.append(f"replace has at most {FIELD_LIMIT} characters")
    if faults:
        raise InvalidInput("; ".join(faults))


def _told(scope: str) -> str:
    return "titles and descriptions" if scope == "all" else scope


def _cut(text: str) -> str:
    return text if len(text) <= _LETTERS_SHOWN else f"{text[:_LETTERS_SHOWN]}…"


class _Pattern:
    """What is looked for, what it becomes, and how often it was found."""

    def __init__(self, find: str, replace: str, *, use_regex: bool, case_sensitive: bool) -> None:
        """Read an expression; InvalidInput says what is wrong with it."""
        import re2  # few calls replace anything, and all would wait for it

        options = re2.Options()
        options.log_errors = False  # a fault is told to the caller, never to standard error
        options.literal = not use_regex
        options.case_sensitive = case_sensitive
        try:
            self._compiled = re2.compile(find, options)
        except (re2.error, UnicodeEncodeError) as fault:
            raise _invalid(f"{quoted(find)} cannot be read as an expression of RE2") from fault
        if self._compiled.programsize > _SIZE_LIMIT:
            raise _invalid("the expression repeats too much")
        self._parts = _template(replace, self._compiled) if use_regex else [replace]
        self._looking = self._compiled.programsize // _LOOKING if use_regex else 0
        self._length = 0
        self._work = _WORK_LIMIT
        self.count = 0

    def __call__(self, text: str) -> tuple[str, int]:
        """Return a text with what is found replaced, and how often it was found; InvalidInput."""
        self._work -= self._compiled.programsize * len(text)
        if self._work < 0:
            raise _too_broad("the expression is too large to be looked for in so much text")
        self._length = len(text)
        try:
            replaced_text, count = self._compiled.subn(self._written, text)
        except UnicodeEncodeError:
            return text, 0  # half a character has no UTF-8, and can match nothing
        if len(replaced_text) > max(len(text), TEXT_LIMIT):
            raise InvalidInput(f"a text would have more than {TEXT_LIMIT} characters")
        return replaced_text, count

    def _written(self, match: re2.Match) -> str:
        if match.start() == match.end():
            raise _too_broad("the expression matches where there is no text")
        self.count += 1
        self._work -= self._looking * (self._length - match.end())
        if self.count > REPLACEMENTS_LIMIT or self._work < 0:
            raise _too_broad("it is found too often")
        return "".join(
            part if isinstance(part, str) else (match.group(part) or "") for part in self._parts
        )


def _invalid(message: str) -> InvalidInput:
    return InvalidInput(
        message,
        hint="Lookarounds and backward references are not understood; most else is.",
        error_code="INVALID_REGEX_PATTERN",
    )


def _too_broad(message: str) -> InvalidInput:
    return InvalidInput(message, hint="Look for something longer.", error_code="PATTERN_TOO_BROAD")


def _template(replace: str, compiled: re2.Pattern) -> list[str | int]:
    """Return the parts of a replacement: texts, and the numbers of groups; InvalidInput."""
    parts: list[str | int] = []
    end = 0
    for mark in _MARK.finditer(replace):
        parts.append(replace[end : mark.start()])
        end = mark.end()
        number, name, letter = mark.groups()
        if letter is not None:
            parts.append(_ESCAPES.get(letter, letter))
            continue
        group = int(number) if number else _group(name, compiled.groupindex)
        if not 0 <= group <= compiled.groups:
            raise _invalid(f"the replacement names the group {quoted(number or name)}")
        parts.append(group)
    return [*parts, replace[end:]]


def _group(name: str, groups: Mapping[str, int]) -> int:
    """Return the number of a group that is named or numbered; -1 if there is none."""
    if name.isdecimal() and name.isascii():
        return int(name[:4])
    return groups.get(name, -1)


class _Writer:
    """Replaces in the fields of a scope, and keeps where that was."""

    def __init__(self, matcher: _Matcher, scope: str) -> None:
        self._matcher = matcher
        self._in_titles = scope != "descriptions"
        self._in_descriptions = scope != "titles"
        self.changes: list[Change] = []

    def document(self, whole: Mapping[str, Json]) -> dict[str, Json]:
        """Return a document with everything replaced; what stays is the same object."""
        merged = {**whole, **self._fields(ROOT, whole)}
        changed: dict[str, Json] = {}
        for name, node in nodes_of(whole).items():
            fields = self._fields(name, node)
            if fields:
                changed[name] = {**node, **fields}
        self.changes = list(_once(self.changes))
        if changed:
            merged["hierarchy"] = {**object_of(whole.get("hierarchy")), **changed}
        return merged

    def _fields(self, name: str, node: Mapping[str, Json]) -> dict[str, Json]:
        """Return the fields of a node, or of the document, that become others."""
        fields: dict[str, Json] = {}
        if self._in_titles and "title" in node:
            title = self._text(name, "title", node["title"])
            if title is not node["title"]:
                if not has_text(title):
                    raise InvalidInput(f"{quoted(name)} would be left without a title")
                fields["title"] = title
        metadata = metadata_of(node)
        if self._in_descriptions and metadata:
            inner = {
                key: self._value(name, key, metadata[key])
                for key in ("description", "details")
                if key in metadata
            }
            if any(value is not metadata[key] for key, value in inner.items()):
                fields["metadata"] = {**metadata, **inner}
        return fields

    def _value(self, name: str, field: str, value: Json) -> Json:
        """Return a text, or a list of lines, with everything replaced."""
        if not isinstance(value, list):
            return self._text(name, field, value)
        lines: Sequence[Json] = items_of(value)
        rewritten = [
            self._text(name, f"{field}[{number}]", line) for number, line in enumerate(lines)
        ]
        is_same = all(line is other for line, other in zip(rewritten, lines, strict=True))
        return lines if is_same else rewritten

    def _text(self, name: str, field: str, value: Json) -> Json:
        if not isinstance(value, str):
            return value
        rewritten, count = self._matcher(value)
        if rewritten == value:
            return value
        self.changes.append(Change(name, field, value, rewritten, count))
        return text_of(rewritten)


def _once(changes: Sequence[Change]) -> Iterator[Change]:
    """Return the changes, without the title of the spec where the root told the same one."""
    seen: set[tuple[str, str, str]] = set()
    for change in changes:
        key = (change.node_id, change.field, change.old)
        if key not in seen:
            seen.add(key)
            yield change
