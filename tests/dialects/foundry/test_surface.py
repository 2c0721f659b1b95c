"""The foundry surface: its list, its envelope, and what every call carries."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import orjson
import pytest

import counterpoint.dialects.foundry as slice_
from builders import Agent, Workshop, asked_by
from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import page, present, refuse
from counterpoint.dialects.foundry.models.environment import TYPES
from counterpoint.dialects.foundry.surface import build, within
from counterpoint.dialects.foundry.words import WORKSPACE
from counterpoint.dialects.registry import surface
from counterpoint.kernel import errors
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import CounterpointError, InvalidInput
from counterpoint.protocol.actions import action, of_actions
from counterpoint.settings import Settings

SOURCE = Path(slice_.__file__).parent


@pytest.fixture
def ada(workshop: Workshop) -> Agent:
    """Answer an agent that speaks foundry."""
    return workshop.agent("ada", surface="foundry")


def test_the_whole_list_is_no_longer_than_the_one_it_replaces() -> None:
    """Keys and annotations included."""
    assert surface("foundry").listed_size <= 29_398


def test_the_list_leaves_room_for_the_tools_that_come() -> None:
    """Deep research has to be described in what is left."""
    assert surface("foundry").listed_size <= 28_700


def test_the_tools_around_specs_take_little_of_the_list() -> None:
    """What every client pays for is for the work itself."""
    around = {"health", "plan", "environment", "error", "server"}
    sizes = [
        len(orjson.dumps(tool.listed())) for tool in surface("foundry").tools if tool.name in around
    ]
    assert len(sizes) == 5
    assert sum(sizes) <= 5_100


def test_every_answer_has_the_envelope(ada: Agent) -> None:
    """Data, no error, the version, an id of its own and how long it took."""
    first = ada.call("health", {"action": "liveness"}).answer
    assert list(first) == ["success", "data", "error", "meta"]
    assert (first["success"], first["error"]) == (True, None)
    meta = first["meta"]
    assert (meta["version"], list(meta)) == ("response-v2", ["version", "request_id", "telemetry"])
    assert re.fullmatch(r"health_[0-9a-f]{12}", meta["request_id"])
    assert 0 <= meta["telemetry"]["duration_ms"] < 60_000
    second = ada.call("health", {"action": "liveness"}).answer
    assert second["meta"]["request_id"] != meta["request_id"]


def test_every_refusal_has_the_envelope(ada: Agent) -> None:
    """Its code, its type and what to do stand in the data; it is an error of the call too."""
    reply = ada.call("health", {"action": "alive"})
    answer = reply.answer
    assert reply.is_error
    assert (answer["success"], list(answer)) == (False, ["success", "data", "error", "meta"])
    assert answer["error"].startswith('action: "alive" is not one of: liveness, readiness, check')
    assert answer["data"]["error_code"] == "VALIDATION_ERROR"
    assert answer["data"]["error_type"] == "validation"
    assert answer["data"]["remediation"]
    details = answer["data"]["details"]
    assert details["faults"][0]["allowed"] == ["liveness", "readiness", "check"]
    assert (details["kind"], details["retryable"]) == ("invalid_input", False)
    assert re.fullmatch(r"health_[0-9a-f]{12}", answer["meta"]["request_id"])
    assert "duration_ms" in answer["meta"]["telemetry"]
    assert {"request_id", "telemetry", "error_code"}.isdisjoint(details)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({}, "MISSING_REQUIRED"),
        ({"action": "nonsense"}, "VALIDATION_ERROR"),
        ({"action": 3}, "VALIDATION_ERROR"),
        ({"action": "liveness", "include_details": True}, "VALIDATION_ERROR"),
        ({"action": "check", "include_details": "yes"}, "INVALID_FORMAT"),
        ({"action": "check", "include_details": "yes", "more": 1}, "INVALID_FORMAT"),
        ({"action": "check", "more": 1}, "VALIDATION_ERROR"),
    ],
)
def test_faults_of_arguments_have_their_codes(
    ada: Agent, arguments: dict[str, Any], code: str
) -> None:
    """What is missing, what has a wrong form, and what there is not."""
    assert ada.call("health", arguments).answer["data"]["error_code"] == code


@pytest.mark.parametrize(
    ("refusal", "code"),
    [
        (errors.NotFound("x"), "NOT_FOUND"),
        (errors.NotFound("x", error_code="SPEC_NOT_FOUND"), "SPEC_NOT_FOUND"),
        (errors.NotFound("x", error_code="NO_SUCH_CODE"), "NOT_FOUND"),
        (errors.InvalidInput("x"), "VALIDATION_ERROR"),
        (errors.InvalidInput("x", faults=["a line"]), "VALIDATION_ERROR"),
        (errors.CyclicDependency(), "CIRCULAR_DEPENDENCY"),
        (errors.IllegalMove(), "CONFLICT"),
        (errors.StaleVersion(), "VERSION_CONFLICT"),
        (errors.GateClosed(), "CONFLICT"),
        (errors.Forbidden(), "FORBIDDEN"),
        (errors.RateLimited(), "RATE_LIMITED"),
        (errors.QuotaExceeded(), "RATE_LIMIT_EXCEEDED"),
        (errors.LedgerBroken(), "INTERNAL_ERROR"),
        (errors.Unavailable(), "UNAVAILABLE"),
        (errors.StoreBusy(), "RESOURCE_BUSY"),
        (errors.Unexpected(), "INTERNAL_ERROR"),
    ],
)
def test_every_kind_of_refusal_has_a_code(refusal: CounterpointError, code: str) -> None:
    data = refuse(refusal)["data"]
    assert (data["error_code"], data["error_type"]) == (code, TYPES[code])


def test_every_code_that_the_slice_gives_is_a_code_of_foundry() -> None:
    """A word that no client knows would be answered as another one."""
    given: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "error_code":
                given |= {
                    part.value
                    for part in ast.walk(node.value)
                    if isinstance(part, ast.Constant) and isinstance(part.value, str)
                }
    assert given <= TYPES.keys()


def test_a_page_says_where_it_goes_on_and_a_long_one_warns() -> None:
    whole = present({"tasks": []}, pagination=page("", 3, 3))["meta"]
    assert whole["pagination"] == {
        "cursor": None,
        "has_more": False,
        "page_size": 3,
        "total_count": 3,
    }
    assert "warnings" not in whole
    more = present({}, pagination=page("next", 3), warnings=["first"], details=[{"code": "X"}])
    assert more["meta"]["pagination"] == {"cursor": "next", "has_more": True, "page_size": 3}
    assert [word.split()[0] for word in more["meta"]["warnings"]] == ["first", "The"]
    assert more["meta"]["warning_details"] == [{"code": "X"}]
    assert present({}, pagination=page("", 76))["meta"]["warnings"]


def test_a_former_name_is_answered_with_the_present_one(
    workshop: Workshop, caplog: pytest.LogCaptureFixture
) -> None:
    """Also where the call is refused; the log of the server has a word of it."""

    @action(reads=True, name="session", command="start", legacy=("session-start",))
    def start(_call: Call, *, fails: bool = False) -> Json:
        """Start a session."""
        if fails:
            raise InvalidInput("not so")
        return present({"started": True})

    made = build(Settings())
    tool = of_actions("task", "Tasks.", (start,), beside=WORKSPACE)
    call = Call(core=workshop.agent("ada").core, secret=lambda: b"x")
    assert made.within is within
    told = []
    for more in ({}, {"fails": True}, {"workspace": "/etc"}):
        given = {"action": "session_start", **more}
        told.append(made.answer(tool, lambda: call, given).answer["meta"]["deprecated"])
    present_name = {"action": "session", "command": "start"}
    plain = made.answer(tool, lambda: call, present_name).answer["meta"]
    assert "deprecated" not in plain
    assert [one["action"] for one in told] == ["session-start"] * 3
    assert [one["replacement"] for one in told] == ["session start"] * 3
    assert all(one["removal_target"] for one in told)
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 3


def test_what_nobody_foresaw_is_an_internal_error_with_an_id(
    workshop: Workshop, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing of its inside is told."""

    @action(reads=True)
    def crash(_call: Call) -> Json:
        """Crash at once."""
        raise ValueError("swordfish")

    made, tool = build(Settings()), of_actions("task", "Tasks.", (crash,))
    call = Call(core=workshop.agent("ada").core, secret=lambda: b"x")
    outcome = made.answer(tool, lambda: call, {"action": "crash"})
    assert outcome.answer["data"]["error_code"] == "INTERNAL_ERROR"
    assert outcome.answer["meta"]["request_id"].startswith("task_")
    assert "swordfish" not in outcome.text
    assert len(caplog.records) == 1


def test_every_action_answers_within_a_page(ada: Agent) -> None:
    """Each that needs nothing but its name, in a project without any spec; there is no run to tell of."""
    for tool in surface("foundry").tools:
        for part in tool.parts:
            if part.reads and not part.parameters.required:
                name, which = asked_by(part)
                reply = ada.call(name, which)
                said = reply.answer["data"].get("error_code", "")
                none = part.name in {"task session status", "task session-events"}
                assert said == ("NO_ACTIVE_SESSION" if none else ""), (part.name, reply.text)
                assert len(orjson.dumps(reply.answer)) <= 10_000, part.name
