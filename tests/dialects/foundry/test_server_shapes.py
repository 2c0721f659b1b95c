"""The shapes of what the tools around specs answer, and that no action of this surface is without one."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from builders import Agent
from counterpoint.dialects.registry import surface
from fakes.scripted_models import ModelServer
from fakes.shapes import LIMITS, STOPS, Row, misshapen, row

WELL = "status: str, is_healthy: bool, timestamp: num, message: str"
LOOKED = (
    "dependencies: [{name: str, healthy: bool, status: str, message: str, latency_ms: num,"
    " details: {path?: str, free_mb?: num, total_mb?: num, threshold_mb?: int, entries?: int}}]"
)
PROGRAM = "{available: bool, version: str|null, executable: str|null}"
GIT = (
    "{enabled: bool, auto_commit: bool, auto_push: bool, auto_pr: bool, commit_cadence: str,"
    " show_before_commit: bool}"
)
MODELS = "{configured: bool, available: bool, providers: [str], priority: [str]}"
TURNED_ON = (
    "{autonomy_sessions: bool, autonomy_fidelity_gates: bool, autonomy_gate_invariants: bool}"
)
CAPABILITIES = (
    "{response_version: str, streaming: bool, batch_operations: bool, pagination: bool,"
    " max_batch_size: int, rate_limit_headers: bool, formats: [str], autonomy_sessions: bool,"
    " autonomy_fidelity_gates: bool, autonomy_gate_invariants: bool, gate_enforcement_default: str}"
)
PREFLIGHT = (
    "role_preflight?: {recommended_call: {tool: str, params: {*id: any}}, legacy_fallback:"
    " {tool: str, params: {*id: any}}, fail_fast_on: [str], guidance: str}"
)
CONVENTIONS = (
    "conventions: {discovery_as_hints: bool, responses_as_truth: bool, description: str,"
    f" {PREFLIGHT}}}"
)
TOOL = "name: str, description: str, category: str, version: str, deprecated: bool, tags: [str]"
KEPT = (
    "{id: str, timestamp: str, fingerprint: str, tool_name: str, action: str, error_code: str,"
    " error_type: str, message: str}"
)
RECURRING = (
    "{fingerprint: str, tool_name: str, action: str, error_code: str, message: str, count: int,"
    " first_seen: str, last_seen: str}"
)
ROWS = (
    row("health liveness", f"{{{WELL}}}"),
    row("health readiness", f"{{{WELL}, {LOOKED}}}"),
    row(
        "health check",
        f"{{{WELL}, {LOOKED}, details: {{unhealthy_count: int, degraded_count: int,"
        " healthy_count: int}}",
    ),
    row("health check", f"{{{WELL}}}", include_details=False),
    row(
        "environment init",
        "{specs_dir: str, active_dir: str, created_dirs: [str], existing_dirs: [str]}",
    ),
    row(
        "environment verify-env",
        f"{{runtimes: {{python: {PROGRAM}, git: {PROGRAM}}}, all_valid: bool}}",
    ),
    row(
        "environment verify-env",
        f"{{runtimes: {{python: {PROGRAM}, git: {PROGRAM}, node: {PROGRAM}}}, all_valid: bool,"
        " missing_packages: [str]}",
        check_node=True,
        required_packages=["there-is-none-of-this-name"],
    ),
    row(
        "environment verify-toolchain",
        "{required: {python: bool, git: bool}, all_available: bool, optional: {grep: bool,"
        " cat: bool, find: bool, node: bool, npm: bool}}",
    ),
    row(
        "environment setup",
        "{specs_dir: str, permissions_file: str, config_file: str, changes: [str], dry_run: bool}",
    ),
    row("environment detect", "{project_type: str, has_git: bool, specs_dir: str}"),
    row(
        "environment detect-test-runner",
        "{detected_runners: [{runner_name: str, project_type: str, confidence: num, reason: str}],"
        " recommended_default: str}",
    ),
    row(
        "environment get-config",
        "{sections: {implement: {delegate: bool, parallel: bool},"
        f" git: {GIT}}}, config_file: str}}",
        ("environment setup", {}),
    ),
    row("plan create", "{plan_name: str, plan_slug: str, plan_path: str}", name="Import"),
    row(
        "plan list",
        "{plans: [{name: str, path: str, size_bytes: int, modified: num, reviews: [str],"
        " has_review: bool}], count: int, plans_dir: str}",
        ("plan create", {"name": "Export"}),
    ),
    row(
        "server tools",
        f"{{tools: [{{{TOOL}, actions: [{{name: str, summary: str}}]}}], categories: [str],"
        " filters_applied: {category: null, tag: null, include_deprecated: bool}}",
    ),
    row(
        "server schema",
        f"{{{TOOL}, actions: [{{name: str, summary: str, writes: bool, parameters: {{*id: any}}}}]}}",
        tool_name="plan",
    ),
    row(
        "server capabilities",
        f"{{schema_version: str, capabilities: {CAPABILITIES}, runtime: {{autonomy:"
        f" {{supported_by_binary: {TURNED_ON}, enabled_now: {TURNED_ON},"
        " posture_profile: null|str, security: {role: str, allow_lock_bypass: bool,"
        " allow_gate_waiver: bool, enforce_required_phase_gates: bool}, session_defaults:"
        f" {{gate_policy: str, {LIMITS}, {STOPS}}}}}, {CONVENTIONS}}},"
        " server_version: str, api_version: str}",
    ),
    row(
        "server context",
        "{server: {name: str, version: str, log_level: str}, paths: {specs_dir: str|null,"
        f" research_dir: null}}, workspace: {{roots: [str]}}, workflow: {{git: {GIT}}},"
        f" llm_status: {MODELS}, capabilities: {{schema_version: str,"
        f" capabilities: {CAPABILITIES}, runtime: {{autonomy: {{supported_by_binary: {TURNED_ON},"
        f" enabled_now: {TURNED_ON}}}, {CONVENTIONS}}}, server_version: str, api_version: str}}}}",
    ),
    row("server llm-status", f"{{llm_status: {MODELS}}}"),
    row(
        "provider list",
        "{providers: [{id: str, description: str, priority: int, tags: [str], available: bool,"
        " reason?: str}], available_count: int, total_count: int}",
        include_unavailable=True,
    ),
    row(
        "provider status",
        "{provider_id: str, available: bool, metadata: {name: str, version: null,"
        " default_model: str|null, supported_models: [str], documentation_url: null, tags: [str]},"
        " capabilities: [str], health: {status: str, available: bool, reason: str|null}}",
        provider_id="local",
    ),
    row(
        "provider execute",
        "{provider_id: str, model: str, content: str, finish_reason: str,"
        " token_usage: {prompt_tokens: int, completion_tokens: int, total_tokens: int}}",
        provider_id="local",
        prompt="what?",
    ),
    row("error list", f"{{errors: [{KEPT}], count: int}}"),
    row("error get", f"{{error: {KEPT}}}", error_id="{error}"),
    row(
        "error stats",
        "{total_errors: int, unique_patterns: int, by_tool: {*id: int}, by_error_code: {*id: int},"
        f" top_patterns: [{RECURRING}], updated_at: str}}",
    ),
    row(
        "error patterns",
        f"{{patterns: [{RECURRING}], pattern_count: int, min_count_filter: int}}",
        min_count=1,
    ),
    row(
        "error cleanup",
        "{current_count: int, deleted_count: int, retention_days: int, max_errors: int,"
        " dry_run: bool, message: str}",
        max_errors=1,
    ),
)


def rows() -> Iterator[Row]:
    """Return the rows of all tables of shapes."""
    for file in Path(__file__).parent.rglob("test_*shapes.py"):
        for found in runpy.run_path(str(file)).values():
            table = found if isinstance(found, tuple) else (found,)
            yield from (one for one in table if isinstance(one, Row))


@pytest.fixture
def worked(foundry: Agent, repository: Path) -> Iterator[str]:
    """Give a project with tests and a model, in which two calls of one sort were refused; answer the id of one of the errors."""
    (repository / "pytest.ini").write_text("[pytest]\n")
    for spec in ("one", "two"):
        foundry.is_refused("task", action="next", spec_id=spec)
    with ModelServer("forty-two") as models:
        models.configure(repository)
        yield foundry.does("error", action="list")["data"]["errors"][0]["id"]


@pytest.mark.parametrize("tool", dict.fromkeys(one.call.split()[0] for one in ROWS))
def test_every_answer_around_specs_has_its_shape(
    tool: str, made: Callable[..., str], foundry: Agent, worked: str
) -> None:
    """In one page; of an error that there is, in a project that has tests."""
    filled = (
        row(one.call, one.shape, *one.before, **{**one.given, "error_id": worked})
        if "error_id" in one.given
        else one
        for one in ROWS
    )
    assert list(misshapen(filled, tool, made, foundry)) == []


def test_no_action_is_without_a_shape() -> None:
    """Whichever action is added to this surface is added to a table of shapes."""
    actions = {part.name for tool in surface("foundry").tools for part in tool.parts}
    shown = {one.call for one in rows()}
    assert (actions - shown, shown - actions) == (set(), set())
