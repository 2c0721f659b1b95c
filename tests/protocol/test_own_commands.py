"""An argument `command` of an action, beside one that tells several actions apart."""

from __future__ import annotations

from typing import Annotated, Any, cast

from pydantic import Field

from counterpoint.kernel.canonical import Json
from counterpoint.protocol.actions import action, of_actions


class Call:
    """What the actions are called with."""


def test_an_action_without_commands_may_take_one_of_its_own() -> None:
    """Beside one that has several, any text may stand there; the call is judged by its action."""

    def note(call: Call, command: Annotated[str, Field(description="A command line")]) -> Json:
        """Take a command."""
        return {"command": command}

    def begin(call: Call) -> Json:
        """Begin."""
        return {}

    made = of_actions(
        "task",
        "Tasks.",
        (action(reads=True, name="session", command="start")(begin), action(reads=True)(note)),
    )
    shown = cast("dict[str, Any]", made.parameters.schema["properties"])
    assert shown["command"] == {
        "type": "string",
        "description": "What of session; or: A command line",
    }
    chosen = made.chosen({"action": "note", "command": "pytest -q"})
    assert (chosen.tool.name, chosen.arguments) == ("task note", {"command": "pytest -q"})
    del shown["command"]
    made = of_actions("task", "Tasks.", (action(reads=True)(note),))
    shown = cast("dict[str, Any]", made.parameters.schema["properties"])
    assert shown["command"]["description"] == "A command line"
