"""Several models asked the same, and what is made of their answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from builders import Agent, Workshop
from fakes.scripted_models import MODEL, Failing, ModelServer

NAMES = ("one", "two", "three")


@pytest.fixture
def several(request: pytest.FixtureRequest, workshop: Workshop) -> Iterator[dict[str, ModelServer]]:
    """Answer servers by their names; each says what the test's parameter has for it."""
    with ExitStack() as stack:
        found = {
            name: stack.enter_context(ModelServer(*script))
            for name, script in zip(NAMES, request.param, strict=True)
        }
        tables = [
            f'[models.providers.{name}]\nkind = "chat"\naddress = "{one.address}"\nmodel = "{MODEL}"\n'
            for name, one in found.items()
        ]
        order = ", ".join(f'"{name}"' for name in NAMES)
        path = workshop.root / "counterpoint.toml"
        path.write_text(f"[models]\norder = [{order}]\n" + "".join(tables))
        yield found


def asked(several: dict[str, ModelServer]) -> list[int]:
    """Answer how often each was asked."""
    return [len(several[name].questions) for name in NAMES]


def agree(agent: Agent, **more: Any) -> Any:
    """Answer the data of a question to all three."""
    call = {"action": "consensus", "prompt": "Which?", "providers": list(NAMES), **more}
    return agent.does("research", **call)["data"]


def refused(agent: Agent, **more: Any) -> Any:
    """Answer the data of a question that is refused."""
    call = {"action": "consensus", "prompt": "Which?", "providers": list(NAMES), **more}
    reply = agent.call("research", call)
    assert reply.is_error, reply.text
    return reply.answer["data"]


@pytest.mark.parametrize("several", [(("red",), ("blue",), ("green",))], indirect=True)
def test_all_answers_are_told(ada: Agent, several: dict[str, ModelServer]) -> None:
    """In the order in which they were asked for, and no model is asked once more."""
    found = agree(ada, strategy="all_responses")
    assert found["content"] == "## one\n\nred\n\n## two\n\nblue\n\n## three\n\ngreen"
    assert (found["providers_consulted"], found["response_count"]) == (list(NAMES), 3)
    assert asked(several) == [1, 1, 1]


@pytest.mark.parametrize("several", [(("red", "x"), ("blue",), ("green", "all"))], indirect=True)
def test_one_of_them_makes_one_answer_of_all(ada: Agent, several: dict[str, ModelServer]) -> None:
    """The first that answered, or the one that is named; it is given the answers as data."""
    assert agree(ada)["content"] == "x"
    assert agree(ada, synthesis_provider="three")["content"] == "all"
    told = several["one"].questions[1]["messages"][-1]["content"]
    assert "Answer of two:\n<data>\nblue\n</data>" in told


@pytest.mark.parametrize("several", [(("Red.",), ("blue",), ("red",))], indirect=True)
def test_the_answer_of_most_counts_and_no_model_is_asked_for_it(
    ada: Agent, several: dict[str, ModelServer]
) -> None:
    """Apart from case and marks."""
    assert agree(ada, strategy="majority")["content"] == "Red."
    assert asked(several) == [1, 1, 1]


@pytest.mark.parametrize("several", [((Failing(401),), ("blue",), ("red",))], indirect=True)
def test_the_first_that_answers_is_enough(ada: Agent, several: dict[str, ModelServer]) -> None:
    """Who comes after is not asked."""
    found = agree(ada, strategy="first_valid")
    assert (found["content"], found["providers_consulted"]) == ("blue", ["two"])
    assert asked(several) == [1, 1, 0]


@pytest.mark.parametrize("several", [((Failing(401),), ("blue",), ("blue",))], indirect=True)
def test_who_does_not_answer_is_told_and_too_few_are_refused(
    ada: Agent, several: dict[str, ModelServer]
) -> None:
    found = ada.does(
        "research", action="consensus", prompt="?", providers=list(NAMES), strategy="majority"
    )
    assert found["data"]["response_count"] == 2
    assert "one did not answer" in found["meta"]["warnings"][0]
    for more in ({"require_all": True}, {"min_responses": 3}):
        fault = refused(ada, **more)
        assert fault["error_code"] == "AI_PROVIDER_ERROR"
        study = fault["details"]["consensus_id"]
        kept = ada.does("research", action="thread-get", thread_id=study)["data"]
        assert kept["status"] == "failed"
        assert [one["content"] for one in kept["messages"]] == ["blue", "blue"]
    assert refused(ada, min_responses=4)["error_code"] == "VALIDATION_ERROR"
    assert refused(ada, strategy="loudest")["error_code"] == "INVALID_FORMAT"
    assert several["one"].questions


@pytest.mark.parametrize("several", [(("red",), ("red",), ("red",))], indirect=True)
def test_where_nobody_is_named_two_are_asked(ada: Agent, several: dict[str, ModelServer]) -> None:
    """The first two in their order; a name may say its model."""
    found = ada.does("research", action="consensus", prompt="?", strategy="majority")["data"]
    assert found["providers_consulted"] == ["one", "two"]
    agree(ada, providers=["three:other"])
    assert several["three"].questions[0]["model"] == "other"
    assert refused(ada, providers=["nobody"])["error_code"] == "AI_NO_PROVIDER"
