"""Providers of models as foundry tells and asks them, over a server on this machine that speaks their format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from builders import Agent, Workshop
from counterpoint.core.model.models import ModelUse
from counterpoint.core.operations.models.spending import ProviderBreakers
from counterpoint.core.ports.circuits import MOST_FAULTS, Breaker
from counterpoint.dialects.foundry.research.asking import Overrides
from fakes.scripted_models import MODEL, Failing, ModelServer, Mute


@pytest.fixture
def ada(workshop: Workshop) -> Agent:
    """Answer an agent that speaks foundry."""
    return workshop.agent("ada", surface="foundry")


@pytest.fixture
def models(request: pytest.FixtureRequest, workshop: Workshop) -> Iterator[ModelServer]:
    """Answer a server that the project asks; it says what the test's parameter has."""
    with ModelServer(*getattr(request, "param", ("forty-two",))) as server:
        server.configure(workshop.root)
        yield server


def ask(agent: Agent, action: str, **more: Any) -> dict[str, Any]:
    """Answer what the tool answers."""
    return agent.call("provider", {"action": action, **more}).answer


def refused(agent: Agent, action: str, **more: Any) -> str:
    """Answer the code of a refusal."""
    reply = agent.call("provider", {"action": action, **more})
    assert reply.is_error
    return reply.answer["data"]["error_code"]


def test_without_a_provider_it_is_said_everywhere(ada: Agent) -> None:
    """Nothing is invented: the list is empty, and names who could be configured only if asked."""
    data = ask(ada, "list")
    assert data["data"] == {"providers": [], "available_count": 0, "total_count": 3}
    assert "include_unavailable" in data["meta"]["warnings"][0]
    every = ask(ada, "list", include_unavailable=True)["data"]["providers"]
    assert [(one["id"], one["available"], one["reason"]) for one in every] == [
        (name, False, "it has no key") for name in ("anthropic", "openai", "google")
    ]
    said = ada.call("server", {"action": "llm-status"}).answer["data"]["llm_status"]
    assert said == {"configured": False, "available": False, "providers": [], "priority": []}
    assert refused(ada, "execute", provider_id="openai", prompt="?") == "UNAVAILABLE"
    assert refused(ada, "execute", provider_id="nobody", prompt="?") == "NOT_FOUND"
    assert refused(ada, "status", provider_id="nobody") == "NOT_FOUND"
    assert refused(ada, "status") == "MISSING_REQUIRED"


def test_a_provider_is_listed_told_and_asked(
    ada: Agent, models: ModelServer, workshop: Workshop
) -> None:
    """In the shapes of foundry; what it took stands in the ledger."""
    (one,) = ask(ada, "list")["data"]["providers"]
    assert one == {
        "id": "local",
        "description": f"chat at {models.address}",
        "priority": 1,
        "tags": ["chat", "free"],
        "available": True,
    }
    told = ask(ada, "status", provider_id="local")["data"]
    assert (told["available"], told["health"]["status"]) == (True, "healthy")
    assert told["metadata"]["supported_models"] == [MODEL]
    answer = ask(ada, "execute", provider_id="local", prompt="what?", temperature=0.2)["data"]
    assert answer == {
        "provider_id": "local",
        "model": MODEL,
        "content": "forty-two",
        "finish_reason": "stop",
        "token_usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }
    assert models.questions[0]["temperature"] == 0.2
    (use,) = uses(workshop)
    assert (use.provider, use.purpose, use.agent, use.input_tokens) == (
        "local",
        "provider",
        "ada",
        10,
    )
    said = ada.call("server", {"action": "llm-status"}).answer["data"]["llm_status"]
    assert said == {
        "configured": True,
        "available": True,
        "providers": ["local"],
        "priority": ["local"],
    }
    looked = ada.call("health", {"action": "check"}).answer["data"]["dependencies"]
    assert looked[-1]["message"] == "Can be asked: local"


def uses(workshop: Workshop) -> list[ModelUse]:
    """Answer what was asked."""
    with workshop.app.store.reading(workshop.app.project) as view:
        return view.select(ModelUse)


@pytest.mark.parametrize("models", [("ab " * 5_000,)], indirect=True)
def test_a_long_answer_comes_in_pages_and_is_paid_for_once(ada: Agent, models: ModelServer) -> None:
    call = {"provider_id": "local", "prompt": "long", "max_tokens": 8_000, "temperature": 1}
    first = ask(ada, "execute", **call)
    text, cursor, pages = first["data"]["content"], first["meta"]["pagination"]["cursor"], 1
    while cursor:
        found = ask(ada, "execute", **call, cursor=cursor)
        text, pages = text + found["data"]["content"], pages + 1
        cursor = found["meta"].get("pagination", {}).get("cursor")
    assert (text, pages, len(models.questions)) == ("ab " * 5_000, 2, 1)
    assert ask(ada, "execute", **call)["data"]["content"]
    assert len(models.questions) == 2
    cut = ask(ada, "execute", **call | {"max_tokens": 100})
    assert "not shown" in cut["meta"]["warnings"][0]


def test_a_page_of_an_answer_that_is_gone_asks_nobody(
    ada: Agent, models: ModelServer, workshop: Workshop
) -> None:
    """It is said, and costs nothing."""
    models.script = ["ab " * 5_000]
    call = {"provider_id": "local", "prompt": "long", "max_tokens": 8_000}
    cursor = ask(ada, "execute", **call)["meta"]["pagination"]["cursor"]
    workshop.clock.pass_by(minutes=60 * 24 * 8)
    assert refused(ada, "execute", **call, cursor=cursor) == "NOT_FOUND"
    path = workshop.root / "counterpoint.toml"
    path.write_text(
        path.read_text().replace("[models.providers.local]", "[models.providers.other]")
    )
    assert refused(ada, "execute", **call, cursor=cursor) == "NOT_FOUND"
    assert len(models.questions) == 1


@pytest.mark.parametrize(
    ("models", "code"),
    [
        ((Failing(401),), "AI_PROVIDER_ERROR"),
        ((Failing(413),), "AI_CONTEXT_TOO_LARGE"),
        ((Failing(429, wait=4_000),), "AI_PROVIDER_ERROR"),
    ],
    indirect=["models"],
)
def test_what_a_provider_refuses_is_told_by_its_code(
    ada: Agent, models: ModelServer, code: str
) -> None:
    """Who asked can tell whether to ask again."""
    reply = ada.call("provider", {"action": "execute", "provider_id": "local", "prompt": "?"})
    data = reply.answer["data"]
    assert (data["error_code"], data["error_type"]) == (code, "ai_provider")
    assert data["details"]["status"] == models.script[0].status  # type: ignore[union-attr] -- the parameter says so
    assert len(models.questions) == 1


@pytest.mark.parametrize(
    ("models", "said"),
    [
        ((Mute("tool_calls"), "fine"), "local answered with no text but with something else"),
        ((Mute("length"), "fine"), "local used up 50 tokens before it wrote anything"),
        ((Mute("stop"), "fine"), "local answered with no text"),
        (("\n \n", "fine"), "local answered with no text"),
    ],
    indirect=["models"],
)
def test_an_answer_without_a_text_is_refused_and_paid_for(
    ada: Agent, models: ModelServer, workshop: Workshop, said: str
) -> None:
    """It stands as failed with what it took, is not asked again by itself, and is no answer to the next call."""
    given = {"provider_id": "local", "prompt": "what?", "max_tokens": 50, "temperature": 0}
    reply = ada.call("provider", {"action": "execute", **given})
    assert reply.is_error
    assert reply.answer["error"].startswith(said)
    assert len(models.questions) == 1
    (use,) = uses(workshop)
    assert (use.status, use.fault) == ("failed", "provider_failed")
    assert (use.input_tokens, use.output_tokens) == (10, 5)
    assert ask(ada, "execute", **given)["data"]["content"] == "fine"


def test_a_program_that_fails_again_and_again_is_left_alone(ada: Agent, workshop: Workshop) -> None:
    """The next call is refused at once, with when it may be made again; an answer to that ends it. Whoever names a model that is not there keeps nobody from it."""
    root, now = workshop.root, [0.0]
    program, asked = root / "agent", root / "asked"
    program.write_text(
        f"#!/bin/sh\necho x >> {asked}\nif [ -e {root}/well ]; then echo fine; else exit 3; fi\n"
    )
    program.chmod(0o700)
    (root / "counterpoint.toml").write_text(
        f'[models.providers.agent]\ncommand = ["{program}"]\nmodel = "m"\n'
    )
    circuits = workshop.app.ports.remember(ProviderBreakers).circuits
    circuits["agent"] = Breaker(seconds=lambda: now[0], what="agent")
    for number in range(2 * MOST_FAULTS):
        given = {"model": f"none-{number}"} if number < MOST_FAULTS else {}
        code = refused(ada, "execute", provider_id="agent", prompt="?", **given)
        assert code == "AI_PROVIDER_ERROR"
    (root / "well").touch()
    reply = ada.call("provider", {"action": "execute", "provider_id": "agent", "prompt": "?"})
    assert reply.is_error
    assert "agent failed 5 times" in reply.answer["error"]
    assert reply.answer["data"]["details"]["retry_after"] == 60
    assert len(asked.read_text().split()) == 2 * MOST_FAULTS
    now[0] = 60.0
    assert ask(ada, "execute", provider_id="agent", prompt="?")["data"]["content"].strip() == "fine"
    assert ask(ada, "status", provider_id="agent")["data"]["health"]["status"] == "healthy"


def test_a_configuration_that_cannot_be_read_is_told_and_breaks_nothing_else(
    ada: Agent, models: ModelServer, workshop: Workshop
) -> None:
    """What only tells of models beside other things tells that they are configured, and that none can be asked."""
    path = workshop.root / "counterpoint.toml"
    path.write_text(path.read_text() + "colour = 1\n")
    assert refused(ada, "list") == "VALIDATION_ERROR"
    said = ada.call("server", {"action": "llm-status"}).answer["data"]["llm_status"]
    assert said == {"configured": True, "available": False, "providers": [], "priority": []}
    looked = ada.call("health", {"action": "check"}).answer["data"]["dependencies"][-1]
    assert looked["status"] == "degraded"
    assert "`colour` is not known below [models.providers.local]" in looked["message"]
    assert not models.questions


def test_who_is_configured_and_away_is_told_with_why(ada: Agent, workshop: Workshop) -> None:
    """Where health is asked for."""
    (workshop.root / "counterpoint.toml").write_text(
        '[models.providers.far]\naddress = "https://models.example/v1"\nmodel = "m"\n'
    )
    looked = ada.call("health", {"action": "check"}).answer["data"]["dependencies"][-1]
    assert looked["message"].startswith("No AI provider can be asked: far: ")


@pytest.mark.parametrize(
    ("value", "is_there"), [("0", False), ("False", False), ("1", True), ("", True)]
)
def test_a_variable_turns_a_provider_off_and_never_on(
    workshop: Workshop, models: ModelServer, value: str, is_there: bool
) -> None:
    """As foundry's own does."""
    assert models.address
    app = workshop.app
    app.environ = {**app.environ, "FOUNDRY_LOCAL_AVAILABLE_OVERRIDE": value}
    app.__dict__.pop("_extras", None)
    ada = workshop.agent("ada", surface="foundry")
    assert bool(ask(ada, "list")["data"]["providers"]) is is_there
    assert Overrides(environ={}).of("openai") == ""
    assert replace(Overrides(environ={"FOUNDRY_CURSOR_AGENT_AVAILABLE_OVERRIDE": "no"})).of(
        "cursor-agent"
    )
