"""What is taken beside the arguments of a function: seen by what runs it, and by it alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import pytest
from pydantic import Field

from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import CounterpointError
from counterpoint.protocol.actions import ActionTool, action, of_actions
from counterpoint.protocol.surface import Outcome, Run, Surface
from counterpoint.protocol.tools import Tool

Place = Annotated[str, Field(min_length=1, description="Project folder")]


@action(reads=False)
def open_(_call: object, name: Annotated[str, Field(description="Which")]) -> Json:
    """Open a thing."""
    return {"opened": name}


@action(reads=True)
def look(_call: object, place: Annotated[str, Field(description="Where to look")] = "") -> Json:
    """Look around."""
    return {"looked": place}


def thing() -> ActionTool[object]:
    """Answer a tool whose actions take a place beside what they take themselves."""
    return of_actions(
        "thing", "Things.", (open_, look), beside={"place": Place}, aliases={"where": "place"}
    )


def called(**arguments: Json) -> tuple[Outcome, list[Mapping[str, Json]]]:
    """Answer a call and what was seen of it by what runs it."""
    seen: list[Mapping[str, Json]] = []

    def within(
        _call: object, _tool: Tool[Any], given: Mapping[str, Json], _key: str | None, run: Run
    ) -> Json:
        seen.append(given)
        return run()

    def refuse(refusal: CounterpointError) -> Json:
        return {"error": refusal.message}

    made: Surface[object] = Surface(
        name="s", version="1", instructions="", tools=(thing(),), refuse=refuse, within=within
    )
    return made.invoke(object(), "thing", arguments), seen


@pytest.mark.parametrize("name", ["place", "where"])
def test_it_reaches_what_runs_the_function_and_not_the_function(name: str) -> None:
    """Under its own name, however it was spelled."""
    outcome, seen = called(action="open", name="a", **{name: "b"})
    assert outcome.answer == {"opened": "a"}
    assert seen == [{"name": "a", "place": "b"}]


def test_a_function_with_an_argument_of_the_name_keeps_it() -> None:
    """And takes no other spelling of what it does not take beside."""
    outcome, seen = called(action="look", place="b")
    assert (outcome.answer, seen) == ({"looked": "b"}, [{"place": "b"}])
    assert called(action="look", where="b")[0].is_error


@pytest.mark.parametrize("wrong", [1, ""])
def test_it_is_checked_as_every_argument(wrong: Json) -> None:
    """Nothing runs with a wrong one."""
    outcome, seen = called(action="open", name="a", place=wrong)
    assert (outcome.is_error, seen) == (True, [])
    assert "place" in outcome.text


def test_it_is_listed_once_behind_what_the_actions_take() -> None:
    """Nobody has to give it."""
    schema = thing().parameters.schema
    assert list(schema["properties"]) == ["action", "name", "place", "idempotency_key"]
    assert schema["required"] == ["action"]
    assert [part.parameters.required for part in thing().parts] == [("name",), ()]
