"""Hints name only tools and commands that there are, in every dialect."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

import click
import pytest

import counterpoint
from counterpoint.cli.grouping import cli
from counterpoint.cli.main import PHRASES
from counterpoint.dialects.envelope import PEOPLE, phrases_of
from counterpoint.dialects.registry import names, surface
from counterpoint.dialects.symphony.scope import AGENT_TYPES
from counterpoint.kernel import errors
from counterpoint.kernel.acts import Act, say
from counterpoint.kernel.errors import CounterpointError
from counterpoint.settings import Settings

SOURCE = Path(counterpoint.__file__).parent
FLOORS = ("core", "kernel", "storage", "evidence", "protocol", "app.py", "settings.py")
"""What knows no dialect, and so may name no tool."""
OTHER_PROGRAMS = {"git", "chmod", "pip", "cd"}
QUOTED = re.compile(r"`([^`]+)`")
ACTION = re.compile(r'(\w+) action=\\?"([\w-]+)\\?"')
"""How a call of a tool of several actions is written."""
ERRORS = [
    found
    for found in vars(errors).values()
    if isinstance(found, type) and issubclass(found, CounterpointError)
]


@cache
def tools_of(name: str) -> frozenset[str]:
    """Return every tool of a dialect and every action, those that a setting adds included."""
    full = surface(name, Settings(proofs="1"))
    return frozenset(one.name for tool in full.tools for one in (tool, *tool.parts))


@cache
def arguments_of(name: str) -> frozenset[str]:
    """Return every argument of the tools of a dialect."""
    tools = surface(name, Settings(proofs="1")).tools
    return frozenset(key for tool in tools for key in tool.parameters.schema["properties"])


def table_of(name: str) -> Mapping[Act, str]:
    """Return the acts of a dialect as its agents are told them."""
    envelope = import_module(f"counterpoint.dialects.{name}.envelope")
    return phrases_of(envelope.PHRASES, tools_of(name))


def is_command(words: str) -> bool:
    """Return whether there is such a command, with the arguments and options that are named."""
    program, *rest = words.split()
    if program != "counterpoint":
        return False
    found: click.Command = cli
    context = click.Context(cli)
    while isinstance(found, click.Group) and rest:
        inner = found.get_command(context, rest[0])
        if inner is None:
            return False
        found, rest = inner, rest[1:]
    flags = {flag for parameter in found.params for flag in parameter.opts}
    required = [one for one in found.params if isinstance(one, click.Argument) and one.required]
    given = [word for word in rest if not word.startswith("-")]
    return all(word in flags for word in rest if word.startswith("--")) and (
        len(given) >= len(required) or not given
    )


def strangers(text: str, tools: frozenset[str], more: frozenset[str] = frozenset()) -> list[str]:
    """Return what a text quotes that is neither a tool, an argument nor a command."""
    return [
        quoted
        for quoted in QUOTED.findall(text)
        if ACTION.sub(r"\1 \2", quoted) not in tools | more
        and not is_command(quoted)
        and quoted.split()[0] not in OTHER_PROGRAMS
    ]


def texts(part: ast.expr) -> Iterator[str]:
    """Answer the fixed texts of an expression."""
    for node in ast.walk(part):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def hints(path: Path) -> Iterator[tuple[int, str]]:
    """Answer the hints that a file raises errors with, with their lines."""
    tree = ast.parse(path.read_text("utf-8"))
    named = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    found = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword) and node.arg == "hint"
    ]
    found += [value for name, value in named.items() if name == "default_hint"]
    for part in found:
        known = named.get(part.id, part) if isinstance(part, ast.Name) else part
        yield from ((part.lineno, text) for text in texts(known))


def files_below(place: str) -> list[Path]:
    """Return the files of a floor."""
    found = SOURCE / place
    return [found] if found.is_file() else sorted(found.rglob("*.py"))


@pytest.mark.parametrize("place", FLOORS)
def test_no_hint_below_the_dialects_names_a_tool(place: str) -> None:
    """It names acts, commands of this program, other programs, and facts and arguments of its own."""
    tools = frozenset[str]().union(*map(tools_of, names()))
    wrong = [
        f"{path.relative_to(SOURCE)}:{line} {quoted}"
        for path in files_below(place)
        for line, text in hints(path)
        for quoted in QUOTED.findall(text)
        if quoted in tools or (quoted.startswith("counterpoint ") and not is_command(quoted))
    ]
    assert wrong == []


@pytest.mark.parametrize("name", names())
def test_a_hint_of_a_dialect_names_what_it_has(name: str) -> None:
    """Its tools, its arguments, and what people run."""
    wrong = [
        f"{path.relative_to(SOURCE)}:{line} {quoted}"
        for path in files_below(f"dialects/{name}")
        for line, text in hints(path)
        for quoted in strangers(text, tools_of(name), arguments_of(name))
    ]
    assert wrong == []


@pytest.mark.parametrize("act", Act, ids=lambda act: act.name)
@pytest.mark.parametrize("name", names())
def test_an_act_is_said_in_tools_that_there_are(name: str, act: Act) -> None:
    """What a dialect cannot do itself is a person's command, or plain words."""
    said = say(f"{act}.", table_of(name))
    assert strangers(said, tools_of(name)) == []
    assert "{" not in said


@pytest.mark.parametrize("act", Act, ids=lambda act: act.name)
def test_an_act_is_said_in_commands_that_there_are(act: Act) -> None:
    """A person at the command line is told commands, and no tool."""
    for table in (PHRASES, PEOPLE):
        assert strangers(say(f"{act}.", table), frozenset()) == []


@pytest.mark.parametrize("act", [Act.VERIFY, Act.SUBMIT, Act.REVIEW, Act.WAIVE, Act.UNBLOCK])
@pytest.mark.parametrize("name", [*names(), "command line"])
def test_what_keeps_work_from_ending_is_done_by_a_tool_or_a_command(name: str, act: Act) -> None:
    """Nobody is left with plain words only, whatever the dialect has no tool for."""
    table = PHRASES if name == "command line" else table_of(name)
    assert QUOTED.findall(table[act])


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
def test_every_error_names_only_what_a_dialect_has(
    name: str, error: type[CounterpointError]
) -> None:
    """In its whole refusal, as an agent sees it."""
    told = json.dumps(surface(name).refuse(error()), ensure_ascii=False)
    facts = frozenset({"retry_after", "resets_at", "suggested_order", "tools/list"})
    assert strangers(told, tools_of(name), facts) == []
    assert not re.search(r"\{[a-z_]+\}", told)


@pytest.mark.parametrize("type_", AGENT_TYPES)
def test_an_agent_of_a_type_is_told_of_its_own_tools_only(type_: str) -> None:
    """What its type may not call is as if it were not there."""
    narrowed = surface("symphony", Settings(profile=type_))
    mine = frozenset(tool.name for tool in narrowed.tools)
    for act in Act:
        told = json.dumps(narrowed.refuse(errors.Conflict("x", hint=f"{act}.")))
        assert strangers(told, mine) == []


def test_every_act_is_named_by_a_hint() -> None:
    """An act that no error asks for is in nobody's way."""
    source = "".join(
        path.read_text("utf-8")
        for path in SOURCE.rglob("*.py")
        if path.name not in {"acts.py", "envelope.py"}
    )
    assert [act.name for act in Act if source.count(f"Act.{act.name}") == 0] == []


def test_where_only_a_person_goes_on_the_command_is_named() -> None:
    """An agent can tell whoever it works for what to run."""
    for act, phrase in PEOPLE.items():
        assert "person" in phrase, act
        assert any(is_command(quoted) for quoted in QUOTED.findall(phrase)), act
