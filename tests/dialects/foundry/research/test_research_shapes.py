"""The shapes of what research answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import pytest

from builders import Agent
from counterpoint.dialects.foundry.research.rules.answers import IDEAS
from fakes.scripted_models import ModelServer
from fakes.shapes import SPEC, misshapen, row

THREAD = "thread_id: str, message_count: int, provider_id: str, model_used: str, tokens_used: int"
LINE = "id: str, title: str, status: str, message_count: int, created_at: str, updated_at: str"
MESSAGE = (
    "{id: str, role: str, content: str, timestamp: str, provider_id?: str, model_used?: str,"
    " tokens_used?: int, part?: int, parts?: int}"
)
HEAD = "spec_id: str, research_node_id: str, title: str, status: str"
NODE: Final[dict[str, Any]] = {"spec_id": SPEC, "research_node_id": "research-1-1"}
ADDED: Final[tuple[str, dict[str, Any]]] = (
    "task add",
    {
        "spec_id": SPEC,
        "parent": "phase-1",
        "title": "Which format?",
        "task_type": "research",
        "research_type": "chat",
    },
)
RECORDED: Final[tuple[str, dict[str, Any]]] = (
    "research node-record",
    {**NODE, "result": "inconclusive", "summary": "JSON", "key_insights": ["it nests"]},
)
ROWS = (
    row("research chat", f"{{content: str, {THREAD}}}", prompt="How many?"),
    row(
        "research consensus",
        "{content: str, consensus_id: str, providers_consulted: [str], strategy: str,"
        " response_count: int}",
        prompt="How many?",
    ),
    row(
        "research thinkdeep",
        "{content: str, investigation_id: str, current_depth: int, max_depth: int, converged: bool,"
        " hypothesis_count: int, step_count: int,"
        " hypotheses: [{id: str, statement: str, confidence: str}]}",
        topic="How many?",
    ),
    row(
        "research ideate",
        "{content: str, ideation_id: str, phase: str, idea_count: int, cluster_count: int}",
        topic="How many?",
    ),
    row("research thread-list", f"{{threads: [{{{LINE}, provider_id: str|null}}], count: int}}"),
    row(
        "research thread-get",
        "{id: str, title: str, status: str, system_prompt: str|null, provider_id: str|null,"
        f" created_at: str, updated_at: str, messages: [{MESSAGE}], metadata: {{}}}}",
        thread_id="{thread}",
    ),
    row("research thread-delete", "{deleted: bool, thread_id: str}", thread_id="{thread}"),
    row(
        "research node-execute",
        "{spec_id: str, research_node_id: str, research_type: str, session_id: str, status: str,"
        f" content: str, {THREAD}}}",
        ADDED,
        **NODE,
    ),
    row(
        "research node-record",
        "{spec_id: str, research_node_id: str, result: str, status: str, findings_recorded: bool}",
        ADDED,
        **RECORDED[1],
    ),
    row(
        "research node-status",
        f"{{{HEAD}, research_type: str, blocking_mode: str, session_id: str|null, query: str,"
        " has_findings: bool, history_count: int}",
        ADDED,
        **NODE,
    ),
    row(
        "research node-findings",
        f"{{{HEAD}, findings: {{summary: str, key_insights: [str], recommendations: [str],"
        " sources: [str], confidence: str}, research_history: [{timestamp: str, action: str,"
        " result?: str, workflow?: str, session_id: str|null}]}",
        ADDED,
        RECORDED,
        **NODE,
    ),
)


@pytest.mark.parametrize("models", [(json.dumps({IDEAS: [{"idea": "Fly"}]}),)], indirect=True)
def test_every_answer_of_research_has_its_shape(
    made: Callable[..., str], ada: Agent, models: ModelServer
) -> None:
    """In one page; of a thread that there is."""
    assert models.address
    thread = ada.does("research", action="chat", prompt="?")["data"]["thread_id"]
    filled = (
        row(one.call, one.shape, *one.before, **{**one.given, "thread_id": thread})
        if "thread_id" in one.given
        else one
        for one in ROWS
    )
    assert list(misshapen(filled, "research", made, ada)) == []
