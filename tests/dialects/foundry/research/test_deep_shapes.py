"""The shapes of what deep research and fetched pages answer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from builders import Workshop
from counterpoint.dialects.foundry.research.deep import Advancing
from counterpoint.evidence.running.configuration import read_checking
from fakes.deep_world import DeepWorld
from fakes.shapes import faults, parsed, row

ROWS = (
    row(
        "research deep-research",
        "{research_id: str, status: str, effective_timeout: num, message: str, phase: str,"
        " polling_guidance: {max_checks: int, typical_duration_minutes: int,"
        " require_user_communication: bool, no_independent_research: bool}}",
        query="Is it so?",
        max_iterations=1,
    ),
    row(
        "research deep-research-list",
        "{sessions: [{id: str, query: str, phase: str, iteration: int, source_count: int,"
        " finding_count: int, is_complete: bool, status: str, created_at: str, updated_at: str}],"
        " count: int}",
    ),
    row(
        "research deep-research-status",
        "{research_id: str, original_query: str, phase: str, iteration: int, max_iterations: int,"
        " sub_queries_total: int, sub_queries_completed: int, sub_queries_failed: int,"
        " failed_sub_queries: [], source_count: int, finding_count: int, gap_count: int,"
        " is_complete: bool, is_failed: bool, failure_error: str|null, total_tokens_used: int,"
        " total_duration_ms: num, timed_out: bool, cancelled: bool, status_check_count: int,"
        " last_heartbeat_at: str, next_action: str, status: str, unread_count: int, cost_micros: int,"
        " settings: {provider_id: str, system_prompt: str|null, max_sub_queries: int, max_sources_per_query: int,"
        " follow_links: bool, task_timeout: num, timeout_per_operation: num, max_concurrent: int,"
        " research_mode: str}}",
    ),
    row(
        "research deep-research-report",
        "{research_id: str, report: str, query: str, characters: int, source_count: int,"
        " finding_count: int, iterations: int, is_complete: bool}",
    ),
    row("research deep-research-delete", "{deleted: bool, research_id: str}"),
    row(
        "research extract",
        "{results: [{url: str, title: str, content_type: str, content: str, characters: int}],"
        " count: int}",
    ),
)


@pytest.fixture
def world(workshop: Workshop) -> Iterator[DeepWorld]:
    """Answer what the project asks, as a person trusted it."""
    workshop.app.is_open = False
    with DeepWorld() as world:
        world.configure(workshop.root)
        workshop.app.itself().projects.trust(read_checking(workshop.root), "")
        yield world


def test_every_answer_of_deep_research_has_its_shape(workshop: Workshop, world: DeepWorld) -> None:
    """From the question to a report, and of a page that it was taken from."""
    kay, name = workshop.agent("kay", surface="foundry"), ""
    wrong: list[str] = []
    for one in ROWS:
        given = {**one.given, **({"research_id": name} if name else {})}
        action = one.call.split()[1]
        if action.endswith("-list"):
            given = {}
        if action == "extract":
            given = {"urls": [world.pages.url("/11")]}
        data = kay.does("research", action=action, **given)["data"]
        wrong += [f"{one.call} {fault}" for fault in faults(data, parsed(one.shape))]
        if not name:
            name = data["research_id"]
            while workshop.app.itself().use(Advancing).advance(name):
                pass
    assert wrong == [], "\n".join(wrong)
