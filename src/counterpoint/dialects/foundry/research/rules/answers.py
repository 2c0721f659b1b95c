"""What models are asked, and how answers about ideas and thoughts are read.

Ideas of an ideation: taken in, grouped, scored and chosen.
Rule 1: ids are given here, and what a model says of an id that there is not counts for nothing. Rule 2: a score is from 0 to 1; that of
a group is the mean of its ideas that have one.

Hypotheses of an investigation, judged by the evidence that is named.
Rule 1: a hypothesis that is known is changed, and keeps its evidence; another one gets the next id. Rule 2: without evidence for it a
hypothesis is a speculation, whatever a model calls it. Rule 3: an investigation has converged at its last step, or once every hypothesis is sure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, cast

from counterpoint.core.rules.models.providers import DATA, quote_text
from counterpoint.dialects.foundry.models.research import CONFIDENCES, SURE
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json, dump_any, object_of
from counterpoint.kernel.errors import InvalidInput

_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)
_EDGES = " \t\r\n.!?\"'`*_"


def object_in(text: str) -> dict[str, Json]:
    """Return the JSON object of an answer, also where words stand around it; empty without one."""
    fenced = _FENCE.search(text)
    start, end = text.find("{"), text.rfind("}")
    for some in (text, fenced.group(1) if fenced else "", text[start : end + 1]):
        try:
            fields = object_of(canonical.load(some)) if some.strip() else {}
        except InvalidInput:
            continue
        if fields:
            return fields
    return {}


def list_of(value: Json) -> list[Json]:
    """Return a list; an empty one for what is none."""
    return cast("list[Json]", value) if isinstance(value, list) else []


def objects_of(value: Json, most: int) -> list[dict[str, Json]]:
    """Return the objects of a list, at most so many; none if it is no list."""
    return [part for part in map(object_of, list_of(value)) if part][:most]


def texts_of(value: Json, most: int, longest: int) -> list[str]:
    """Return the texts of a list that say something, at most so many, each cut."""
    texts = [text.strip() for text in list_of(value) if isinstance(text, str)]
    return [text[:longest] for text in texts if text][:most]


def text_of(value: Json, longest: int) -> str:
    """Return a text without blanks around it, cut; empty for what is none."""
    return value.strip()[:longest] if isinstance(value, str) else ""


def given_by_most(answers: Sequence[str]) -> str | None:
    """Return the answer that more than half gave, apart from case, blanks and marks around it, as it was given first; None without one."""
    if not answers:
        return None
    words = [" ".join(answer.strip(_EDGES).casefold().split()) for answer in answers]
    most_common, count = Counter(words).most_common(1)[0]
    return answers[words.index(most_common)] if 2 * count > len(answers) else None


SYNTHESIS = (
    f"Several models answered the same question. {DATA} Write the one best answer: what they agree on first, then where they"
    " differ and which of them is right, as far as the answers show it. Add nothing that none of them says."
)
MAJORITY = (
    f"Several models answered the same question. {DATA} Say which position more than half of them take, and answer the question with"
    " it alone. If none has more than half, begin with the words `No majority:` and name the positions."
)
THINKING = (
    f"You investigate a topic step by step. {DATA} Look at what is known so far, judge each hypothesis anew, and go one step deeper. "
    'Answer with one JSON object alone: {"analysis": text, "hypotheses": [{"id": its id if it is known already, "statement": text, '
    '"confidence": "speculation"|"low"|"medium"|"high"|"confirmed", "supporting": [text], "contradicting": [text]}], "next": [text]}.'
    " Evidence is what you can name; without any, the confidence is speculation."
)
IDEAS_PROMPT = (
    f'You find ideas. {DATA} Answer with one JSON object alone: {{"ideas": [{{"idea": text, "perspective": text}}]}}, several for each'
    " perspective, none that is known already."
)
CLUSTERS_PROMPT = (
    f'You sort ideas into a few groups by what they have in common. {DATA} Answer with one JSON object alone: {{"clusters": [{{"name": text, '
    '"description": text, "ideas": [ids]}]}; each idea stands in one group.'
)
SCORES = (
    f'You judge ideas by criteria, each from 0 to 1. {DATA} Answer with one JSON object alone: {{"scores": [{{"id": id of the idea, '
    '"scores": {criterion: number}}]}.'
)
ELABORATION = f"You work chosen ideas out into a plan: what to do first, what it takes, what may go wrong. {DATA}"


def answers(question: str, named_texts: Sequence[tuple[str, str]]) -> str:
    """Return a question with what several models answered to it, each with its name."""
    text = "\n\n".join(f"Answer of {name}:\n{quote_text(text)}" for name, text in named_texts)
    return f"The question:\n{quote_text(question)}\n\n{text}"


def with_state(topic: str, state: Mapping[str, Json], more: str = "") -> str:
    """Return a topic with what is known of it so far, and what to look at now."""
    message = (
        f"The topic:\n{quote_text(topic)}\n\nKnown so far:\n{quote_text(dump_any(dict(state)))}"
    )
    return f"{message}\n\nLook at this now:\n{quote_text(more)}" if more else message


IDEAS: Final = "ideas"
CLUSTERS: Final = "clusters"
SELECTED: Final = "selected"
PERSPECTIVES: Final = ("technical", "creative", "practical", "visionary")
CRITERIA: Final = ("novelty", "feasibility", "impact")
MOST: Final = 200
_CLUSTERS: Final = 30
_IDEA: Final = 1_000
_WORD: Final = 100

Part = dict[str, Json]


def ideas_of(state: Mapping[str, Json]) -> list[Part]:
    """Return the ideas that there are."""
    return objects_of(state.get(IDEAS), MOST)


def clusters_of(state: Mapping[str, Json]) -> list[Part]:
    """Return the groups that there are."""
    return objects_of(state.get(CLUSTERS), _CLUSTERS)


def with_ideas(state: Mapping[str, Json], answer: Mapping[str, Json]) -> tuple[Part, list[Part]]:
    """Return a state with the ideas of an answer, and those that are new."""
    ideas = ideas_of(state)
    texts, new = {str(idea["idea"]).casefold() for idea in ideas}, list[Part]()
    for idea in objects_of(answer.get(IDEAS), MOST):
        text = text_of(idea.get("idea"), _IDEA)
        if not text or text.casefold() in texts or len(ideas) + len(new) >= MOST:
            continue
        texts.add(text.casefold())
        perspective = text_of(idea.get("perspective"), _WORD)
        new.append(
            {"id": f"i{len(ideas) + len(new) + 1}", "idea": text, "perspective": perspective}
        )
    return {**state, IDEAS: cast("Json", [*ideas, *new])}, new


def with_clusters(state: Mapping[str, Json], answer: Mapping[str, Json]) -> Part:
    """Return a state with the groups of an answer in place of those before; what was chosen of them is chosen no more."""
    free, clusters = {str(idea["id"]) for idea in ideas_of(state)}, list[Part]()
    for cluster in objects_of(answer.get(CLUSTERS), _CLUSTERS):
        names = [
            name for name in dict.fromkeys(texts_of(cluster.get(IDEAS), MOST, 20)) if name in free
        ]
        if not names:
            continue
        free -= set(names)
        clusters.append(
            {
                "id": f"c{len(clusters) + 1}",
                "name": text_of(cluster.get("name"), _WORD) or f"group {len(clusters) + 1}",
                "description": text_of(cluster.get("description"), _IDEA),
                IDEAS: list[Json](names),
            }
        )
    return {**state, CLUSTERS: list[Json](clusters), SELECTED: []} if clusters else dict(state)


def with_scores(
    state: Mapping[str, Json], answer: Mapping[str, Json], criteria: Sequence[str]
) -> tuple[Part, int]:
    """Return a state with the scores of an answer, and how many ideas have one of it."""
    scores_by_idea = {
        text_of(score.get("id"), 20): _scores(object_of(score.get("scores")), criteria)
        for score in objects_of(answer.get("scores"), MOST)
    }
    ideas = [
        {**idea, "scores": dict[str, Json](scores), "score": _mean(list(scores.values()))}
        if (scores := scores_by_idea.get(str(idea["id"])))
        else idea
        for idea in ideas_of(state)
    ]
    by_id = {
        str(idea["id"]): idea["score"] for idea in ideas if isinstance(idea.get("score"), float)
    }
    clusters = [_scored(cluster, by_id) for cluster in clusters_of(state)]
    after = {**state, IDEAS: list[Json](ideas), CLUSTERS: list[Json](clusters)}
    return after, sum(1 for scores in scores_by_idea.values() if scores)


def _scored(cluster: Part, by_id: Mapping[str, Json]) -> Part:
    scores = [by_id[name] for name in texts_of(cluster[IDEAS], MOST, 20) if name in by_id]
    return {**cluster, "score": _mean(cast("list[float]", scores))} if scores else cluster


def _scores(values: Mapping[str, Json], criteria: Sequence[str]) -> dict[str, float]:
    return {
        name: min(1.0, max(0.0, float(value)))
        for name in criteria
        if isinstance(value := values.get(name), int | float) and not isinstance(value, bool)
    }


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 3)


def lines_of(ideas: Sequence[Part]) -> str:
    """Return ideas as text, one a line."""
    return "\n".join(
        f"{idea['id']}"
        + (f" ({idea['perspective']})" if idea.get("perspective") else "")
        + (f" [{idea['score']}]" if "score" in idea else "")
        + f": {idea['idea']}"
        for idea in ideas
    )


def groups_of(clusters: Sequence[Part]) -> str:
    """Return groups as text, one a line, with the ids of their ideas."""
    return "\n".join(
        f"{cluster['id']} {cluster['name']}"
        + (f" [{cluster['score']}]" if "score" in cluster else "")
        + f": {', '.join(texts_of(cluster[IDEAS], MOST, 20))}. {cluster['description']}".rstrip()
        for cluster in clusters
    )


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
