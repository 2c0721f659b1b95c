"""A plan as Markdown, made from the parts that the tools return."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from counterpoint.kernel.visible import json_text

_MARKS: Final = {"completed": "x", "skipped": "-", "in_progress": "~", "blocked": "!"}
"""What stands between the brackets of a task that is not pending."""


def plan_text(plan: Mapping[str, Any], phases: Sequence[Any]) -> str:
    """Return a page of a plan; without its head for a later page."""
    return "\n".join([*_head(plan), *(line for phase in phases for line in _phase(phase))])


def _head(plan: Mapping[str, Any]) -> Iterator[str]:
    if not plan:
        return
    done = plan["progress"]
    share = f"{done['percentage']} %, {done['completed']} of {done['total']} phases"
    yield f"# {plan['title']}\n"
    yield f"**Status:** {plan['status']} ({share})\n"
    if "description" in plan:
        yield f"{plan['description']}\n"
    if "context" in plan:
        context = plan["context"]
        yield f"## Context\n\n```json\n{context if isinstance(context, str) else json_text(context)}\n```\n"


def _phase(phase: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {phase['order']}. {phase['name']} ({phase['status']})\n"
    for name in ("description", "reason"):
        if name in phase:
            yield f"{phase[name]}\n"
    for task in phase["tasks"]:
        yield f"- [{_MARKS.get(task['status'], ' ')}] {task['name']}"
        for name in ("description", "notes", "reason", "checks"):
            if name in task:
                yield "".join(f"  {line}\n" for line in str(task[name]).splitlines()).rstrip("\n")
    yield ""
