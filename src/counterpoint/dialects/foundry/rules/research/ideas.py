"""Ideas of an ideation: taken in, grouped, scored and chosen.

Rule 1: ids are given here, and what a model says of an id that there is not counts for nothing. Rule 2: a score is from 0 to 1; that of
a group is the mean of its ideas that have one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

from counterpoint.dialects.foundry.rules.research.answers import objects_of, text_of, texts_of
from counterpoint.kernel.canonical import Json, object_of

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
