"""Research nodes of specs, as the tool tells them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from counterpoint.core.ports.evidence import Watch
from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import present
from counterpoint.dialects.foundry.rules.research.answers import list_of
from counterpoint.dialects.foundry.tools.research import words
from counterpoint.dialects.foundry.tools.research.deep import begun
from counterpoint.dialects.foundry.tools.research.shown import TITLE
from counterpoint.dialects.foundry.tools.research.talking import chatted
from counterpoint.dialects.foundry.tools.research.thinking import DEPTH, agreed, ideated, thought
from counterpoint.dialects.foundry.tools.shown import SAID, in_pages
from counterpoint.dialects.foundry.verbs.research.asking import choose_provider
from counterpoint.dialects.foundry.verbs.research.consensus import ConsensusDraft, Consulting
from counterpoint.dialects.foundry.verbs.research.deep.studies import DeepDraft, DeepStudies
from counterpoint.dialects.foundry.verbs.research.ideating import IdeateDraft, Ideating
from counterpoint.dialects.foundry.verbs.research.nodes import Researching, ResearchNode
from counterpoint.dialects.foundry.verbs.research.thinking import Thinking
from counterpoint.dialects.foundry.verbs.research.threads import ChatDraft, Threads
from counterpoint.dialects.foundry.words import Cursor, SpecId
from counterpoint.dialects.paging import clip
from counterpoint.dialects.progress import watching
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.protocol.actions import action
from counterpoint.protocol.parameters import Progress

_Told = tuple[str, dict[str, Json], list[str]]
"""The id of a study, what its action tells of it, and warnings."""


@action(reads=False, idempotent=False, open_world=True)
def node_execute(
    call: Call,
    progress: Progress,
    spec_id: SpecId,
    research_node_id: words.NodeId,
    prompt: words.MaybePrompt = "",
    provider_id: words.ProviderId = "",
    session_id: words.SessionId = "",
) -> Json:
    """Start a research node and do what it says."""
    # Of the unattended run that works on the spec: whoever lets the call through has looked at it.
    del session_id
    nodes, context = call.core.use(Researching), call.core.use(lambda context: context)
    node = nodes.get(spec_id, research_node_id)
    # Who cannot ask anybody does not take it up.
    provider = choose_provider(context, provider_id).name if provider_id else ""
    choose_provider(context, provider)
    nodes.start(spec_id, research_node_id)
    query = prompt.strip() or node.query or node.title
    study, data, warnings = _RUNS[node.kind](call, node, query, provider, watching(progress))
    after = nodes.note(spec_id, research_node_id, study, node.kind)
    return present(
        {
            "spec_id": after.spec,
            "research_node_id": after.id,
            "research_type": after.kind,
            "session_id": study,
            "status": after.status,
            **data,
        },
        warnings=warnings,
    )


@action(reads=False, idempotent=False)
def node_record(
    call: Call,
    spec_id: SpecId,
    research_node_id: words.NodeId,
    result: words.Finding,
    summary: words.Summary = "",
    key_insights: words.Texts = [],  # noqa: B006 -- never changed; the schema shows it
    recommendations: words.Texts = [],  # noqa: B006 -- never changed; the schema shows it
    sources: words.Texts = [],  # noqa: B006 -- never changed; the schema shows it
    confidence: words.Confidence = "medium",
    session_id: words.SessionId = "",
) -> Json:
    """Write down what was found; completed ends it."""
    findings: dict[str, Json] = {
        "summary": summary,
        "key_insights": list[Json](key_insights),
        "recommendations": list[Json](recommendations),
        "sources": list[Json](sources),
        "confidence": confidence,
    }
    nodes = call.core.use(Researching)
    after = nodes.record(spec_id, research_node_id, result, findings, session_id)
    return present(
        {
            "spec_id": after.spec,
            "research_node_id": after.id,
            "result": result,
            "status": after.status,
            "findings_recorded": bool(summary or key_insights or recommendations or sources),
        }
    )


@action(reads=True, plain=True)
def node_status(call: Call, spec_id: SpecId, research_node_id: words.NodeId) -> Json:
    """How one stands."""
    node = call.core.use(Researching).get(spec_id, research_node_id)
    return present(
        {
            **_head(node),
            "research_type": node.kind,
            "blocking_mode": node.mode,
            "session_id": node.session or None,
            "query": clip(node.query, SAID),
            "has_findings": bool(node.findings),
            "history_count": len(node.history),
        }
    )


@action(reads=True, plain=True)
def node_findings(
    call: Call, spec_id: SpecId, research_node_id: words.NodeId, cursor: Cursor = ""
) -> Json:
    """What was found."""
    node = call.core.use(Researching).get(spec_id, research_node_id)
    stored = node.findings
    lists = ("key_insights", "recommendations", "sources")
    flat: dict[str, Json] = {
        **_head(node),
        **{name: _texts(stored.get(name)) for name in lists},
        "research_history": list(node.history),
    }
    query = ("research node-findings", spec_id, research_node_id)
    answer = object_of(in_pages(call, query, cursor, flat, *lists, "research_history"))
    data = object_of(answer["data"])
    findings: dict[str, Json] = {
        "summary": clip(str(stored.get("summary") or ""), SAID),
        **{name: data.pop(name) for name in lists},
        "confidence": stored.get("confidence"),
    }
    history = data.pop("research_history")
    whole: dict[str, Json] = {
        **data,
        "findings": findings if stored else {},
        "research_history": history,
    }
    return {**answer, "data": whole}


def _head(node: ResearchNode) -> dict[str, Json]:
    return {
        "spec_id": node.spec,
        "research_node_id": node.id,
        "title": clip(node.title, TITLE),
        "status": node.status,
    }


def _texts(value: Json) -> list[Json]:
    return [clip(str(part), SAID) for part in list_of(value)]


def _chat(call: Call, node: ResearchNode, text: str, provider: str, watch: Watch) -> _Told:
    draft = ChatDraft(prompt=text, title=node.title, provider=provider, thread="", item=node.item)
    row, answer = call.core.use(Threads).chat(draft, watch)
    return row.id, *chatted(row, answer)


def _consensus(call: Call, node: ResearchNode, text: str, provider: str, watch: Watch) -> _Told:
    names = (provider,) if provider else ()
    draft = ConsensusDraft(prompt=text, providers=names, item=node.item)
    consensus = call.core.use(lambda context: Consulting(context, watch)).ask(draft)
    return consensus.study.id, *agreed(consensus, draft.strategy)


def _thinkdeep(call: Call, node: ResearchNode, text: str, provider: str, watch: Watch) -> _Told:
    thinking = call.core.use(Thinking)
    step = thinking.begin(text, DEPTH, provider, watch, node.item)
    return step.study.id, *thought(step)


def _ideate(call: Call, node: ResearchNode, text: str, provider: str, watch: Watch) -> _Told:
    draft = IdeateDraft(topic=text, provider=provider, item=node.item)
    step = call.core.use(lambda context: Ideating(context, watch)).act(draft)
    return step.study.id, *ideated(step)


def _deep(call: Call, node: ResearchNode, text: str, provider: str, watch: Watch) -> _Told:
    del watch
    draft = DeepDraft(query=text, provider=provider, item=node.item)
    standing = call.core.use(DeepStudies).start(draft)
    data, warnings = begun(standing)
    # How the node stands is told under this name.
    return (
        standing.row.id,
        {name: value for name, value in data.items() if name != "status"},
        warnings,
    )


_RUNS: Final[dict[str, Callable[[Call, ResearchNode, str, str, Watch], _Told]]] = {
    "chat": _chat,
    "consensus": _consensus,
    "thinkdeep": _thinkdeep,
    "ideate": _ideate,
    "deep-research": _deep,
}
NODES: Final = (node_execute, node_record, node_status, node_findings)
"""The actions, in the order of the list."""
