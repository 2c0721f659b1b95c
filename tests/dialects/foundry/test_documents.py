"""Documents: what is read by an address, and what a person picks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcp import Client, MCPError

from builders import Agent
from counterpoint.dialects.foundry.tools.journal import PROMPTS
from counterpoint.dialects.registry import surface

SPEC = "export-2026-01-02-001"


def read(agent: Agent, uri: str) -> dict[str, Any]:
    """Answer the document at an address."""

    async def ask(client: Client) -> str:
        (content,) = (await client.read_resource(uri)).contents
        return str(getattr(content, "text", ""))

    return json.loads(agent.ask(ask))


def test_two_addresses_and_four_families_are_listed() -> None:
    """As many as clients of foundry know."""
    found = surface("foundry").resources
    assert [one.uri for one in found if not one.is_template] == [
        "foundry://specs/",
        "foundry://templates/",
    ]
    assert [one.uri for one in found if one.is_template] == [
        "foundry://specs/{status}/",
        "foundry://specs/{spec_id}/journal",
        "foundry://specs/{status}/{spec_id}",
        "foundry://templates/{template_id}",
    ]


def test_specs_are_read_by_their_addresses(foundry: Agent, root: str) -> None:
    """All of them, those of a folder, one whole, and its journal."""
    assert root
    every = read(foundry, "foundry://specs/")
    assert [one["spec_id"] for one in every["specs"]] == [SPEC]
    assert read(foundry, "foundry://specs/pending/") == every
    assert read(foundry, "foundry://specs/active/")["count"] == 0
    document = read(foundry, f"foundry://specs/pending/{SPEC}")
    assert document["spec_id"] == SPEC
    assert "phase-1" in document["hierarchy"]
    foundry.call(
        "journal", {"action": "add", "spec_id": SPEC, "title": "Why", "content": "So it is"}
    )
    (entry,) = read(foundry, f"foundry://specs/{SPEC}/journal")["entries"]
    assert (entry["title"], entry["content"]) == ("Why", "So it is")


@pytest.mark.parametrize(
    "uri",
    [
        "foundry://specs/nowhere/",
        "foundry://specs/pending/none",
        f"foundry://specs/active/{SPEC}",
        f"foundry://specs/nowhere/{SPEC}",
        "foundry://specs/none/journal",
        "foundry://templates/none",
    ],
)
def test_what_is_not_there_is_refused(foundry: Agent, root: str, uri: str) -> None:
    """In another folder too."""
    assert root
    with pytest.raises(MCPError):
        read(foundry, uri)


def test_templates_are_those_that_a_spec_can_be_made_from(foundry: Agent) -> None:
    """And no others."""
    names = [one["name"] for one in read(foundry, "foundry://templates/")["templates"]]
    assert names == ["empty"]
    assert read(foundry, "foundry://templates/empty")["description"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("start_feature", {"feature_name": "Export", "description": "Take it along"}),
        ("debug_test", {"test_name": "test_it", "error_message": "no"}),
        ("debug_test", {"spec_id": SPEC}),
        ("complete_phase", {"spec_id": SPEC, "phase_id": "phase-1"}),
        ("complete_phase", {"spec_id": SPEC}),
        ("review_spec", {"spec_id": SPEC}),
    ],
)
def test_a_prompt_says_what_was_given(foundry: Agent, name: str, arguments: dict[str, str]) -> None:
    """With the steps to take."""

    async def ask(client: Client) -> str:
        (message,) = (await client.get_prompt(name, arguments)).messages
        return str(getattr(message.content, "text", ""))

    text = foundry.ask(ask)
    assert all(value in text for value in arguments.values())
    assert "\n2. " in text
    # A client sends what nobody filled in as an empty text.
    (given,) = (one for one in PROMPTS if one.name == name)
    filled = {*given.parameters.required, *arguments, "template"}
    arguments |= {one: "" for one in given.parameters.names if one not in filled}
    assert foundry.ask(ask) == text


def test_a_prompt_names_the_phases_of_what_is_begun(foundry: Agent) -> None:
    """Of a feature, of a bug, or one."""
    texts: list[str] = []
    for template in ("basic", "feature", "bugfix"):

        async def ask(client: Client, template: str = template) -> str:
            given = {"feature_name": "Export", "template": template}
            (message,) = (await client.get_prompt("start_feature", given)).messages
            return str(getattr(message.content, "text", ""))

        texts.append(foundry.ask(ask))
    assert "its design, its making" in texts[1]
    assert len(set(texts)) == 3


@pytest.mark.parametrize(
    "text",
    ["a\u00adb", "a\u2028b", "a\u200fb", "a\ufeffb", "a\x7fb", "a\U000e0041b", "a\\u{ad}\u200db"],
)
def test_hidden_characters_leave_a_document_what_it_was(
    foundry: Agent, root: str, text: str
) -> None:
    """They are written by the escapes of JSON, so that nothing has to be shown in their place."""
    assert root
    foundry.call("authoring", {"action": "constraint-add", "spec_id": SPEC, "text": text})
    got = foundry.does("spec", action="get", spec_id=SPEC)["data"]["spec"]
    assert json.loads(got)["metadata"]["constraints"] == [text]
    assert got.isascii()
    assert json.loads(got) == read(foundry, f"foundry://specs/pending/{SPEC}")
