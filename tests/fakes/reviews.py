"""Answers of models in the forms of reviews."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from fakes.scripted_models import ModelServer

SPEC: Final = "export-2026-01-02-001"
Servers = Callable[..., dict[str, ModelServer]]
"""What has servers answer: `servers(("first", "second"), ("only",))`."""
EMPTY: Final[dict[str, list[Any]]] = {
    "critical_blockers": [],
    "major_suggestions": [],
    "minor_suggestions": [],
    "questions": [],
    "praise": [],
}


def point(title: str, fix: str = "Do it", category: str = "Completeness") -> dict[str, str]:
    """Answer a remark."""
    told = {"category": category, "title": title, "description": f"{title} is wrong"}
    return {**told, "impact": "It fails", "fix": fix}


def remarks(summary: str = "Good", **sections: list[Any]) -> str:
    """Answer what a reviewer says of a plan."""
    return json.dumps({"summary": summary, **EMPTY, **sections})


def beside_plan(verdict: str = "aligned", **more: Any) -> str:
    """Answer what a reviewer says of a spec beside its plan."""
    told: dict[str, Any] = {
        "verdict": verdict,
        "summary": "All is there",
        "coverage": {
            "plan_phases_covered": 2,
            "plan_phases_total": 2,
            "plan_tasks_covered": 4,
            "plan_tasks_total": 4,
            "missing_items": [],
        },
        "fidelity": {"status": "aligned", "issues": []},
        "metadata_alignment": dict.fromkeys(
            ("success_criteria", "constraints", "risks", "open_questions"), "aligned"
        ),
        "undocumented_additions": [],
        "issues": [],
        "recommendations": [],
    }
    return json.dumps({**told, **more})


def fidelity(
    verdict: str = "pass", *deviations: tuple[str, str, str], summary: str = "Kept"
) -> str:
    """Answer what a reviewer says of work; deviations: a node, what differs there and how severe it is."""
    told = [
        {"node": node, "description": words, "severity": severity, "evidence": "src/part1.py:1"}
        for node, words, severity in deviations
    ]
    return json.dumps(
        {"verdict": verdict, "summary": summary, "deviations": told, "recommendations": ["Test it"]}
    )
