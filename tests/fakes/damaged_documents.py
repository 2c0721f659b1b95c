"""Spec documents as older releases of foundry left them, and documents damaged by chance."""

from __future__ import annotations

import copy
import random
from typing import Any

from fakes.spec_documents import Document, document, node, paths

LEFT = "import-2025-10-30-0847"
DERIVED = frozenset(
    {"total_tasks", "completed_tasks", "progress_percentage", "last_updated", "current_phase"}
)
"""What a document derives, and nobody misses."""
_WORDS = (
    "",
    "failed",
    "todo",
    "done",
    "missing",
    "gone",
    "spec-root",
    "phase-1",
    "../x",
    "x" * 600,
)
_STATUSES = ("failed", "todo", "done", "missing", "archived", "blocked", "completed", 3, None)
_TARGETS = ("gone", "spec-root", "phase-1", "task-2-2", 7)
_LISTS = ("blocks", "blocked_by", "depends", "related")


def left_behind() -> Document:
    """Return a document with what is found in repositories: words of before, nodes let go, counts that are wrong."""
    made = document()
    nodes = made["hierarchy"]
    made |= {"spec_id": LEFT, "status": "active", "generated": "30 Oct 2025"}
    del made["title"], nodes["phase-2"]["dependencies"]
    made["metadata"] |= {"title": "Import", "status": "active"}
    nodes["spec-root"]["children"] = ["phase-2"]
    nodes["task-1-1"]["status"] = "done"
    nodes["task-1-2"] |= {"status": "failed", "type": "epic"}
    nodes["task-1-2"]["metadata"]["failure_reason"] = "no network"
    nodes["task-2-1"]["status"] = "todo"
    nodes["task-2-1"]["dependencies"]["blocked_by"] = ["task-1-9", "task-1-1"]
    nodes["verify-2-1"]["metadata"]["verification_type"] = "auto"
    nodes["phase-2"] |= {"total_tasks": 40, "completed_tasks": 41}
    nodes["phase-2"]["children"].append("task-2-7")
    nodes["task-9-1"] = node("task", "Let go", "phase-9")
    made["journal"] = [
        entry("session", "Session started", "autonomy"),
        entry("step", "Step pause: success", "autonomy"),
        entry("status_change", "Task completed", "eve", task_id="task-1-9"),
        "a line that somebody wrote by hand",
    ]
    return made


def entry(kind: str, title: str, author: str, **more: Any) -> Document:
    """Return an entry of a journal."""
    return {
        "timestamp": "2025-10-30T12:47:11.369811Z",
        "entry_type": kind,
        "title": title,
        "content": f"{title}.",
        "author": author,
        "metadata": {},
        **more,
    }


def damaged(seed: int) -> tuple[Document, list[str]]:
    """Return a document of which some parts are gone or are other than they were, and words that have to be found again."""
    chance = random.Random(seed)  # noqa: S311 # the same damage each time, and no secret
    made, marks = document(), list[str]()
    made["spec_id"] = f"damaged-2026-01-02-{seed:03}"
    made["journal"] = [entry("note", "One", "eve", task_id="task-1-1"), entry("step", "Two", "eve")]
    for number in range(chance.randint(1, 4)):
        mark = f"mark{seed}x{number}"
        if _hurt(chance, made, mark):
            marks.append(mark)
    return made, marks


def _hurt(chance: random.Random, made: Document, mark: str) -> bool:
    """Damage a document in one place; answer whether the word that was given has to be found again."""
    way = chance.choice(["delete", "swap", "mark", "status", "point", "list", "entry"])
    hierarchy = made.get("hierarchy")
    nodes = (
        [one for one in (hierarchy or {}).values() if isinstance(one, dict)]
        if isinstance(hierarchy, dict)
        else []
    )
    one, *steps = chance.choice(nodes or [{}]), *chance.choice(paths(made)).split("/")
    holder: Any = made
    for step in steps[:-1]:
        holder = holder[step]
    marked = chance.choice([mark, [mark], {"a": mark}])
    match way:
        case "delete":
            del holder[steps[-1]]
        case "swap":
            values = [None, True, 0, -1, 2.5, [], {}, [None], ["gone"], {"blocks": ["gone"]}]
            holder[steps[-1]] = copy.deepcopy(chance.choice([*values, *_WORDS]))
        case "mark" if steps[-1] not in DERIVED:
            holder[steps[-1]] = marked
            return True
        case "status":
            one["status"] = chance.choice(_STATUSES)
        case "point" if isinstance(one.get("dependencies"), dict):
            one["dependencies"][chance.choice(_LISTS)] = [chance.choice([*_TARGETS, mark])]
        case "list" if isinstance(one.get("children"), list):
            one["children"].append(chance.choice([*(hierarchy or ()), "gone"]))
        case "entry" if isinstance(made.get("journal"), list) and isinstance(
            made["journal"][0], dict
        ):
            name = chance.choice(["timestamp", "entry_type", "title", "author", "task_id", "odd"])
            made["journal"][0][name] = marked
            return True
        case _:
            pass
    return False
