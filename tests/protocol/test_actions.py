"""Tools of actions: one tool, many functions, each call checked against one of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

import pytest
from mcp import Client
from pydantic import Field

from counterpoint.dialects.registry import restrict_to_reads
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import CounterpointError, InvalidInput, UnknownArgument
from counterpoint.protocol.actions import Action, ActionTool, action, of_actions
from counterpoint.protocol.arguments import check
from counterpoint.protocol.http.access_log import takes_long
from counterpoint.protocol.http.grants import Grant, needs
from counterpoint.protocol.server import create_server
from counterpoint.protocol.surface import Run, Surface
from counterpoint.protocol.tools import Progress, Tool
from counterpoint.relay.answers import Answers

SpecId = Annotated[str, Field(description="Which spec")]
TaskId = Annotated[str, Field(description="Which task")]


@dataclass
class Call:
    """What the actions get, and what `within` was told."""

    within: list[tuple[Tool[Any], Mapping[str, Json], str | None]] = field(
        default_factory=list[tuple[Tool[Any], Mapping[str, Json], "str | None"]]
    )


@action(reads=True)
def next_(call: Call, spec_id: SpecId) -> Json:
    """Next task to work on."""
    return {"next": spec_id}


@action(reads=False, aliases={"under": "parent"}, hidden=["trace"])
def add(
    call: Call,
    spec_id: SpecId,
    parent: Annotated[str, Field(description="Below which node")],
    position: Annotated[int, Field(description="Where", ge=0, le=10)] = 0,
    *,
    trace: bool = False,
) -> Json:
    """Add a task."""
    return {"spec_id": spec_id, "parent": parent, "position": position, "trace": trace}


@action(reads=False, destructive=True, idempotent=False)
def move(
    call: Call,
    spec_id: SpecId,
    task_id: TaskId,
    position: Annotated[int | None, Field(description="The place", ge=1)] = None,
) -> Json:
    """Move a task."""
    return {"task_id": task_id, "position": position}


@action(reads=True)
def list_(
    call: Call,
    spec_id: SpecId,
    status: Annotated[Literal["open", "done"] | None, Field(description="Only these")] = None,
) -> Json:
    """List tasks."""
    return {"status": status}


@action(reads=False, name="session", command="start", legacy=("session_start",))
def session_start(call: Call, spec_id: SpecId, *, force: bool = False) -> Json:
    """Start a session."""
    return {"started": spec_id, "force": force}


@action(reads=True, name="session", command="status", legacy=("session-status", "state"))
def session_status(call: Call, session_id: TaskId) -> Json:
    """Show a session."""
    return {"session": session_id}


@action(reads=False, open_world=True)
def run_all(call: Call, spec_id: SpecId, progress: Progress) -> Json:
    """Run everything."""
    progress(1, 1, "done")
    return {"ran": spec_id}


ACTIONS = (next_, add, move, list_, session_start, session_status, run_all)
NAMES = ["next", "add", "move", "list", "session", "run-all"]


def task() -> ActionTool[Call]:
    """Answer the tool of all actions."""
    return of_actions("task", "Tasks of a spec.", ACTIONS)


def within(
    call: Call, tool: Tool[Call], arguments: Mapping[str, Json], key: str | None, run: Run
) -> Json:
    """Remember what is run."""
    call.within.append((tool, arguments, key))
    return run()


def refuse(refusal: CounterpointError) -> Json:
    """Answer a refusal."""
    return {"error": refusal.code, "message": refusal.message, "facts": dict(refusal.facts)}


def surface(**changes: Any) -> Surface[Call]:
    """Answer a surface of the one tool."""
    parts: dict[str, Any] = {
        "name": "small",
        "version": "1",
        "instructions": "",
        "tools": (task(),),
    }
    return Surface(**{**parts, "refuse": refuse, "within": within, **changes})


def refused(**arguments: Any) -> dict[str, Any]:
    """Answer the refusal of a call."""
    outcome = surface().invoke(Call(), "task", arguments)
    assert outcome.is_error, outcome.text
    return outcome.answer


def answered(**arguments: Any) -> dict[str, Any]:
    """Answer a call."""
    outcome = surface().invoke(Call(), "task", arguments)
    assert not outcome.is_error, outcome.text
    return outcome.answer


def properties(tool: Tool[Any]) -> dict[str, Any]:
    """Answer what a tool lists."""
    return tool.parameters.schema["properties"]


def test_the_schema_is_the_union_of_the_actions() -> None:
    """The actions come first, in their order, then every parameter once, and the key once at the end."""
    schema = task().parameters.schema
    assert list(schema) == ["type", "properties", "additionalProperties", "required"]
    assert schema["required"] == ["action"]
    assert schema["additionalProperties"] is False
    assert list(properties(task())) == [
        *("action", "command", "spec_id", "parent", "position", "task_id", "status"),
        *("force", "session_id", "idempotency_key"),
    ]
    assert properties(task())["action"]["enum"] == NAMES
    assert properties(task())["command"]["enum"] == ["start", "status"]
    assert all(
        part["description"] for part in properties(task()).values() if part != {"type": "boolean"}
    )


def test_what_every_action_requires_is_required() -> None:
    """And what only some require is not."""
    made = of_actions("task", "Tasks.", (add, move))
    assert made.parameters.schema["required"] == ["action", "spec_id"]


def test_a_parameter_of_two_actions_is_shown_at_its_widest() -> None:
    """The loosest bounds of both, the first description, and a default that all of them have."""
    assert properties(task())["position"] == {
        "type": "integer",
        "minimum": 0,
        "description": "Where",
    }


def test_the_words_of_action_say_what_each_does_and_requires() -> None:
    """They stand in the schema, which no client cuts; what goes for most actions is not said with each."""
    assert properties(task())["action"]["description"].splitlines() == [
        "What to do (needs)",
        "next: Next task to work on",
        "add(parent): Add a task",
        "move(task_id): Move a task",
        "list: List tasks",
        "session start: Start a session",
        "session status(session_id): Show a session",
        "run-all: Run everything",
    ]
    assert task().listed()["description"] == "Tasks of a spec."


def test_what_is_plain_is_not_said() -> None:
    """Of an action whose name tells what it does only what it requires stands there, if anything."""
    plain = [replace(one, plain=True) for one in (next_, add, list_)]
    made = of_actions("task", "Tasks.", [*plain, run_all])
    assert properties(made)["action"]["description"].splitlines() == [
        *("What to do (needs)", "add(parent)", "run-all: Run everything")
    ]
    assert properties(made)["action"]["enum"] == ["next", "add", "list", "run-all"]
    alone = of_actions("task", "Tasks.", plain[:1])
    assert properties(alone)["action"]["description"] == "What to do"


def test_the_annotations_are_those_of_the_worst_action() -> None:
    """It reads if all do, and takes away or reaches outside if one does."""
    assert task().annotations == {
        "readOnlyHint": False,
        "destructiveHint": True,
        "idempotentHint": False,
        "openWorldHint": True,
    }
    assert of_actions("task", "Tasks.", (next_, list_)).annotations == {
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    }


def test_a_tool_that_only_reads_lists_no_key() -> None:
    """There is nothing that a second time would repeat."""
    made = of_actions("task", "Tasks.", (next_, list_))
    assert list(properties(made)) == ["action", "spec_id", "status"]
    assert made.parameters.takes_key is False


@pytest.mark.parametrize("spelled", ["run-all", "run_all", "Run-All", "RUN_ALL"])
def test_a_name_is_found_in_any_case_and_with_either_stroke(spelled: str) -> None:
    """Callers write both."""
    assert answered(action=spelled, spec_id="s") == {"ran": "s"}


def test_a_call_runs_the_function_of_its_action() -> None:
    """With its own arguments, other spellings and hidden ones."""
    assert answered(action="next", spec_id="s") == {"next": "s"}
    given = {"spec_id": "s", "under": "phase-1", "trace": True}
    made = {"spec_id": "s", "parent": "phase-1", "position": 0, "trace": True}
    assert answered(action="add", **given) == made


def test_commands_tell_actions_of_one_name_apart() -> None:
    assert answered(action="session", command="start", spec_id="s")["started"] == "s"
    assert answered(action="session", command="STATUS", session_id="t") == {"session": "t"}


def test_an_unknown_action_is_refused_with_those_there_are() -> None:
    """And with the one that is nearest."""
    refusal = refused(action="moev", spec_id="s")
    assert refusal["error"] == "invalid_input"
    assert refusal["message"] == (
        'action: "moev" is not one of: next, add, move, list, session, run-all; did you mean move?'
    )
    (fault,) = refusal["facts"]["faults"]
    assert (fault["allowed"], fault["nearest"]) == (NAMES, "move")
    assert "did you mean" not in refused(action="qqq")["message"]


def test_a_missing_action_is_refused_with_those_there_are() -> None:
    """Whatever else is given."""
    for given in ({}, {"spec_id": "s"}):
        assert refused(**given)["message"] == f"action: is required; one of: {', '.join(NAMES)}"


@pytest.mark.parametrize("given", [3, None, ["next"], {"next": 1}])
def test_an_action_that_is_no_text_is_refused(given: Any) -> None:
    """As any other argument is."""
    assert refused(action=given)["message"].startswith("action: must be text, not ")


def test_a_command_that_is_missing_unknown_or_no_text_is_refused() -> None:
    said = {
        "command: is required; one of: start, status": {},
        'command: "stat" is not one of: start, status; did you mean start?': {"command": "stat"},
        "command: must be text, not 3": {"command": 3},
    }
    for message, given in said.items():
        assert refused(action="session", **given)["message"] == message


def test_an_argument_of_another_action_is_refused_by_name() -> None:
    """With the actions that take it, in one refusal with everything else that is wrong."""
    refusal = refused(action="next", position=1, parent="p", comand="start", command="start")
    assert refusal["error"] == "invalid_input"
    messages = {one["path"]: one["problem"] for one in refusal["facts"]["faults"]}
    assert messages["position"] == "is not taken by next; it is by: add, move"
    assert messages["parent"] == "is not taken by next; it is by: add"
    assert messages["command"] == "is not taken by next; it is by: session"
    assert messages["comand"].startswith("there is no such argument")
    assert messages["spec_id"] == "is required"


def test_an_argument_alone_that_is_not_taken_is_an_unknown_one() -> None:
    """As on every tool; what the action does take is told."""
    chosen = task().chosen({"action": "next", "spec_id": "s", "status": "open"})
    with pytest.raises(UnknownArgument, match="status: is not taken by next") as caught:
        check(chosen.tool.parameters, chosen.arguments, chosen.elsewhere)
    (fault,) = caught.value.facts["faults"]
    assert fault["valid"] == ["spec_id"]


def test_a_key_for_an_action_that_reads_is_refused() -> None:
    assert (
        "idempotency_key: is not taken by next"
        in (refused(action="next", spec_id="s", idempotency_key="k")["message"])
    )
    call = Call()
    given = {"action": "move", "spec_id": "s", "task_id": "t", "idempotency_key": "k"}
    assert not surface().invoke(call, "task", given).is_error
    ((tool, arguments, key),) = call.within
    assert (tool.name, tool.destructive, key) == ("task move", True, "k")
    assert arguments == {"spec_id": "s", "task_id": "t"}


def test_faults_of_types_are_those_of_the_action() -> None:
    """All at once, by the narrow type and not by the wide one that is listed."""
    message = refused(action="move", spec_id=1, task_id="t", position=0)["message"]
    assert "spec_id: must be text" in message
    assert "position: 0 is below the lowest allowed, 1" in message
    assert (
        not surface()
        .invoke(Call(), "task", {"action": "add", "spec_id": "s", "parent": "p", "position": 0})
        .is_error
    )


def test_a_former_name_is_taken_and_told() -> None:
    """It is not listed; `within` hears which name was used, and nothing of a present one."""
    call = Call()
    for name in ("session-start", "Session_Start"):
        assert not surface().invoke(call, "task", {"action": name, "spec_id": "s"}).is_error
    present = {"action": "session", "command": "start", "spec_id": "s"}
    assert not surface().invoke(call, "task", present).is_error
    tools = [tool for tool, _, _ in call.within if isinstance(tool, Action)]
    assert [tool.called for tool in tools] == ["session-start", "session-start", ""]
    assert {tool.name for tool in tools} == {"task session start"}
    assert {tool.spoken for tool in tools} == {"session start"}
    assert "session-start" not in str(task().listed())


def test_a_former_name_takes_no_command() -> None:
    message = refused(action="state", command="status", session_id="t")["message"]
    assert message == "command: is not taken by session status; it is by: session"


def test_a_surface_that_only_reads_lists_reading_actions_alone() -> None:
    """And refuses the others as closed, before anybody asks who calls; former names too."""
    narrow = restrict_to_reads(surface())
    (tool,) = narrow.tools
    assert properties(tool)["action"]["enum"] == ["next", "list", "session"]
    assert properties(tool)["command"]["enum"] == ["status"]
    assert tool.annotations["readOnlyHint"]
    assert not narrow.invoke(Call(), "task", {"action": "next", "spec_id": "s"}).is_error
    for shut in (
        {"action": "move"},
        {"action": "session", "command": "start"},
        {"action": "session_start"},
    ):
        outcome = narrow.invoke(Call(), "task", shut)
        assert outcome.answer["error"] == "forbidden"
        assert "is out of scope for this connection" in outcome.answer["message"]
    unknown = narrow.invoke(Call(), "task", {"action": "moev"}).answer
    assert unknown["facts"]["faults"][0]["allowed"] == ["next", "list", "session"]
    assert restrict_to_reads(narrow).tools == narrow.tools


def test_a_tool_none_of_whose_actions_is_open_is_shut() -> None:
    """It is not listed, and refused."""
    narrow = restrict_to_reads(surface(tools=(of_actions("task", "Tasks.", (add, move)),)))
    assert narrow.tools == ()
    assert narrow.invoke(Call(), "task", {"action": "add"}).answer["error"] == "forbidden"
    assert narrow.invoke(Call(), "task", {"action": "nonsense"}).answer["error"] == "forbidden"


def test_a_tool_all_of_whose_actions_are_open_stays_itself() -> None:
    """Nothing is made anew for it."""
    whole = of_actions("task", "Tasks.", (next_, list_))
    assert restrict_to_reads(surface(tools=(whole,))).tools[0] is whole


def called(**arguments: Any) -> dict[str, Any]:
    """Answer a message that calls the tool."""
    return {"method": "tools/call", "params": {"name": "task", "arguments": arguments}}


def test_over_http_an_action_needs_the_scope_of_what_it_does() -> None:
    """Who names none that there is changes nothing, and is told so by the tool."""
    found = surface()
    assert needs(found, called(action="next")) == ("read",)
    assert needs(found, called(action="MOVE")) == ("read", "write")
    assert needs(found, called(action="session_start")) == ("read", "write")
    for strange in ({}, {"action": "moev"}, {"action": 3}):
        assert needs(found, called(**strange)) == ("read",)
    assert needs(found, {"method": "tools/call", "params": {"name": "task", "arguments": 3}}) == (
        "read",
    )
    assert takes_long(found, called(action="run-all"))
    assert not takes_long(found, called(action="move"))


def test_a_token_that_reads_is_listed_what_reads() -> None:
    """A tool outside of its list is not shown at all."""
    token = Grant(id="tok_1", name="ci", session="", scopes=("read",))
    shown = token.shown(task())
    assert shown is not None
    assert properties(shown)["action"]["enum"] == ["next", "list", "session"]
    assert replace(token, tools=("spec",)).shown(task()) is None
    both = replace(token, scopes=("read", "write"))
    whole = task()
    assert both.shown(whole) is whole


def test_a_relay_knows_which_calls_only_read() -> None:
    """From the listing, which names tools and actions."""
    reads = ["about", *(one.name for one in task().parts if one.reads)]
    relay = Answers({"eras": {}, "answers": {}, "reads": reads})
    for params in (
        {"name": "about"},
        {"name": "task", "arguments": {"action": "Next"}},
        {"name": "task", "arguments": {"action": "session", "command": "status"}},
    ):
        assert relay.only_reads(params), params
    for params in (
        {},
        {"name": 3},
        {"name": "task"},
        {"name": "task", "arguments": 3},
        {"name": "task", "arguments": {"action": "move"}},
        {"name": "task", "arguments": {"action": "session", "command": "start"}},
    ):
        assert not relay.only_reads(params), params


def test_only_a_long_action_is_served_as_a_long_call() -> None:
    """It reports its progress through the session; the others go the short way."""
    heard: list[str] = []

    async def note(done: float, total: float | None, message: str | None) -> None:
        heard.append(f"{done} of {total}: {message}")

    async def ask() -> list[Any]:
        async with Client(create_server(surface(), lambda _caller: Call())) as client:
            long = {"action": "run-all", "spec_id": "s"}
            first = await client.call_tool("task", long, progress_callback=note)
            second = await client.call_tool("task", {"action": "next", "spec_id": "s"})
            return [first.structured_content, second.structured_content]

    assert asyncio.run(ask()) == [{"ran": "s"}, {"next": "s"}]
    assert heard == ["1 of 1: done"]


def test_two_actions_of_one_name_are_refused() -> None:
    """Former names count, too."""
    with pytest.raises(ValueError, match="two actions are named next"):
        of_actions("task", "Tasks.", (next_, next_))
    with pytest.raises(ValueError, match="two actions are named next"):
        of_actions("task", "Tasks.", (next_, replace(list_, legacy=("next",))))
    with pytest.raises(ValueError, match="needs an action"):
        of_actions("task", "Tasks.", ())


def test_an_action_may_not_take_what_says_which_it_is() -> None:
    """Nobody could give it."""

    def wrong(call: Call, command: str) -> Json:
        """Take a command."""
        return {"command": command}

    with pytest.raises(TypeError, match="command says which action it is"):
        action(reads=True, command="start")(wrong)


def test_the_union_is_no_function() -> None:
    """It lists what the actions take, and knows no values."""
    parameters = task().parameters
    assert parameters.progress == "progress"
    assert {"under", "trace", "action"} <= parameters.accepted
    assert "trace" in parameters.whole["properties"]
    assert parameters.aliases == {"under": "parent"}
    assert task().where[0].endswith("test_actions.py")
    assert parameters.function(Call(), action="next") == "next"
    with pytest.raises(InvalidInput):
        task().chosen({})


def test_null_for_an_argument_of_another_action_is_absent() -> None:
    """A model may fill in every argument that is listed."""
    listed = dict.fromkeys(task().parameters.names)
    arguments = {**listed, "action": "next", "spec_id": "s"}
    chosen = task().chosen(arguments)
    assert check(chosen.tool.parameters, chosen.arguments, chosen.elsewhere).values == {
        "spec_id": "s"
    }
