"""A spec that the tests of foundry begin with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from builders import Agent, Workshop
from counterpoint.core.model.drafts import Draft
from fakes.reviews import Servers
from fakes.scripted_models import MODEL, ModelServer, Script

SPEC = "export-2026-01-02-001"


def drafted(spec: str, phases: int, tasks: int) -> Draft:
    """Return a spec of phases that come one after the other, with as many tasks each."""
    return Draft(
        kind="spec",
        title="Export",
        lifecycle="declared",
        aliases=(("spec", spec),),
        attributes={"mission": "Let people take their data with them"},
        children=tuple(
            Draft(
                kind="phase",
                title=f"Phase {phase}",
                name=f"phase-{phase}",
                aliases=(("node", f"{spec}/phase-{phase}"),),
                children=tuple(_task(spec, phase, task) for task in range(1, tasks + 1)),
            )
            for phase in range(1, phases + 1)
        ),
    )


def _task(spec: str, phase: int, task: int) -> Draft:
    name = f"task-{phase}-{task}"
    return Draft(
        kind="task",
        title=f"Write part {task} of {phase}",
        name=name,
        body=f"Part {task}",
        acceptance=(f"part {task} is there",),
        areas=(f"src/{name}.py",),
        aliases=(("node", f"{spec}/{name}"),),
        attributes={"task_category": "implementation"},
    )


@pytest.fixture
def made(ada: Agent) -> Callable[..., str]:
    """Answer what makes a spec of some phases and tasks, and answers the id of its root."""

    def make(phases: int = 2, tasks: int = 2, spec: str = SPEC) -> str:
        return ada.core.plans.create(drafted(spec, phases, tasks)).root.id

    return make


@pytest.fixture
def root(made: Callable[..., str]) -> str:
    """Answer the id of the root of a spec of two phases with two tasks each."""
    return made()


@pytest.fixture
def foundry(workshop: Workshop) -> Agent:
    """Answer an agent that speaks foundry."""
    return workshop.agent("fay", surface="foundry")


@pytest.fixture
def servers(workshop: Workshop) -> Iterator[Servers]:
    """Answer what makes reviewers `one`, `two` and so on, who are asked in this order; each says what its script has."""
    with ExitStack() as stack:

        def make(*scripts: tuple[Script, ...]) -> dict[str, ModelServer]:
            names = ("one", "two", "three", "four")
            found = {
                name: stack.enter_context(ModelServer(*script))
                for name, script in zip(names, scripts, strict=False)
            }
            path = workshop.root / "counterpoint.toml"
            before = path.read_text() if path.exists() else ""
            order = ", ".join(f'"{name}"' for name in found)
            tables = [
                f'[models.providers.{name}]\nkind = "chat"\naddress = "{one.address}"\nmodel = "{MODEL}"\n'
                for name, one in found.items()
            ]
            path.write_text(f"{before}\n[models]\norder = [{order}]\n" + "".join(tables))
            return found

        yield make
