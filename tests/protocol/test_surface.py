"""Surfaces: one net under every call."""

from __future__ import annotations

import json
import logging
from types import ModuleType
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from counterpoint.kernel.errors import Forbidden, Unexpected, UnknownTool


def test_an_answer_is_the_same_in_both_forms(small: ModuleType) -> None:
    """The text is the JSON of the object."""
    outcome = small.build().invoke(small.Call(), "echo", {"text": "é"})
    assert not outcome.is_error
    assert json.loads(outcome.text) == outcome.answer
    assert outcome.answer["text"] == "é"


def test_a_refusal_comes_in_the_envelope_of_the_surface(small: ModuleType) -> None:
    """What a tool refuses is an answer that says it is an error."""
    outcome = small.build().invoke(small.Call(), "refuse")
    assert outcome.is_error
    assert outcome.answer["error"]["code"] == "already_claimed"
    assert outcome.answer["error"]["facts"] == {"holder": "ses_1"}


@pytest.mark.parametrize("how", ["raise", "list", "bytes"])
def test_a_crash_is_logged_and_leaks_nothing(
    small: ModuleType, caplog: pytest.LogCaptureFixture, how: str
) -> None:
    """The caller hears that something went wrong; the log has the traceback."""
    with caplog.at_level(logging.ERROR):
        outcome = small.build().invoke(small.Call(), "crash", {"how": how})
    assert outcome.is_error
    assert small.SECRET not in outcome.text
    assert "Traceback" not in outcome.text
    assert outcome.answer["error"]["code"] == "unexpected"
    assert caplog.records[0].exc_info is not None


def test_an_unknown_tool_leaves_the_surface(small: ModuleType) -> None:
    """It is an error of the protocol; the nearest names are in the message."""
    with pytest.raises(UnknownTool, match="did you mean echo") as caught:
        small.build().invoke(small.Call(), "ecko", {})
    assert caught.value.facts["nearest"][0] == "echo"


def test_the_list_keeps_the_order_of_the_surface(small: ModuleType) -> None:
    """The order is fixed by the author and is the same every time; the size is what goes out."""
    surface = small.build()
    assert [tool["name"] for tool in surface.listed()["tools"]] == [one.name for one in small.TOOLS]
    assert surface.listed_size == len(orjson.dumps(small.build().listed()))


def test_the_list_has_no_word_that_a_model_does_not_need(small: ModuleType) -> None:
    """Generated titles, references and null branches are gone from every schema."""
    text = orjson.dumps(small.build().listed()).decode()
    for word in ('"title":"', "$ref", "$defs", '{"type":"null"}', '"default":null'):
        assert word not in text


def test_two_tools_of_one_name_are_refused(small: ModuleType) -> None:
    """A surface is built right or not at all."""
    with pytest.raises(ValueError, match="echo"):
        small.build(tools=(small.echo, small.echo))


def test_every_valid_call_goes_through_the_hook(small: ModuleType) -> None:
    """The hook sees the real names, the key apart, and may answer in the tool's place."""
    seen: list[Any] = []

    def within(_call: Any, tool: Any, arguments: Any, key: Any, run: Any) -> Any:
        seen.append((tool.name, dict(arguments), key))
        return {"kept": True} if key == "old" else run()

    surface = small.build(within=within)
    call = small.Call()
    assert surface.invoke(call, "start", {"id": "a", "idempotency_key": "old"}).answer == {
        "kept": True
    }
    assert surface.invoke(call, "delete", {"item": "a", "idempotency_key": "x"}).answer == {
        "deleted": "a"
    }
    assert surface.invoke(call, "start", {"id": 3}).is_error
    assert seen == [("start", {"item": "a"}, "old"), ("delete", {"item": "a"}, "x")]


def test_the_outer_hook_sees_calls_that_are_not_valid(small: ModuleType) -> None:
    """A dialect that keeps a record of every call can keep one of this."""
    seen: list[Any] = []

    def around(_call: Any, tool: Any, arguments: Any, run: Any) -> Any:
        seen.append((tool.name, dict(arguments)))
        return run()

    outcome = small.build(around=around).invoke(small.Call(), "start", {"id": 3})
    assert outcome.is_error
    assert seen == [("start", {"id": 3})]


def test_a_caller_who_may_not_come_in_gets_a_refusal(small: ModuleType) -> None:
    """Making out the caller happens under the same net."""

    def nobody() -> Any:
        raise Forbidden("not you")

    outcome = small.build().answer(small.echo, nobody, {"text": "a"})
    assert outcome.answer["error"]["code"] == "forbidden"


def test_a_broken_envelope_is_caught_as_well(
    small: ModuleType, caplog: pytest.LogCaptureFixture
) -> None:
    """If the first refusal cannot be written, the plain one is."""

    def refuse(refusal: Any) -> Any:
        plain = isinstance(refusal, Unexpected)
        return {"code": refusal.code} if plain else {"facts": object()}

    with caplog.at_level(logging.ERROR):
        outcome = small.build(refuse=refuse).invoke(small.Call(), "refuse")
    assert outcome.answer == {"code": "unexpected"}


def test_progress_reaches_the_one_who_asked(small: ModuleType) -> None:
    """The parameter is filled by the surface and is no argument."""
    heard: list[Any] = []
    outcome = small.build().invoke(
        small.Call(), "steps", {"count": 2}, lambda *report: heard.append(report)
    )
    assert outcome.answer == {"steps": 2}
    assert heard == [(1, 2, "step 1"), (2, 2, "step 2")]
    assert "progress" not in small.steps.parameters.schema["properties"]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters() | st.just("\ud83d"), max_size=20))
def test_any_text_is_answered(small: ModuleType, text: str) -> None:
    """Every outcome has text that can be sent, whatever came in."""
    outcome = small.build().invoke(small.Call(), "echo", {"text": text})
    assert json.loads(outcome.text.encode()) == outcome.answer
