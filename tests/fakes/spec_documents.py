"""Spec documents in foundry's own format: whole ones, odd ones and any JSON at all."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

NOW = "2026-02-03T04:05:06.000Z"

Document = dict[str, Any]


def node(kind: str, title: str, parent: str | None, **more: Any) -> Document:
    """Return a node as the format has it; more: its other fields."""
    return {
        "type": kind,
        "title": title,
        "status": "pending",
        "parent": parent,
        "children": [],
        "total_tasks": 1 if kind in {"task", "subtask", "verify", "research"} else 0,
        "completed_tasks": 0,
        "metadata": {},
        "dependencies": {"blocks": [], "blocked_by": [], "depends": []},
        **more,
    }


def task(title: str, parent: str, path: str = "src/a.py", **more: Any) -> Document:
    """Return a task in which nothing is missing."""
    metadata = {
        "description": f"Do what {title} says.",
        "acceptance_criteria": ["It works"],
        "task_category": "implementation",
        "file_path": path,
        "complexity": "low",
    }
    return node("task", title, parent, metadata=metadata, **more)


def document(phases: int = 2, tasks: int = 2) -> Document:
    """Return a whole and valid document; each phase ends with a verify node, and waits for the one before."""
    nodes: dict[str, Document] = {"spec-root": node("spec", "Demo", None)}
    for number in range(1, phases + 1):
        phase = f"phase-{number}"
        nodes["spec-root"]["children"].append(phase)
        nodes[phase] = node("phase", f"Phase {number}", "spec-root")
        for place in range(1, tasks + 1):
            name = f"task-{number}-{place}"
            nodes[name] = task(f"Build part {number}.{place}", phase, f"src/{name}.py")
            nodes[phase]["children"].append(name)
        verify = f"verify-{number}-1"
        nodes[verify] = node("verify", "Run tests", phase)
        nodes[verify]["metadata"] = {"verification_type": "run-tests", "command": "pytest"}
        nodes[phase]["children"].append(verify)
        nodes[phase]["total_tasks"] = tasks + 1
        if number > 1:
            link(nodes, f"phase-{number - 1}", phase)
    nodes["spec-root"]["total_tasks"] = phases * (tasks + 1)
    return {
        "spec_id": "demo-2026-01-02-001",
        "title": "Demo",
        "generated": "2026-01-02T00:00:00.000Z",
        "last_updated": "2026-01-02T00:00:00.000Z",
        "status": "pending",
        "progress_percentage": 0,
        "current_phase": "phase-1" if phases else None,
        "metadata": {
            "mission": "Show how a spec lies.",
            "success_criteria": ["All parts are there"],
            "constraints": ["None is left out"],
            "plan_path": ".plans/demo.md",
            "plan_review_path": ".plan-reviews/demo.md",
        },
        "hierarchy": nodes,
        "journal": [],
    }


def link(nodes: dict[str, Document], blocker: str, blocked: str) -> None:
    """Let one node block another, on both sides."""
    nodes[blocker]["dependencies"]["blocks"].append(blocked)
    nodes[blocked]["dependencies"]["blocked_by"].append(blocker)


def put(target: Any, path: str, value: Any) -> None:
    """Set what lies under a path of keys and places, joined by `/`."""
    *way, last = path.split("/")
    for step in way:
        target = target[int(step)] if isinstance(target, list) else target[step]
    target[last] = value


def edited(changes: dict[str, Any], *, without: tuple[str, ...] = ()) -> Document:
    """Return the whole document with values set and paths taken out."""
    made = document()
    for path, value in changes.items():
        put(made, path, value)
    for path in without:
        *way, last = path.split("/")
        holder: Any = made
        for step in way:
            holder = holder[step]
        del holder[last]
    return made


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats()
    | st.sampled_from(["", " ", "spec-root", "phase-1", "task-1-1", "completed", "todo", "2026"])
    | st.text(max_size=5)
)
ANY_JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["hierarchy", "metadata", "title", "risks", "x"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)
STATUSES = st.sampled_from(["pending", "in_progress", "completed", "blocked"])


def paths(value: Any, start: str = "") -> list[str]:
    """Return the paths of all that lies in a document."""
    found: list[str] = []
    for name, inner in value.items():
        found.append(f"{start}{name}")
        if isinstance(inner, dict):
            found += paths(inner, f"{start}{name}/")
    return found


_PATHS = paths(document(2, 1))


@st.composite
def odd_documents(draw: Callable[..., Any]) -> Document:
    """Draw a document of which a few parts are any JSON, or are gone."""
    made = document(2, 1)
    for path in draw(st.lists(st.sampled_from(_PATHS), max_size=5)):
        try:
            put(made, path, copy.deepcopy(draw(ANY_JSON)))
        except (TypeError, KeyError, ValueError):
            continue  # what lies above was replaced already
    return made


@st.composite
def grown(draw: Callable[..., Any]) -> Document:
    """Draw a valid tree of nodes with leaves of any status; nothing that is derived is true."""
    nodes: dict[str, Document] = {"spec-root": node("spec", "Demo", None)}
    for number in range(draw(st.integers(0, 12))):
        parent = draw(st.sampled_from(sorted(nodes)))
        name = f"n-{number}"
        kind = draw(st.sampled_from(["phase", "group", "task", "subtask", "verify", "research"]))
        nodes[name] = node(kind, name, parent, status=draw(STATUSES))
        nodes[parent]["children"].append(name)
    return document() | {"hierarchy": nodes}


_LINKS = st.lists(st.sampled_from(["spec-root", "a", "b", "c", 7]), max_size=4)
_NODES = st.fixed_dictionaries(
    {"status": STATUSES, "type": st.sampled_from(["group", "task"])},
    optional={
        "parent": st.sampled_from([None, "spec-root", "a", "b", "c", "gone"]),
        "children": _LINKS | st.none(),
        "dependencies": st.fixed_dictionaries(
            {}, optional={"blocks": _LINKS | st.just(1), "blocked_by": _LINKS, "depends": _LINKS}
        ),
    },
)
TANGLED = st.fixed_dictionaries(dict.fromkeys(["spec-root", "a", "b", "c"], _NODES)).map(
    lambda nodes: document(0, 0) | {"hierarchy": nodes}
)
"""Documents of a few nodes that link to each other in any way."""
