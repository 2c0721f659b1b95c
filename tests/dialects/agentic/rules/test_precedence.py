"""The order of tools: how a table is read, what is missing, and what to call for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.dialects.agentic.rules import precedence
from counterpoint.dialects.agentic.rules.precedence import CallHistory, Requirement
from counterpoint.kernel.errors import CyclicDependency, MalformedDocument

TOOLS = ("start", "resume", "log", "plan", "update", "end")
TABLE = """
log:
  - tool_called: start, resume
  - session_state: active
    made_by: resume
update:
  - tool_called: log
  - context_exists: [plan, goal]
    optional: yes
  - entity_exists: item
    argument: id
    made_by: plan
"""


def read(text=TABLE):
    """Answer the table of a text."""
    return precedence.read_table(text, TOOLS)


def seen(*called, state="", context=(), there=()):
    """Answer what is so."""
    return CallHistory(
        called=frozenset(called),
        state=state,
        context=frozenset(context),
        exists=lambda kind, name: (kind, name) in there,
    )


def test_a_table_says_what_each_tool_requires():
    """Words, lists, the tool that helps, and what is only good to have."""
    assert read() == {
        "log": (
            Requirement(kind="tool_called", names=("start", "resume")),
            Requirement(kind="session_state", names=("active",), made_by="resume"),
        ),
        "update": (
            Requirement(kind="tool_called", names=("log",)),
            Requirement(kind="context_exists", names=("plan", "goal"), optional=True),
            Requirement(kind="entity_exists", names=("item",), argument="id", made_by="plan"),
        ),
    }


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "{}"])
def test_an_empty_table_requires_nothing(text):
    assert read(text) == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("just words", "line 1"),
        ("- log", "line 1"),
        ("lgo: []", "no tool 'lgo'"),
        ("log: start", "'log' has no list"),
        ("log:\n  - start", "line 2: a requirement is written"),
        ("log:\n  - tool_called: strat", "line 2: there is no tool 'strat'"),
        (
            "log:\n  - tool_called: start\n    session_state: active",
            "line 2: a requirement has one",
        ),
        ("log:\n  - made_by: start", "line 2: a requirement has one"),
        ("log:\n  - tool_called: ''", "line 2: a requirement has one"),
        ("log:\n  - tool_called: start\n    colour: red", "not colour"),
        ("log:\n  - tool_called: start\n    optional: maybe", "'optional' is 'maybe'"),
        ("log:\n  - session_state: active\n    made_by: wake", "there is no tool 'wake'"),
        ("log:\n  - entity_exists: item", "`argument` stands with entity_exists"),
        ("log:\n  - tool_called: start\n    argument: id", "`argument` stands with entity_exists"),
        ("log:\n  - entity_exists: item\n    argument: [id]", "'argument' is a list"),
    ],
)
def test_a_table_that_is_not_one_is_refused_with_its_lines(text, words):
    """Nothing of it is used."""
    with pytest.raises(MalformedDocument) as refused:
        read(text)
    assert words in refused.value.message


def test_all_faults_of_a_table_come_together():
    """Whoever wrote it mends it once."""
    with pytest.raises(MalformedDocument) as refused:
        read("lgo: []\nlog:\n  - x\n  - tool_called: y\nend: z")
    assert len(refused.value.facts["faults"]) == 4


@pytest.mark.parametrize(
    "text",
    [
        "log:\n  - tool_called: log",
        "log:\n  - tool_called: plan\nplan:\n  - tool_called: end\nend:\n  - tool_called: log",
    ],
)
def test_tools_that_wait_for_each_other_are_refused(text):
    """None of them could ever be called."""
    with pytest.raises(CyclicDependency, match="log"):
        read(text)


@pytest.mark.parametrize(
    "text",
    [
        "log:\n  - tool_called: log\n    optional: yes",
        "log:\n  - tool_called: log, start",
        "log:\n  - session_state: active\n    made_by: log",
        "log:\n  - tool_called: plan\nend:\n  - tool_called: plan\nplan:\n  - tool_called: start",
    ],
)
def test_a_circle_that_has_a_way_out_is_none(text):
    """What is optional, or one of several, or of another kind keeps nobody waiting."""
    assert read(text)["log"]


@pytest.mark.parametrize(
    ("so", "arguments", "missing"),
    [
        (seen(), {}, ["tool_called", "entity_exists"]),
        (seen("log"), {}, ["entity_exists"]),
        (seen("log", there=[("item", "7")]), {"id": "7"}, []),
        (seen("log", there=[("item", "7")]), {"id": "8"}, ["entity_exists"]),
        (seen("log", there=[("item", "7")]), {"id": 7}, ["entity_exists"]),
        (seen("end", there=[("item", "7")]), {"id": "7"}, ["tool_called"]),
    ],
)
def test_what_is_not_so_is_missing(so, arguments, missing):
    """In the order of the table; what is optional is never among it."""
    found = precedence.find_unmet(read()["update"], so, arguments)
    assert [one.kind for one in found] == missing


def test_a_state_and_a_key_are_looked_up():
    """One of several is enough."""
    table = read("end:\n  - session_state: active, paused\n  - context_exists: plan, goal\n")
    kinds = [one.kind for one in precedence.find_unmet(table["end"], seen(state="ended"), {})]
    assert kinds == ["session_state", "context_exists"]
    assert precedence.find_unmet(table["end"], seen(state="paused", context=["goal"]), {}) == []


@pytest.mark.parametrize(
    ("called", "order"),
    [
        ((), ["start", "resume", "log", "plan", "update"]),
        (("start",), ["resume", "log", "plan", "update"]),
        (("start", "resume", "log"), ["plan", "update"]),
    ],
)
def test_the_way_to_a_call_is_suggested(called, order):
    """Each tool after what it requires itself, the one that was wanted at last."""
    table = read()
    missing = precedence.find_unmet(table["update"], seen(*called), {})
    assert precedence.suggested_order("update", missing, table, called) == order


def test_what_nobody_knows_how_to_bring_about_is_not_in_the_order():
    """Then the tool stands alone."""
    table = read("end:\n  - session_state: active\nlog:\n  - tool_called: end\n    made_by: log\n")
    assert precedence.suggested_order("end", table["end"], table, ()) == ["end"]
    assert precedence.suggested_order("log", table["log"], table, ()) == ["log"]


@given(
    st.dictionaries(
        st.sampled_from(TOOLS),
        st.lists(st.tuples(st.sampled_from(TOOLS), st.booleans()), max_size=3),
    ),
    st.sampled_from(TOOLS),
)
def test_whoever_follows_the_suggestion_may_make_the_call(drawn, wanted):
    """Whatever the table is, as long as it has no circle."""
    text = "".join(
        f"{tool}:{''.join(f'{chr(10)}  - tool_called: {one}{chr(10)}    optional: {str(may).lower()}' for one, may in ones) or ' []'}\n"
        for tool, ones in drawn.items()
    )
    try:
        table = read(text)
    except CyclicDependency:
        return
    called: list[str] = []
    missing = precedence.find_unmet(table.get(wanted, ()), seen(), {})
    for tool in precedence.suggested_order(wanted, missing, table, ()):
        assert precedence.find_unmet(table.get(tool, ()), seen(*called), {}) == []
        called.append(tool)
    assert called[-1] == wanted


def test_a_requirement_is_told_without_what_it_does_not_have():
    one, two = read()["update"][0], read()["update"][2]
    assert precedence.describe(one) == {"kind": "tool_called", "names": ["log"]}
    assert precedence.describe(two) == {
        "kind": "entity_exists", "names": ["item"], "argument": "id", "made_by": "plan",
    }  # fmt: skip
