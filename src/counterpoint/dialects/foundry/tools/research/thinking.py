"""Consensus, investigations and ideations, as the tool of research tells them."""

from __future__ import annotations

from typing import Final

from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import present
from counterpoint.dialects.foundry.nouns.research import Strategy
from counterpoint.dialects.foundry.tools.research import words
from counterpoint.dialects.foundry.tools.research.shown import TITLE, cut
from counterpoint.dialects.foundry.verbs.research.asking import SECONDS
from counterpoint.dialects.foundry.verbs.research.consensus import (
    Consensus,
    ConsensusDraft,
    Consulting,
)
from counterpoint.dialects.foundry.verbs.research.ideating import (
    IdeateDraft,
    Ideating,
    IdeationStep,
)
from counterpoint.dialects.foundry.verbs.research.thinking import Thinking, Thought
from counterpoint.dialects.paging import clip
from counterpoint.dialects.progress import watching
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput
from counterpoint.protocol.actions import action
from counterpoint.protocol.parameters import Progress

DEPTH: Final = 5
_UNREAD: Final = (
    "The answer had no hypotheses in the form that was asked for: they stand as before."
)


@action(
    reads=False,
    idempotent=False,
    open_world=True,
    hidden=(
        *("synthesis_provider", "timeout_per_provider", "max_concurrent"),
        *("require_all", "min_responses", "system_prompt"),
    ),
)
def consensus(
    call: Call,
    progress: Progress,
    prompt: words.Prompt,
    providers: words.Providers = [],  # noqa: B006 -- never changed; the schema shows it
    strategy: words.Strategy = "synthesize",
    synthesis_provider: words.ProviderId = "",
    system_prompt: words.System = "",
    timeout_per_provider: words.Seconds = SECONDS,
    max_concurrent: words.Few = 3,
    min_responses: words.Least = 1,
    *,
    require_all: words.RequireAll = False,
) -> Json:
    """Ask several models."""
    draft = ConsensusDraft(
        prompt=prompt,
        providers=tuple(providers),
        strategy=strategy,
        synthesis=synthesis_provider,
        system=system_prompt,
        seconds=timeout_per_provider,
        most=max_concurrent,
        require_all=require_all,
        least=min_responses,
    )
    consensus = Consulting(call.core.use(lambda context: context), watching(progress)).ask(draft)
    data, warnings = agreed(consensus, strategy)
    return present(data, warnings=warnings)


@action(reads=False, idempotent=False, open_world=True, hidden=("max_depth",))
def thinkdeep(
    call: Call,
    progress: Progress,
    topic: words.Topic = "",
    investigation_id: words.StudyId = "",
    query: words.Query = "",
    max_depth: words.Depth = DEPTH,
    provider_id: words.ProviderId = "",
) -> Json:
    """Judge hypotheses, a step each call; topic or investigation_id."""
    _either(topic, investigation_id, "investigation_id")
    thinking, watch = call.core.use(Thinking), watching(progress)
    step = (
        thinking.go_on(investigation_id, query, provider_id, watch)
        if investigation_id
        else thinking.begin(topic, max_depth, provider_id, watch)
    )
    data, warnings = thought(step)
    return present(data, warnings=warnings)


@action(
    reads=False,
    idempotent=False,
    open_world=True,
    aliases={"perspective": "perspectives"},
    hidden=("perspectives", "scoring_criteria"),
)
def ideate(
    call: Call,
    progress: Progress,
    topic: words.Topic = "",
    ideation_id: words.StudyId = "",
    ideate_action: words.IdeateAction = "generate",
    perspectives: words.Perspectives = [],  # noqa: B006 -- never changed; the schema shows it
    cluster_ids: words.Clusters = [],  # noqa: B006 -- never changed; the schema shows it
    scoring_criteria: words.Criteria = [],  # noqa: B006 -- never changed; the schema shows it
    provider_id: words.ProviderId = "",
) -> Json:
    """Find ideas: generate by topic, then the others in turn by ideation_id."""
    if not ideation_id:
        _either(topic, ideation_id, "ideation_id")
    draft = IdeateDraft(
        act=ideate_action,
        topic=topic,
        name=ideation_id,
        perspectives=tuple(perspectives),
        clusters=tuple(cluster_ids),
        criteria=tuple(scoring_criteria),
        provider=provider_id,
    )
    step = Ideating(call.core.use(lambda context: context), watching(progress)).act(draft)
    data, warnings = ideated(step)
    return present(data, warnings=warnings)


def agreed(consensus: Consensus, strategy: Strategy) -> tuple[dict[str, Json], list[str]]:
    """Return a consensus as the action tells it, with warnings."""
    content, warnings = cut(consensus.content, consensus.study.id)
    away = [f"{name} did not answer: {clip(why, TITLE)}" for name, why in consensus.faults]
    return {
        "content": content,
        "consensus_id": consensus.study.id,
        "providers_consulted": list(consensus.consulted),
        "strategy": strategy,
        "response_count": consensus.count,
    }, [*warnings, *away]


def thought(thought: Thought) -> tuple[dict[str, Json], list[str]]:
    """Return a step of an investigation as the action tells it, with warnings."""
    row = thought.study
    content, warnings = cut(thought.content, row.id)
    hypotheses: list[Json] = [
        {
            "id": hypothesis["id"],
            "statement": clip(str(hypothesis["statement"]), 80),
            "confidence": hypothesis["confidence"],
        }
        for hypothesis in thought.hypotheses
    ]
    return {
        "content": content,
        "investigation_id": row.id,
        "current_depth": row.round,
        "max_depth": row.rounds,
        "converged": thought.is_converged,
        "hypothesis_count": len(hypotheses),
        "step_count": row.steps,
        "hypotheses": hypotheses,
    }, [*warnings, *([] if thought.is_read else [_UNREAD])]


def ideated(ideated: IdeationStep) -> tuple[dict[str, Json], list[str]]:
    """Return an ideation as the action tells it, with warnings."""
    content, warnings = cut(ideated.content, ideated.study.id)
    return {
        "content": content,
        "ideation_id": ideated.study.id,
        "phase": ideated.study.phase,
        "idea_count": ideated.ideas,
        "cluster_count": ideated.clusters,
    }, warnings


def _either(topic: str, name: str, argument: str) -> None:
    """Raise InvalidInput unless one is begun, or gone on with."""
    if bool(topic.strip()) == bool(name):
        raise InvalidInput(
            f"one is begun with `topic`, or gone on with by `{argument}`",
            hint="Give one of the two.",
        )


THINKING: Final = (consensus, thinkdeep, ideate)
"""The actions, in the order of the list."""
