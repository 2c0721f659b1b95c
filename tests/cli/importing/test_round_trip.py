"""What one ledger exports, a fresh one imports: all that a plan can say comes back."""

from __future__ import annotations

import itertools
import tempfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from counterpoint.cli.importing.exporting import WRITERS
from counterpoint.cli.importing.readers import own
from counterpoint.core.coordinator import Core
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.foreign import ForeignItem, Source
from counterpoint.core.operations.foreign.exporting import ForeignExports
from counterpoint.core.operations.foreign.importing import ForeignImports
from counterpoint.core.rules import outline
from fakes.studio import Studio

COMMANDS = (("pytest", "-q"), ("sh", "-c", "a 'b' && c"))
FIELDS = (
    "title", "body", "state", "priority", "assignee", "labels", "acceptance", "areas", "is_phase", "checks", "approval",
    "review", "artifact", "profile",
)  # fmt: skip


@st.composite
def drafts(draw: st.DrawFn, kind: Any = "plan", depth: int = 0, name: str = "r") -> Draft:
    """Draw a plan with everything that one can say; nothing open lies below what is done."""
    below = ("phase" if depth == 0 and draw(st.booleans()) else "task") if depth < 3 else ""
    count = draw(st.integers(1 if depth == 0 else 0, 3)) if below else 0
    children = tuple(draw(drafts(below, depth + 1, f"{name}{n}")) for n in range(count))
    waiting = tuple(
        replace(child, needs=(before.name,)) if not child.done and draw(st.booleans()) else child
        for before, child in itertools.pairwise(children)
    )
    children = (*children[:1], *waiting)
    is_done = kind == "task" and draw(st.booleans()) and all(child.done for child in children)
    states = st.sampled_from(["", "", "backlog", "active"])
    is_plain = kind == "task" and not is_done and not children
    status = draw(states) if is_plain else ""
    return Draft(
        kind=kind,
        title=f"{draw(st.sampled_from(['Hull', '帆', 'a `b`', '🚀']))} {name}",
        name=name,
        body=draw(st.sampled_from(["", "Words.", "## Notes\n\n- [ ] no task"])),
        areas=draw(st.sampled_from([(), ("src/a",), ("src/a", "src/b/**")])),
        acceptance=draw(st.sampled_from([(), ("It floats",), ("It floats", "It is dry")])),
        checks=tuple(draw(st.lists(st.sampled_from(COMMANDS), unique=True, max_size=2))),
        labels=draw(st.sampled_from([(), ("a", "b")])),
        priority=draw(st.integers(0, 4)),
        profile=draw(st.sampled_from(["", "reviewer"])),
        approval=kind == "task" and status != "active" and draw(st.booleans()),
        review=draw(st.booleans()),
        artifact=draw(st.booleans()),
        done=is_done,
        status=status,
        children=children,
    )


def exported(core: Core, root: str) -> Any:
    """Answer what a ledger exports below an item."""
    return core.use(ForeignExports).work(root)


def compared(items: tuple[ForeignItem, ...]) -> list[dict[str, Any]]:
    """Answer the items with what has to come back, by their titles in place of ids."""
    titles = {item.id: item.title for item in items}
    rows = [
        {
            **{name: getattr(item, name) for name in FIELDS},
            "parent": titles.get(item.parent, ""),
            "needs": sorted(titles[need] for need in item.needs),
        }
        for item in items
    ]
    return sorted(rows, key=lambda row: row["title"])


@settings(max_examples=40, suppress_health_check=list(HealthCheck), deadline=None)
@given(plan=drafts())
def test_json_comes_back_equal_in_a_fresh_ledger(plan: Draft) -> None:
    """Texts, tree, edges, states, checks, reviews, approvals, profiles, areas, sentences."""
    with (
        closing(Studio()) as first,
        closing(Studio()) as second,
        tempfile.TemporaryDirectory() as folder,
    ):
        here, there = first.core("ada"), second.core("ada")
        work = exported(here, here.plans.create(plan).root.id)
        path = Path(folder) / "work.json"
        path.write_text(WRITERS["json"](work))
        (back,) = own.read(path)
        arrival = there.use(ForeignImports).bring(back, Source(place="work.json"))
        assert arrival.kept == ()
        assert compared(exported(there, arrival.root).items) == compared(work.items)


@settings(max_examples=40, suppress_health_check=list(HealthCheck), deadline=None)
@given(plan=drafts())
def test_markdown_comes_back_as_a_plan(plan: Draft) -> None:
    with closing(Studio()) as first, closing(Studio()) as second:
        here, there = first.core("ada"), second.core("ada")
        work = exported(here, here.plans.create(plan).root.id)
        root = there.plans.create(outline.load(WRITERS["markdown"](work))).root.id
        rows, others = compared(exported(there, root).items), compared(work.items)
        for row in (*rows, *others):
            row["state"] = "done" if row["state"] == "done" else "open"
        assert rows == others
