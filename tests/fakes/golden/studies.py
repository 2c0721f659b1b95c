"""What models are asked for in a golden ledger: deep research with all that becomes of it, and reviews."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from counterpoint.core.model.models import Question
from counterpoint.core.model.web import Page, PageLimits
from counterpoint.core.ports.models import Listen
from counterpoint.dialects.foundry.research.deep import Advancing
from counterpoint.kernel.errors import ProviderRefused
from fakes.deep_world import DEEDS
from fakes.golden.stage import Seat, Stage
from fakes.scripted_models import ScriptedModels, answer_with
from fakes.scripted_searches import ScriptedSearching

SAID: Final = {
    "brief": "What tar is made of.",
    "plan": json.dumps({"queries": ["tar of pine", "tar of coal"]}),
    "findings": json.dumps(
        {
            "findings": [{"statement": "It is pine.", "confidence": "high", "sources": [1]}],
            "gaps": ["which"],
        }
    ),
    "report": "# Tar\n\nIt is pine [1].",
    "judgement": json.dumps({"enough": True, "gaps": [], "queries": []}),
}
REVIEW: Final = json.dumps(
    {
        "critical_blockers": [],
        "major_suggestions": [],
        "minor_suggestions": [],
        "questions": [],
        "praise": [],
        "summary": "It can be built.",
    }
)
TURNS: Final = 100


@dataclass
class ScriptedPages:
    """Implements Fetching in memory: each page says its own address at some length."""

    def check(self, url: str, hosts: Collection[str]) -> str:
        """Let every address be asked."""
        del hosts
        return url

    def fetch(self, url: str, hosts: Collection[str], limits: PageLimits, listen: Listen) -> Page:
        """Answer a page."""
        del hosts, limits
        listen("")
        text = f"What is said at {url} of tar is told here at some length. " * 5
        return Page(url=url, final_url=url, kind="text/plain", title="Tar", text=text, size=300)


def answer_deed(question: Question) -> str:
    """Answer what a model says to an act of deep research."""
    return next(SAID[deed] for words, deed in DEEDS.items() if question.system.startswith(words))


def studies(stage: Stage) -> None:
    """Research until it is known, with one that is cancelled, resumed, left and gone on with; and review a plan."""
    seat = stage.seat("fay", surface="foundry")
    away = ProviderRefused("it is so")
    answer_with(seat.app, ScriptedModels([answer_deed]))
    searching = ScriptedSearching()
    seat.app._outside.__dict__["searching"] = searching
    seat.app._outside.__dict__["fetching"] = ScriptedPages()
    first = _begun(seat, "Which tar?")
    _advance(seat, first, 2)
    _deep(seat, "cancel", first)
    _deep(seat, "resume", first)
    _advance(seat, first, 1)
    seat.app.itself().use(Advancing).release(first)
    searching.said.insert(0, away)
    searching.asked.clear()
    _advance(seat, first, TURNS)
    _deep(seat, "continue", first, query="Which pine?", max_iterations=1)
    _advance(seat, first, TURNS)
    ideas = json.dumps({"ideas": [{"idea": "pitch", "perspective": "x"}]})
    answer_with(seat.app, ScriptedModels([ideas]))
    seat.call("research", action="ideate", topic="Other than tar")
    answer_with(seat.app, ScriptedModels([REVIEW]))
    plan = seat.call("plan", action="create", name="judged")["data"]["plan_path"]
    seat.call("plan", action="review", plan_path=plan)
    stage.clock.pass_by(minutes=1)


def _begun(seat: Seat, query: str) -> str:
    told = seat.call("research", action="deep-research", query=query, max_iterations=1)
    name: str = told["data"]["research_id"]
    return name


def _deep(seat: Seat, action: str, name: str, **more: Any) -> None:
    given = {"deep_research_action": action, "research_id": name, **more}
    seat.call("research", action="deep-research", **given)


def _advance(seat: Seat, name: str, turns: int) -> None:
    for _ in range(turns):
        if not seat.app.itself().use(Advancing).advance(name):
            return
