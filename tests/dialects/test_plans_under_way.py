"""Of a plan that is being made in slices no reading tool of any dialect shows anything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import builders
from counterpoint.core.coordinator import Core
from counterpoint.core.model.drafts import Draft
from counterpoint.dialects.call import Call
from counterpoint.dialects.registry import names, surface
from counterpoint.kernel.errors import StoreFull
from counterpoint.protocol.tools import Tool
from counterpoint.settings import Settings
from fakes.pausing import PausingStore

HIDDEN = range(4, 254)
FULL = 100
"""The number of an item that has all that may hang on one."""
TOOLS = [
    pytest.param(name, part, id=f"{name}-{part.name}")
    for name in names()
    for tool in surface(name, Settings(proofs="1" if name == "colibri" else "")).tools
    for part in tool.parts
    # Errors are told in the words of the calls that were refused.
    if part.reads and tool.name != "error"
]


def draft() -> Draft:
    """Answer a large plan that says `okapi` wherever something can be said."""
    marks: dict[str, Any] = {
        "body": "okapi",
        "labels": ("okapi",),
        "areas": ("okapi/**",),
        "acceptance": ("okapi",),
        "attributes": {"okapi": "okapi"},
        "profile": "okapi",
        "review": True,
    }
    tasks = [
        Draft(
            kind="task",
            title=f"Okapi {n}",
            aliases=(("slug", f"okapi-{n}"),),
            **marks,
            done=not n % 9,
        )
        for n in range(248)
    ]
    phase = Draft(kind="phase", title="Okapis", children=tuple(tasks), **marks)
    return Draft(kind="plan", title="Okapi", children=(phase,), aliases=(("slug", "zoo"),), **marks)


@pytest.fixture(scope="module")
def zoo(
    pristine_repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[builders.Workshop]:
    """Give a project with a small plan, and a large one whose maker wrote two slices and no more."""
    root = builders.copy_repository(pristine_repository, tmp_path_factory.mktemp("zoo") / "demo")
    workshop = builders.Workshop(root)
    ada = workshop.agent("ada").core
    ada.plans.create(ada.plans.read("# Shown\n## Phase\n- [ ] Task\n"))
    ports = workshop.app.ports

    def fail() -> None:
        store.fault = StoreFull

    store = PausingStore(ports.store, after=2, then=fail)
    with pytest.raises(StoreFull):
        Core(replace(ports, store=store), ada.caller).plans.create(draft())
    yield workshop
    workshop.close()


def asked(tool: Tool[Call]) -> Iterator[dict[str, Any]]:
    """Answer arguments that name what is hidden, with each that a tool can be asked by and with few."""
    schema = tool.parameters.schema["properties"]
    texts = [
        name for name, part in schema.items() if part.get("type") == "string" and "enum" not in part
    ]
    choices = {name: part["enum"][0] for name, part in schema.items() if "enum" in part}
    numbers = {name: 1 for name, part in schema.items() if part.get("type") == "integer"}
    for value in (
        "",
        "demo-4",
        "demo-5",
        f"demo-{FULL}",
        "zoo",
        f"okapi-{FULL - 6}",
        "okapi",
        "ses_x",
    ):
        given = dict.fromkeys(texts, value) | choices | numbers
        yield {name: given[name] for name in tool.parameters.required if name in given}
        for name in texts:
            yield {one: given[one] for one in (*tool.parameters.required, name) if one in given}


@pytest.mark.parametrize(("dialect", "tool"), TOOLS)
def test_nothing_of_a_plan_under_way_is_shown(zoo, dialect, tool):
    """Whatever a tool is asked for, by id, name, label, word or in a list."""
    agent = zoo.agent("bob", surface=dialect)
    call = Call(core=agent.core, secret=lambda: builders.SECRET)
    built = surface(dialect, Settings(proofs="1" if dialect == "colibri" else ""))
    called, which = builders.asked_by(tool)
    for arguments in asked(tool):
        outcome = built.invoke(call, called, which | arguments)
        found = outcome.text.lower()
        for value in {str(one) for one in arguments.values() if "okapi" in str(one)}:
            found = found.replace(value, "")
        assert "okapi" not in found, (arguments, outcome.text)


def test_what_is_hidden_is_there_all_the_same(zoo):
    """The log tells of its slices, every proof holds, and what is made beside it has other numbers."""
    core = zoo.agent("cyd").core
    assert [one.subject for one in core.audit.log(action="plan.drafted")] == ["demo-4"] * 2
    assert core.audit.verify().sound
    assert core.audit.rebuild().differences == ()
    assert core.plans.create(Draft(kind="task", title="Beside")).root.number == HIDDEN.stop
