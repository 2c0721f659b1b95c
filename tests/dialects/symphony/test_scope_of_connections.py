"""What each type of agent is offered, and that nothing else can be called."""

from __future__ import annotations

import json

import pytest

from counterpoint.dialects import registry
from counterpoint.dialects.symphony import scope
from counterpoint.kernel.errors import InvalidInput
from counterpoint.settings import Settings

CALLS = {
    "create_issue": {"title": "x"},
    "get_issue": {},
    "search_learnings": {"query": "x"},
}


def listed(agent):
    """Answer the names that a client is told."""

    async def story(client):
        return [tool.name for tool in (await client.list_tools()).tools]

    return agent.ask(story)


@pytest.mark.parametrize("type_", ["", *scope.AGENT_TYPES])
def test_each_type_is_offered_its_row_of_the_matrix(seat, type_):
    """In the order of the matrix, over the wire."""
    made = registry.types("symphony")[""]
    expected = [name for name in scope.tools_of(type_) if name in made]
    assert listed(seat("ada", type_)) == expected == registry.types("symphony")[type_]


@pytest.mark.parametrize("type_", scope.AGENT_TYPES)
def test_what_is_not_offered_is_refused_when_it_is_called(seat, type_):
    """Each tool of the dialect, with arguments or without, as a result and not as an error."""
    agent = seat("ada", type_)
    for name in registry.types("symphony")[""]:
        if name not in scope.tools_of(type_):
            refusal = agent.is_refused(name, anything=1)
            assert refusal["code"] == "PERMISSION_DENIED"
            assert refusal["details"]["tool"] == name


def test_a_scope_file_narrows_further(workshop, tmp_path):
    """List and call alike; it goes before the type; an empty one opens nothing."""
    path = tmp_path / "tools.json"
    path.write_text('["get_issue", "list_issues"]')
    chosen = Settings(surface="symphony", profile="worker", tool_scope=str(path))
    agent = workshop.agent("ada", profile="worker", surface="symphony", settings=chosen)
    assert listed(agent) == ["get_issue", "list_issues"]
    assert agent.is_refused("create_issue", title="x")["code"] == "PERMISSION_DENIED"
    assert agent.does("list_issues")["issues"] == []
    path.write_text("[]")
    nothing = workshop.agent("bob", profile="worker", surface="symphony", settings=chosen)
    assert listed(nothing) == []
    assert nothing.is_refused("list_issues")["code"] == "PERMISSION_DENIED"


def test_a_scope_file_is_read_by_each_connection(tmp_path):
    path = tmp_path / "tools.json"
    settings = Settings(surface="symphony", tool_scope=str(path))
    for names in (["get_issue"], ["list_issues", "get_issue"]):
        path.write_text(json.dumps(names))
        built = registry.surface("symphony", settings)
        assert {tool.name for tool in built.tools} == set(names)
    path.write_text('["configure_project"]')
    with pytest.raises(InvalidInput, match="opened by no scope file"):
        registry.surface("symphony", settings)


def test_only_a_connection_without_type_and_file_configures_the_project(seat):
    """It is for the client of a person who sets the project up."""
    assert "configure_project" in listed(seat("ada"))
    assert not any("configure_project" in scope.tools_of(one) for one in scope.AGENT_TYPES)


def test_an_unknown_type_opens_nothing():
    """The refusal names the types there are."""
    with pytest.raises(InvalidInput, match="poet"):
        registry.surface("symphony", Settings(surface="symphony", profile="poet"))


def test_other_surfaces_have_no_types():
    """A role there is any word."""
    assert registry.types("native") == {}
    assert registry.surface("native", Settings(profile="poet")).closed == ()
