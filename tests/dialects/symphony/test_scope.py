"""The tool scope of the symphony dialect: the matrix, profiles and scope files."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.dialects.symphony.scope import (
    AGENT_TYPES,
    CRITICAL,
    TOOLS,
    effective_tools,
    read_scope,
    tools_of,
)
from counterpoint.kernel.errors import InvalidInput

types = st.sampled_from(AGENT_TYPES)
names = st.lists(st.sampled_from([*TOOLS, "no_such_tool"]), max_size=12)


def test_there_are_27_tools_and_each_type_has_its_share():
    """As many as the matrix ticks; the wizard's tool belongs to no type."""
    counts = {type_: len(tools_of(type_)) for type_ in AGENT_TYPES}
    assert len(TOOLS) == len(set(TOOLS)) == 27
    assert counts == {
        "worker": 19, "researcher": 14, "judge": 15, "scanner": 9, "architect": 14, "planner": 15,
        "intake": 6,
    }  # fmt: skip
    assert tools_of("") == TOOLS
    assert not any("configure_project" in tools_of(type_) for type_ in AGENT_TYPES)


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ("create_pr", {"worker"}), ("approve_phase", {"judge"}), ("record_coverage", {"scanner"}),
        ("vault_update", {"worker", "researcher"}), ("move_issue", {"planner"}),
        ("query_run_events", {"researcher", "judge", "architect"}),
        ("create_issue", {"worker", "scanner", "architect", "intake"}),
        ("complete_phase", {"worker", "researcher", "architect", "planner"}),
        ("update_issue_status", {"worker", "judge", "planner"}),
        ("update_memory", set(AGENT_TYPES)),
    ],
)  # fmt: skip
def test_a_tool_belongs_to_its_types_only(tool, expected):
    """Rows of the matrix by example."""
    assert {type_ for type_ in AGENT_TYPES if tool in tools_of(type_)} == expected


def test_an_unknown_agent_type_is_refused():
    """It names those there are."""
    with pytest.raises(InvalidInput) as refusal:
        tools_of("manager")
    assert "intake" in refusal.value.hint


@given(type_=types, allowed=st.none() | names, denied=st.none() | names)
def test_a_profile_only_ever_narrows_its_type(type_, allowed, denied):
    """What is open was the type's, was allowed and was not denied."""
    kept, _ = effective_tools(type_, allowed, denied)
    assert list(kept) == [
        name
        for name in tools_of(type_)
        if (allowed is None or name in allowed) and name not in (denied or [])
    ]


@given(type_=types)
def test_every_type_can_do_its_work_by_default(type_):
    """No warning without a profile, one for each critical tool that is taken away."""
    assert effective_tools(type_, None, None) == (tools_of(type_), ())
    _, warnings = effective_tools(type_, [], None)
    assert len(warnings) == len(CRITICAL[type_])


def test_oddities_of_a_profile_are_told():
    """Unknown names, tools of other types, critical ones that are missing."""
    kept, warnings = effective_tools("intake", ["approve_pr", "nap", "add_finding"], ["sleep"])
    assert kept == ("add_finding",)
    assert warnings == (
        "allowed_tools: there is no tool 'nap'",
        "disallowed_tools: there is no tool 'sleep'",
        "allowed_tools: approve_pr is not a tool of the type intake and stays closed",
        "create_issue is missing, which every intake needs",
    )
    assert effective_tools("", None, ["create_pr"])[1] == ()


def test_a_scope_file_opens_what_it_names(tmp_path):
    """In the order of the list, once each; an empty array opens nothing."""
    path = tmp_path / "tools.json"
    path.write_text(json.dumps(["add_comment", "get_issue", "get_issue"]), "utf-8")
    assert read_scope(path, "worker") == ("get_issue", "add_comment")
    path.write_text("[]", "utf-8")
    assert read_scope(path, "worker") == ()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'["get_issue"', "cannot be read"), (b"\xff\xfe", "cannot be read"), (b"", "cannot be read"),
        (b'{"get_issue": true}', "no JSON array"), (b'"get_issue"', "no JSON array"),
        (b'["get_issue", 7]', "7 is no text"), (b"[null]", "None is no text"),
        (b'["get_issue", "nap"]', "no tool 'nap'"), (b'["Get_issue"]', "no tool 'Get_issue'"),
        (b'["approve_pr"]', "approve_pr is not a tool of the type worker"),
    ],
)  # fmt: skip
def test_a_scope_file_that_is_malformed_or_wider_opens_nothing(tmp_path, content, words):
    """Whatever is wrong with it, the answer is a refusal, never a default."""
    path = tmp_path / "tools.json"
    path.write_bytes(content)
    with pytest.raises(InvalidInput) as refusal:
        read_scope(path, "worker")
    assert words in refusal.value.message


def test_a_scope_file_that_is_missing_opens_nothing(tmp_path):
    """Neither does a folder in its place; the name of the file is told, not its path."""
    for path in (tmp_path / "tools.json", tmp_path):
        with pytest.raises(InvalidInput) as refusal:
            read_scope(path)
        assert str(tmp_path) not in refusal.value.message


def test_all_faults_of_a_scope_file_come_together(tmp_path):
    path = tmp_path / "tools.json"
    path.write_text('[1, "nap", "approve_pr"]', "utf-8")
    with pytest.raises(InvalidInput) as refusal:
        read_scope(path, "worker")
    assert refusal.value.message.count(";") == 2
