"""Streams of agents' command lines: lines in, neutral events out."""

from __future__ import annotations

import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.core.rules.runs import (
    FAULT_LIMIT,
    LINE_LIMIT,
    PAYLOAD_LIMIT,
    EventSubtype,
    EventType,
    read,
)

CLAUDE = [
    {
        "type": "system", "subtype": "init", "cwd": "orchard", "session_id": "s1",
        "tools": ["Bash", "Read"], "model": "claude-opus-4-6", "permissionMode": "default",
    },
    {
        "type": "assistant", "parent_tool_use_id": None, "session_id": "s1",
        "message": {
            "id": "msg_1", "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Look first.", "signature": "c2ln"},
                {"type": "text", "text": "I will read the file."},
                {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"path": "a.py"}},
            ],
        },
    },
    {
        "type": "user", "parent_tool_use_id": "toolu_0", "timestamp": "2026-11-20T12:00:01.5+02:00",
        "message": {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "x = 1"}],
        },
    },
    {"type": "user", "message": {"role": "user", "content": "Go on."}},
    {
        "type": "rate_limit_event",
        "rate_limit_info": {"status": "allowed", "resetsAt": 1784283600, "rateLimitType": "five_hour"},
    },
    {
        "type": "result", "subtype": "success", "is_error": False, "duration_ms": 4086,
        "num_turns": 3, "result": "Done.", "total_cost_usd": 0.024,
        "usage": {"input_tokens": 3, "cache_read_input_tokens": 14707, "output_tokens": 6},
    },
]  # fmt: skip
CODEX = [
    {"type": "thread.started", "thread_id": "01999ce5"},
    {"type": "turn.started"},
    {"type": "item.completed", "item": {"id": "item_0", "type": "reasoning", "text": "Plan"}},
    {
        "type": "item.started",
        "item": {"id": "item_1", "type": "command_execution", "command": "ls", "status": "in_progress"},
    },
    {"type": "item.updated", "item": {"id": "item_1", "type": "command_execution"}},
    {
        "type": "item.completed",
        "item": {
            "id": "item_1", "type": "command_execution", "command": "ls", "exit_code": 0,
            "aggregated_output": "a.py\n", "status": "completed",
        },
    },
    {
        "type": "item.completed",
        "item": {"id": "item_2", "type": "file_change", "changes": [{"path": "a.py", "kind": "add"}]},
    },
    {"type": "item.started", "item": {"id": "item_3", "type": "todo_list", "items": []}},
    {"type": "item.completed", "item": {"id": "item_4", "item_type": "assistant_message", "text": "Ok"}},
    {"type": "error", "message": "Reconnecting... 1/5"},
    {"type": "item.completed"},
    {"type": "turn.completed", "usage": {"input_tokens": 24763, "output_tokens": 122}},
]  # fmt: skip


def lines(objects):
    """Answer objects as lines of a stream."""
    return [json.dumps(one) + "\n" for one in objects]


def kinds(stream):
    """Answer line, type and subtype of every event."""
    return [(one.line, one.type, one.subtype) for one in stream.events]


def test_a_stream_of_messages_is_one_event_a_block():
    """Beginning, thinking, words, calls, answers, limits and the end."""
    stream = read(lines(CLAUDE))
    assert kinds(stream) == [
        (1, "system", "init"),
        (2, "assistant", "thinking"),
        (2, "assistant", "text"),
        (2, "assistant", "tool_use"),
        (3, "user", "tool_result"),
        (4, "user", "text"),
        (5, "rate_limit_event", ""),
        (6, "result", ""),
    ]
    assert stream.faults == ()
    call, answer, said = (json.loads(stream.events[place].payload) for place in (3, 4, 5))
    assert call == {**CLAUDE[1]["message"]["content"][2], "message_id": "msg_1"}
    assert answer["parent_tool_use_id"] == "toolu_0"
    assert answer["content"] == "x = 1"
    assert said == {"type": "text", "text": "Go on."}
    assert [one.time for one in stream.events[3:5]] == ["", "2026-11-20T10:00:01.500Z"]
    assert json.loads(stream.events[7].payload) == CLAUDE[5]


def test_a_stream_of_items_is_calls_and_answers():
    stream = read(lines(CODEX))
    assert kinds(stream) == [
        (1, "system", "init"),
        (2, "system", ""),
        (3, "assistant", "thinking"),
        (4, "assistant", "tool_use"),
        (5, "system", ""),
        (6, "user", "tool_result"),
        (7, "assistant", "tool_use"),
        (7, "user", "tool_result"),
        (8, "system", ""),
        (9, "assistant", "text"),
        (10, "system", ""),
        (11, "system", ""),
        (12, "result", ""),
    ]
    assert json.loads(stream.events[5].payload) == CODEX[5]
    failed = read(lines([{"type": "turn.failed", "error": {"message": "no route"}}]))
    assert kinds(failed) == [(1, "result", "")]


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"type": "stream_event", "event": {}}, ("system", "")),
        ({"type": "brand.new", "timestamp": "2026-11-20T10:00:00Z"}, ("system", "")),
        ({"type": "system", "subtype": "hook_response"}, ("system", "")),
        ({"type": "assistant", "message": {"content": [{"type": "image"}]}}, ("assistant", "")),
        ({"type": "assistant", "message": {"content": []}}, ("assistant", "")),
        ({"type": "assistant", "message": {"content": ["odd"]}}, ("assistant", "")),
        ({"type": "assistant", "message": {"content": 7}}, ("assistant", "")),
        ({"type": "assistant", "message": "odd"}, ("assistant", "")),
        ({"type": "user"}, ("user", "")),
        ({"type": "user", "message": {"content": [{"type": "mcp_tool_result"}]}}, ("user", "tool_result")),
        ({"type": "result", "timestamp": 7}, ("result", "")),
    ],
)  # fmt: skip
def test_what_is_not_known_is_kept(told, expected):
    """Unknown types are of the system, with all that they said."""
    [one] = read(lines([told])).events
    assert (one.type, one.subtype) == expected
    assert json.loads(one.payload)["type"]
    assert one.time == ("2026-11-20T10:00:00.000Z" if "brand.new" in one.payload else "")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{broken", "not valid JSON"), ("[1]", "no JSON object"), ('"text"', "no JSON object"),
        ("{}", "no `type`"), ('{"type": 7}', "no `type`"), ('{"a": "\\ud800"}', "not valid JSON"),
        ("NaN", "not valid JSON"), (" " + "x" * LINE_LIMIT, "longer than"),
    ],
)  # fmt: skip
def test_a_line_that_cannot_be_read_is_named_and_the_rest_is_read(line, words):
    """The number counts empty lines too."""
    stream = read(["\n", *lines(CODEX[:1]), line, *lines(CODEX[1:2])])
    assert [one.line for one in stream.events] == [2, 4]
    [fault] = stream.faults
    assert (fault.line, words in fault.problem) == (3, True)


def test_a_line_deeper_than_json_can_be_written_is_kept():
    """What lies deeper than thirty levels is said to be there."""
    [one] = read(['{"type": "odd", "deep": ' + "[" * 400 + "]" * 400 + "}"]).events
    assert "… (deeper)" in one.payload
    assert one.is_cut


def test_a_stream_is_bounded():
    """So many events, so many faults by name; all faults are counted."""
    stream = read(lines(CLAUDE) * 3, limit=10)
    assert len(stream.events) == 10
    assert stream.is_cut
    assert not read(lines(CLAUDE), limit=8).is_cut
    many = read(["?"] * (FAULT_LIMIT + 5))
    assert (len(many.faults), many.fault_count) == (FAULT_LIMIT, FAULT_LIMIT + 5)


objects = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "message", "content", "item", "id", "subtype"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)
known = st.sampled_from(
    ["system", "assistant", "user", "result", "turn.failed", "item.completed", "item.started", "x"]
)


@given(
    told=st.lists(
        st.dictionaries(st.sampled_from(["message", "item", "error", "usage", "subtype"]), objects),
        max_size=4,
    ),
    types=st.lists(known, min_size=4, max_size=4),
)
def test_any_objects_become_known_events(told, types):
    """Whatever they hold: at least one event for each, of a known type, with JSON in it."""
    stream = read(lines({**one, "type": type_} for one, type_ in zip(told, types, strict=False)))
    assert {one.line for one in stream.events} == set(range(1, len(told) + 1))
    for one in stream.events:
        assert one.type in get_args(EventType)
        assert one.subtype in get_args(EventSubtype)
        assert isinstance(json.loads(one.payload), dict)
        assert len(one.payload) <= PAYLOAD_LIMIT


@given(line=st.text())
def test_any_line_is_read_or_named(line):
    stream = read([line])
    assert bool(stream.events) + stream.fault_count == bool(line.strip())
