"""Arguments: strict, every fault at once, and nothing crashes."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from counterpoint.kernel.errors import InvalidInput, UnknownArgument
from counterpoint.protocol.arguments import Checked, check

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(), max_size=30)
    | st.just("\ud800")
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["title", "children", "x", "\udfff", "", "item"]) | st.text(max_size=5),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
names = st.sampled_from(
    ["item", "id", "lease_minutes", "kind", "plan", "names", "trace", "idempotency_key", "itm", ""]
) | st.text(max_size=8)


def refused(small: ModuleType, **arguments: Any) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        check(small.start.parameters, arguments)
    return caught.value


def test_valid_arguments_come_back_as_given(small: ModuleType) -> None:
    """Only what was given is passed on: the function has its own defaults."""
    checked = check(small.start.parameters, {"item": "a", "idempotency_key": "k"})
    assert checked == Checked(values={"item": "a"}, given={"item": "a"}, key="k")


def test_an_alias_is_another_spelling(small: ModuleType) -> None:
    """What is told onwards carries the real name."""
    assert check(small.start.parameters, {"id": "a"}).given == {"item": "a"}


def test_a_name_given_twice_is_refused(small: ModuleType) -> None:
    """Nobody has to guess which of the two counts."""
    message = refused(small, id="a", item="b").message
    assert message == "item: is given twice, as id and as item; give it once"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lease_minutes": 2000}, "lease_minutes: 2000 is above the highest allowed, 1440"),
        ({"lease_minutes": 0}, "lease_minutes: 0 is below the lowest allowed, 1"),
        ({"lease_minutes": "1"}, 'lease_minutes: must be a whole number, not "1"'),
        ({"lease_minutes": True}, "lease_minutes: must be a whole number, not true"),
        ({"lease_minutes": 1.5}, "lease_minutes: must be a whole number, not 1.5"),
        ({"item": None}, "item: must be text, not null"),
        ({"lease_minutes": 10**30}, "lease_minutes: is too large a number"),
        ({"lease_minutes": float("nan")}, "lease_minutes: must be a finite number"),
        ({"item": 1}, "item: must be text, not 1"),
        ({"item": "x" * 21}, "item: is 21 characters long; the limit is 20"),
        ({"item": "\ud800"}, "item: is not valid Unicode text"),
        ({"kind": "tsk"}, 'kind: "tsk" is not one of: task, phase; did you mean task?'),
        ({"plan": 3}, "plan: must be an object, not 3"),
        ({"plan": {}}, "plan.title: is required"),
        ({"names": 3}, "names: must be a list or text, not 3"),
        ({"names": ["a", 3]}, "names[1]: must be text, not 3"),
        ({"trace": 1}, "trace: must be true or false, not 1"),
        ({"idempotency_key": ""}, "idempotency_key: must not be empty"),
        (
            {"idempotency_key": "k" * 129},
            "idempotency_key: is 129 characters long; the limit is 128",
        ),
    ],
)
def test_a_fault_is_told_in_short_words(
    small: ModuleType, arguments: dict[str, Any], message: str
) -> None:
    """Each sort of fault names the argument, what is wrong, and what is allowed."""
    assert refused(small, **{"item": "a", **arguments}).message == message


def test_an_unknown_argument_is_refused_with_the_nearest(small: ModuleType) -> None:
    """The message lists what exists, without the hidden ones."""
    error = refused(small, item="a", leese_minutes=3)
    assert isinstance(error, UnknownArgument)
    assert error.message == (
        "leese_minutes: there is no such argument; did you mean lease_minutes?"
        " Valid: item, lease_minutes, kind, plan, names, idempotency_key."
    )
    (fault,) = error.facts["faults"]
    assert fault["nearest"] == "lease_minutes"


def test_an_unknown_key_inside_an_argument_is_refused_too(small: ModuleType) -> None:
    """The names offered are those of that place."""
    error = refused(small, item="a", plan={"title": "t", "children": [{"titel": "x"}]})
    paths = {fault["path"]: fault for fault in error.facts["faults"]}
    assert set(paths) == {"plan.children[0].title", "plan.children[0].titel"}


def test_all_faults_come_back_together(small: ModuleType) -> None:
    """One round is enough to mend a call."""
    error = refused(small, itm="a", lease_minutes=2000, kind="x")
    paths = [fault["path"] for fault in error.facts["faults"]]
    assert sorted(paths) == ["item", "itm", "kind", "lease_minutes"]
    bounds = next(one for one in error.facts["faults"] if one["path"] == "lease_minutes")
    assert (bounds["lowest"], bounds["highest"]) == (1, 1440)


def test_a_long_value_is_not_said_back(small: ModuleType) -> None:
    """A refusal stays short, whatever the caller sent."""
    error = refused(small, kind="secret" * 5000, **{"y" * 5000: 1})
    assert "secretsecret" not in error.message
    assert len(error.message) < 500
    assert len(json.dumps(error.facts["faults"])) < 2000


def test_a_thousand_faults_are_a_short_refusal(small: ModuleType) -> None:
    """A refusal names the first faults and says how many more there are."""
    error = refused(small, item="a", names=list(range(1000)))
    assert error.message.endswith("; and 995 more")
    assert len(error.facts["faults"]) == 50


def test_deep_nesting_is_a_fault_and_no_crash(small: ModuleType) -> None:
    """Depth is limited before anything recursive sees the value."""
    plan: Any = {"title": "t"}
    for _ in range(5000):
        plan = {"title": "t", "children": [plan]}
    assert refused(small, item="a", plan=plan).message == "plan: is nested deeper than 64 levels"


def test_a_shape_may_be_nested_where_the_schema_stops(small: ModuleType) -> None:
    """The validator knows the whole recursion that the schema only hints at."""
    tree = {"title": "a", "children": [{"title": "b", "children": [{"title": "c"}]}]}
    assert check(small.start.parameters, {"item": "a", "plan": tree}).values["plan"] == tree


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        ({"lease_minutes": None, "kind": None, "trace": None, "idempotency_key": None}, {}),
        ({"id": None}, {}),
        ({"plan": None}, {"plan": None}),
        ({"plan": {"title": "t", "children": None}}, {"plan": {"title": "t"}}),
        ({"lease_minutes": 5.0}, {"lease_minutes": 5}),
        ({"plan": '{"title": "t"}'}, {"plan": {"title": "t"}}),
        (
            {"plan": '{"title": "t", "children": "[{\\"title\\": \\"u\\"}]"}'},
            {"plan": {"title": "t", "children": [{"title": "u"}]}},
        ),
        ({"names": '["a"]'}, {"names": '["a"]'}),
        ({"task_progress": "- [ ] write", "wait_for_previous": True}, {}),
    ],
)
def test_what_is_plainly_meant_is_taken(
    small: ModuleType, arguments: dict[str, Any], values: dict[str, Any]
) -> None:
    """A null is absent, packed JSON is unpacked, 5.0 is 5, and what clients add is dropped."""
    before = json.dumps(arguments)
    assert check(small.start.parameters, {"item": "a", **arguments}).values == {
        "item": "a",
        **values,
    }
    assert json.dumps(arguments) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"plan": '{"title": 3}'}, "plan.title: must be text, not 3"),
        ({"plan": '["t"]'}, "plan: must be an object"),
        ({"plan": '{"title": "t"'}, "plan: must be an object"),
        ({"plan": "[" * 500 + "]" * 500}, "plan: must be an object"),
        ({"plan": {"title": None}}, "plan.title: must be text, not null"),
        ({"names": [None]}, "names[0]: must be text, not null"),
        ({"unknown": None}, "unknown: there is no such argument"),
        ({"lease_minutes": 1e30}, "lease_minutes: is too large a number"),
        ({"trace": 1.0}, "trace: must be true or false"),
    ],
)
def test_what_is_not_plain_stays_refused(
    small: ModuleType, arguments: dict[str, Any], message: str
) -> None:
    """Nothing is guessed: what is wrong inside is told where it is."""
    assert refused(small, **{"item": "a", **arguments}).message.startswith(message)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(arguments=st.dictionaries(names, values, max_size=6))
def test_no_arguments_crash_the_check(small: ModuleType, arguments: dict[str, Any]) -> None:
    """Anything is either valid or refused with faults that can be written as JSON."""
    try:
        checked = check(small.start.parameters, arguments)
    except InvalidInput as error:
        told = {"message": error.message, **error.facts}
    else:
        told = {"message": "valid", "faults": [checked.given]}
    assert json.dumps(told, allow_nan=False, ensure_ascii=False).encode()
    assert told["faults"]
