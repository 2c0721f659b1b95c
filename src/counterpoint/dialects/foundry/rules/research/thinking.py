"""Hypotheses of an investigation, judged by the evidence that is named.

Rule 1: a hypothesis that is known is changed, and keeps its evidence; another one gets the next id. Rule 2: without evidence for it a
hypothesis is a speculation, whatever a model calls it. Rule 3: an investigation has converged at its last step, or once every hypothesis is sure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from counterpoint.dialects.foundry.nouns.research import CONFIDENCES, SURE
from counterpoint.dialects.foundry.rules.research.answers import objects_of, text_of, texts_of
from counterpoint.kernel.canonical import Json

HYPOTHESES: Final = "hypotheses"
_MOST: Final = 20
_PIECES: Final = 10
_STATEMENT: Final = 1_000
_EVIDENCE: Final = 500

Hypothesis = Mapping[str, Json]


def judged(hypotheses: Sequence[Hypothesis], answer: Mapping[str, Json]) -> list[Json]:
    """Return the hypotheses after a step. answer: the object that a model answered."""
    hypotheses_by_id: dict[str, dict[str, Json]] = {
        str(hypothesis["id"]): dict(hypothesis) for hypothesis in hypotheses
    }
    for revised in objects_of(answer.get(HYPOTHESES), _MOST):
        name, statement = (
            text_of(revised.get("id"), 20),
            text_of(revised.get("statement"), _STATEMENT),
        )
        before = hypotheses_by_id.get(name) or _same(hypotheses_by_id, statement)
        if before is None and (not statement or len(hypotheses_by_id) >= _MOST):
            continue
        after = before or {"id": f"h{len(hypotheses_by_id) + 1}"}
        hypotheses_by_id[str(after["id"])] = _judged(after, revised, statement)
    return list(hypotheses_by_id.values())


def is_converged(hypotheses: Sequence[Hypothesis], depth: int, most: int) -> bool:
    """Whether nothing is left to look at."""
    sure = bool(hypotheses) and all(hypothesis["confidence"] in SURE for hypothesis in hypotheses)
    return depth >= most or sure


def _same(
    hypotheses_by_id: Mapping[str, dict[str, Json]], statement: str
) -> dict[str, Json] | None:
    return next(
        (
            hypothesis
            for hypothesis in hypotheses_by_id.values()
            if hypothesis["statement"] == statement
        ),
        None,
    )


def _judged(
    before: Mapping[str, Json], revised: Mapping[str, Json], statement: str
) -> dict[str, Json]:
    supporting = _more(before.get("supporting"), revised.get("supporting"))
    word = text_of(revised.get("confidence"), 20).lower()
    confidence = word if word in CONFIDENCES else str(before.get("confidence", CONFIDENCES[0]))
    return {
        "id": before["id"],
        "statement": statement or before["statement"],
        "confidence": confidence if supporting else CONFIDENCES[0],
        "supporting": supporting,
        "contradicting": _more(before.get("contradicting"), revised.get("contradicting")),
    }


def _more(before: Json, raw: Json) -> list[Json]:
    """Return the newest pieces of evidence, none twice."""
    every = [*texts_of(before, _PIECES, _EVIDENCE), *texts_of(raw, _PIECES, _EVIDENCE)]
    return list(dict.fromkeys(every))[-_PIECES:]
