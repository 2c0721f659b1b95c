"""Resources and prompts of the native surface."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from builders import Agent
from counterpoint.dialects.call import Call
from counterpoint.dialects.native.tools import documents
from fakes.plans import Plan


def read(agent: Any, uri: str) -> Any:
    """Answer the content of a resource."""

    async def story(client: Any) -> Any:
        return (await client.read_resource(uri)).contents[0]

    return agent.ask(story)


def said(agent: Any, name: str, **arguments: str) -> str:
    """Answer the words of a prompt."""

    async def story(client: Any) -> Any:
        return (await client.get_prompt(name, arguments)).messages[0].content.text

    return agent.ask(story)


def test_what_hides_in_a_document_of_json_is_written_by_escapes(ada: Agent) -> None:
    """So that it can be parsed; in a plan, which people read, it is shown."""
    title = "Gate\u202e\x7f"
    made = ada.does("plan", tree={"kind": "task", "title": title})["items"][0]
    shown = read(ada, f"counterpoint://item/{made['id']}").text
    assert json.loads(shown)["title"] == title
    assert "\u202e" not in shown
    assert "Gate\\u{202e}\\u{7f}" in read(ada, f"counterpoint://plan/{made['id']}").text


def test_all_resources_are_listed(ada: Agent) -> None:
    """Fixed ones and templates, each with a description and a type."""

    async def story(client: Any) -> Any:
        fixed = (await client.list_resources()).resources
        return fixed, (await client.list_resource_templates()).resource_templates

    fixed, families = ada.ask(story)
    assert {str(one.uri) for one in fixed} == {
        "counterpoint://brief",
        "counterpoint://memory",
        "counterpoint://ledger",
        "counterpoint://help/plan",
    }
    assert {one.uri_template for one in families} == {
        "counterpoint://item/{id}",
        "counterpoint://phase/{id}",
        "counterpoint://plan/{id}",
        "counterpoint://ledger/{sequence}",
    }
    assert all(one.description.endswith(".") and one.mime_type for one in (*fixed, *families))


def test_the_brief_and_an_item_are_json(ada: Agent, plan: Plan) -> None:
    """The same as the tools answer."""
    assert json.loads(read(ada, "counterpoint://brief").text)["project"] == "demo"
    shown = json.loads(read(ada, f"counterpoint://item/{plan['Parser']}").text)
    assert shown == ada.does("show", id=plan["Parser"])
    phase = json.loads(read(ada, f"counterpoint://phase/{plan['Build']}").text)
    assert len(phase["children"]) == 3


def test_a_plan_is_markdown(ada: Agent, plan: Plan) -> None:
    """The whole tree, in the form that `plan` reads."""
    content = read(ada, f"counterpoint://plan/{plan['Launch']}")
    assert content.mime_type == "text/markdown"
    assert content.text.startswith("# Launch")


def test_the_ledger_can_be_read(ada: Agent, plan: Plan) -> None:
    """The latest first, and one entry by its number."""
    entries = json.loads(read(ada, "counterpoint://ledger").text)["entries"]
    assert entries[0]["action"] == "plan.created"
    entry = json.loads(read(ada, "counterpoint://ledger/0").text)
    assert entry["action"] == "project.opened"


def test_the_help_shows_the_syntax(ada: Agent) -> None:
    """Every attribute is in it."""
    text = read(ada, "counterpoint://help/plan").text
    for word in ("after:", "areas:", "accept:", "verify:", "priority:", "review:", "artifact:"):
        assert word in text


@pytest.mark.parametrize(
    "uri",
    [
        "counterpoint://item/demo-99",
        "counterpoint://plan/demo-99",
        "counterpoint://ledger/99",
        "counterpoint://ledger/x",
        "counterpoint://nothing",
    ],
)
def test_what_is_not_there_is_an_error_of_the_protocol(ada: Agent, uri: str) -> None:
    """With the code for a wrong parameter."""
    with pytest.raises(MCPError) as caught:
        read(ada, uri)
    assert caught.value.error.code == -32602


def test_the_prompts_name_the_tools_to_call(ada: Agent) -> None:
    """Short and concrete."""
    work = said(ada, "start_work", item="demo-4")
    for tool in ("`brief`", "`start`", "`note`", "`verify`", "`finish`", "`handoff`"):
        assert tool in work
    assert "demo-4" in work
    assert "`next`" in said(ada, "start_work")
    assert "`handoff`" in said(ada, "hand_off")
    assert "demo-7" in said(ada, "review", item="demo-7")


def test_a_prompt_refuses_what_it_does_not_take(ada: Agent) -> None:
    """A missing or unknown argument is an error of the protocol."""
    for name, arguments in (("review", {}), ("review", {"itm": "x"}), ("nothing", {})):
        with pytest.raises(MCPError):
            said(ada, name, **arguments)


def test_a_change_is_seen_in_the_item_and_in_all_that_hold_it(ada: Agent, plan: Plan) -> None:
    """A watcher is told what to read again, in order, and where to go on."""
    call = Call(core=ada.core, secret=bytes)
    position, changed = documents.watch(call, None, 0)
    assert changed == []
    assert documents.watch(call, position, 0) == (position, [])
    ada.does("note", kind="comment", text="Ahoy", id=plan["Parser"])
    after, changed = documents.watch(call, position, 0)
    assert after > position
    assert changed[:3] == [
        "counterpoint://ledger",
        f"counterpoint://ledger/{position + 1}",
        "counterpoint://brief",
    ]
    assert {f"counterpoint://{kind}/{plan['Parser']}" for kind in ("item", "plan")} < set(changed)
    assert f"counterpoint://phase/{plan['Build']}" in changed
    assert documents.watch(call, after, 0) == (after, [])
