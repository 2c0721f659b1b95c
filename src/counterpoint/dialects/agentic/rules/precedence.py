"""Judgments about the order of calls: what is missing, and how to make it up.

A table is YAML: each tool, with a list of what it requires.

    append:
      - tool_called: open, resume
      - session_state: active
        made_by: resume
    move:
      - entity_exists: plan
        argument: plan
        made_by: draft
        optional: no

Valid if and only if (1) each requirement has exactly one of the keys `tool_called`, `session_state`,
`context_exists`, `entity_exists`, with one word or several of which one is enough; (2) `argument`
stands with `entity_exists` and nowhere else; (3) every tool it names is one there is; (4) no tool
is, by what is not optional, required for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast, get_args

from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import CyclicDependency, MalformedDocument
from counterpoint.kernel.yamltext import (
    YamlText,
    parse_bool,
    parse_text,
    parse_words,
    read_yaml,
)

RequirementKind = Literal["tool_called", "session_state", "context_exists", "entity_exists"]

REQUIREMENT_KINDS: Final[tuple[RequirementKind, ...]] = get_args(RequirementKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One thing that has to be so before a tool is called.

    names: of these one is enough. For `tool_called` the tools, one of which this session has called;
    for `session_state` the states; for `context_exists` the keys that the session's details or the
    call's arguments have; for `entity_exists` the kind of thing.
    argument: which argument of the call has the thing's id. made_by: the tool that brings it
    about; empty if none is known. optional: is told to nobody and stops nothing.
    """

    kind: RequirementKind
    names: tuple[str, ...]
    argument: str = ""
    made_by: str = ""
    optional: bool = False


Table = Mapping[str, tuple[Requirement, ...]]
"""What each tool requires; a tool that is not in it requires nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOrder:
    """Which tools need something else first, in the project that is served."""

    table: Table = field(default_factory=dict[str, tuple[Requirement, ...]])


@dataclass(frozen=True, slots=True, kw_only=True)
class CallHistory:
    """What is so when a tool is called.

    called: the tools that the session has called. state: how the session stands; empty if there is
    none. context: the keys that it or the call has. exists: whether there is a thing of a kind
    under the id that an argument gives.
    """

    called: frozenset[str]
    state: str
    context: frozenset[str]
    exists: Callable[[str, str], bool]


_KEYS = frozenset({*REQUIREMENT_KINDS, "argument", "made_by", "optional"})


def read_table(text: str, tools: Collection[str]) -> Table:
    """Return the table of a text; MalformedDocument with every fault, CyclicDependency.

    tools: the names of those there are.
    """
    document = read_yaml(text)
    faults: list[str] = []
    table: dict[str, tuple[Requirement, ...]] = {}
    if not isinstance(document.value or {}, dict):
        raise _malformed(["line 1: a table is made of lines `tool:` with a list below each"])
    for tool, listed in cast("dict[str, Json]", document.value or {}).items():
        if tool not in tools:
            faults.append(f"line {document.line(tool)}: there is no tool {tool[:60]!r}")
        if isinstance(listed, list):
            table[tool] = tuple(_parse(document, tool, cast("list[Json]", listed), tools, faults))
        else:
            faults.append(f"line {document.line(tool)}: {tool[:60]!r} has no list below it")
    if faults:
        raise _malformed(faults)
    _check_circles(table)
    return table


def find_unmet(
    requirements: tuple[Requirement, ...], seen: CallHistory, arguments: Mapping[str, Json]
) -> list[Requirement]:
    """Return the requirements that are not optional and not met, in their order."""
    return [
        requirement
        for requirement in requirements
        if not requirement.optional and not _is_met(requirement, seen, arguments)
    ]


def suggested_order(
    tool: str, missing: Collection[Requirement], table: Table, called: Collection[str]
) -> list[str]:
    """Return the tools to call, each after those it requires itself, and at last the tool.

    Where several would do, the first is suggested; what has been called already is left out.
    """
    order: list[str] = []

    def make(name: str) -> None:
        if name in order or name == tool:
            return
        for requirement in table.get(name, ()):
            step = _step(requirement)
            if step and not requirement.optional and step not in called:
                make(step)
        order.append(name)

    for requirement in missing:
        step = _step(requirement)
        if step:
            make(step)
    return [*order, tool]


def describe(requirement: Requirement) -> dict[str, Json]:
    """Return a requirement as JSON, for the caller that has not met it."""
    description: dict[str, Json] = {"kind": requirement.kind, "names": list(requirement.names)}
    if requirement.argument:
        description["argument"] = requirement.argument
    if requirement.made_by:
        description["made_by"] = requirement.made_by
    return description


def _is_met(requirement: Requirement, seen: CallHistory, arguments: Mapping[str, Json]) -> bool:
    if requirement.kind == "tool_called":
        return not seen.called.isdisjoint(requirement.names)
    if requirement.kind == "session_state":
        return seen.state in requirement.names
    if requirement.kind == "context_exists":
        return not seen.context.isdisjoint(requirement.names)
    entity_name = arguments.get(requirement.argument)
    return isinstance(entity_name, str) and any(
        seen.exists(kind, entity_name) for kind in requirement.names
    )


def _step(requirement: Requirement) -> str:
    """Return the tool that meets a requirement; empty if none is known."""
    return requirement.made_by or (
        requirement.names[0] if requirement.kind == "tool_called" else ""
    )


def _parse(
    document: YamlText, tool: str, listed: list[Json], tools: Collection[str], faults: list[str]
) -> Iterator[Requirement]:
    for index, entry in enumerate(listed):
        line = document.line(tool, index)
        if not isinstance(entry, dict):
            faults.append(f"line {line}: a requirement is written as `kind: names`")
            continue
        try:
            requirement = _requirement(cast("dict[str, Json]", entry), line)
        except MalformedDocument as fault:
            faults.append(fault.message)
            continue
        tool_names = [*requirement.names] if requirement.kind == "tool_called" else []
        tool_names += [requirement.made_by] if requirement.made_by else []
        faults += [
            f"line {line}: there is no tool {name[:60]!r}"
            for name in tool_names
            if name not in tools
        ]
        yield requirement


def _requirement(entry: Mapping[str, Json], line: int) -> Requirement:
    kinds: list[RequirementKind] = [kind for kind in REQUIREMENT_KINDS if kind in entry]
    strange = sorted(set(entry) - _KEYS)
    names = parse_words(kinds[0], entry[kinds[0]], line=line) if kinds else ()
    if len(kinds) != 1 or strange or not names:
        possible = ", ".join(REQUIREMENT_KINDS)
        raise MalformedDocument(
            f"line {line}: a requirement has one of {possible}, with a word, and may have argument,"
            f" made_by, optional{''.join(f'; not {key[:40]}' for key in strange)}"
        )
    argument = parse_text("argument", entry.get("argument", ""), line=line)
    if (kinds[0] == "entity_exists") != bool(argument):
        raise MalformedDocument(
            f"line {line}: `argument` stands with entity_exists, which needs it, and nowhere else"
        )
    return Requirement(
        kind=kinds[0],
        names=names,
        argument=argument,
        made_by=parse_text("made_by", entry.get("made_by", ""), line=line),
        optional=parse_bool("optional", entry.get("optional", "no"), line=line),
    )


def _check_circles(table: Table) -> None:
    """Refuse a table in which a tool can never be called; CyclicDependency names the circle."""
    done: set[str] = set()

    def walk(tool: str, path: tuple[str, ...]) -> None:
        if tool in path:
            circle = " → ".join([*path[path.index(tool) :], tool])
            raise CyclicDependency(f"the tools require each other: {circle}")
        if tool in done:
            return
        for requirement in table.get(tool, ()):
            # Of several that would do, another one may lead out of the circle.
            if (
                requirement.kind == "tool_called"
                and not requirement.optional
                and len(requirement.names) == 1
            ):
                walk(requirement.names[0], (*path, tool))
        done.add(tool)

    for tool in table:
        walk(tool, ())


def _malformed(faults: list[str]) -> MalformedDocument:
    more: dict[str, Any] = {"faults": faults}
    return MalformedDocument(f"the order of the tools cannot be read: {'; '.join(faults)}", **more)
