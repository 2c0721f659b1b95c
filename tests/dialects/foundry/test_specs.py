"""The tools `spec`, `authoring`, `lifecycle` and `journal`, as a caller sees them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from builders import Agent
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Note
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import recording, transaction

SPEC = "export-2026-01-02-001"
PLAN = {"plan_path": ".plans/a.md", "plan_review_path": ".plan-reviews/a.md"}


def _data(agent: Agent, call: str, **given: Any) -> dict[str, Any]:
    tool, action = call.split()
    return agent.does(tool, action=action, **given)["data"]


def _refusal(agent: Agent, call: str, **given: Any) -> tuple[str, str]:
    tool, action = call.split()
    data = agent.is_refused(tool, action=action, **given)["data"]
    return data["error_code"], data["error_type"]


def _all(agent: Agent, call: str, part: str, **given: Any) -> list[Any]:
    """Return a list, page after page."""
    tool, action = call.split()
    found: list[Any] = []
    cursor = ""
    while True:
        more = {"cursor": cursor} if cursor else {}
        answer = agent.does(tool, action=action, **given, **more)
        assert len(orjson.dumps(answer)) <= 10_000
        found += answer["data"][part]
        pagination = answer["meta"].get("pagination", {})
        cursor = pagination.get("cursor")
        if not cursor:
            return found
        assert pagination["has_more"]


@pytest.mark.parametrize(
    ("call", "given", "code"),
    [
        ("spec get", {"spec_id": "none"}, "SPEC_NOT_FOUND"),
        ("spec list", {"status": "lost"}, "INVALID_FORMAT"),
        ("spec list", {"limit": 0}, "INVALID_FORMAT"),
        ("spec get", {"spec_id": "../../etc/passwd"}, "SPEC_NOT_FOUND"),
        ("spec stats", {"spec_id": SPEC, "workspace": "/etc"}, "VALIDATION_ERROR"),
        ("spec analyze", {"directory": "../.."}, "VALIDATION_ERROR"),
        ("authoring spec-create", {"name": "X"}, "MISSING_REQUIRED"),
        ("authoring spec-create", {"name": "X", **PLAN}, "NOT_FOUND"),
        (
            "authoring spec-update-frontmatter",
            {"spec_id": SPEC, "key": "status", "value": "bogus"},
            "VALIDATION_ERROR",
        ),
        ("authoring spec-template", {"template_action": "show", "template_name": "x"}, "NOT_FOUND"),
        ("authoring phase-remove", {"spec_id": SPEC, "phase_id": "phase-1"}, "CONFLICT"),
        ("authoring phase-remove", {"spec_id": SPEC, "phase_id": "phase-7"}, "PHASE_NOT_FOUND"),
        (
            "authoring phase-update-metadata",
            {"spec_id": SPEC, "phase_id": "phase-1"},
            "MISSING_REQUIRED",
        ),
        (
            "authoring phase-move",
            {"spec_id": SPEC, "phase_id": "phase-1", "position": 9},
            "INVALID_POSITION",
        ),
        (
            "authoring phase-add-bulk",
            {"spec_id": SPEC, "phase": {"title": "More"}, "tasks": [{"title": "Write"}]},
            "VALIDATION_ERROR",
        ),
        (
            "authoring phase-add-bulk",
            {"spec_id": SPEC, "phase": {}, "tasks": []},
            "MISSING_REQUIRED",
        ),
        (
            "authoring risk-add",
            {"spec_id": SPEC, "description": "It breaks", "likelihood": "huge"},
            "INVALID_FORMAT",
        ),
        (
            "authoring spec-find-replace",
            {"spec_id": SPEC, "find": "nowhere", "replace": "x"},
            "NO_MATCHES_FOUND",
        ),
        ("lifecycle complete", {"spec_id": SPEC, "force": True}, "CONFLICT"),
        ("lifecycle move", {"spec_id": SPEC, "to_folder": "attic"}, "INVALID_FORMAT"),
        ("lifecycle activate", {}, "MISSING_REQUIRED"),
        (
            "journal add",
            {"spec_id": SPEC, "title": "T", "content": "C", "task_id": "task-9-9"},
            "TASK_NOT_FOUND",
        ),
        ("journal list", {"spec_id": SPEC, "cursor": "bad"}, "INVALID_FORMAT"),
    ],
)
def test_what_is_refused_has_a_code(
    root: str, foundry: Agent, call: str, given: dict[str, Any], code: str
) -> None:
    """And nothing is written."""
    assert root
    assert _refusal(foundry, call, **given)[0] == code


def test_what_is_there_already_is_told_apart(root: str, foundry: Agent) -> None:
    """The entry of a list, and a version."""
    assert root
    for call, given in (
        ("authoring constraint-add", {"text": "Must work offline"}),
        ("authoring assumption-add", {"text": "It is small"}),
        ("authoring revision-add", {"version": "1.1", "changes": "More"}),
    ):
        _data(foundry, call, spec_id=SPEC, **given)
        assert _refusal(foundry, call, spec_id=SPEC, **given) == ("DUPLICATE_ENTRY", "conflict")


def test_whoever_only_looks_writes_nothing(root: str, foundry: Agent) -> None:
    """Nor does a dry run, or a repeated move into the folder where a spec is."""
    assert root
    foundry.does("journal", action="add", spec_id=SPEC, title="Opened", content="A session")
    before = foundry.ledger_size
    for call, given in (
        ("spec get", {}),
        ("spec validate", {}),
        ("spec fix", {"dry_run": True}),
        ("spec fix", {"auto_fix": False}),
        ("lifecycle state", {}),
        ("lifecycle move", {"to_folder": "pending"}),
        ("journal list", {}),
        ("journal list-unjournaled", {}),
        ("authoring constraint-add", {"text": "Offline", "dry_run": True}),
        ("authoring phase-add", {"title": "More", "dry_run": True}),
        ("authoring phase-remove", {"phase_id": "phase-1", "force": True, "dry_run": True}),
        ("authoring revision-add", {"version": "2", "changes": "x", "dry_run": True}),
        ("authoring spec-find-replace", {"find": "part", "replace": "x", "dry_run": True}),
    ):
        _data(foundry, call, spec_id=SPEC, **given)
    assert foundry.ledger_size == before


def test_a_dry_run_is_answered_again_under_its_key(root: str, foundry: Agent) -> None:
    """And the real call under its own, once."""
    assert root
    given = {"spec_id": SPEC, "title": "More", "idempotency_key": "one"}
    assert _data(foundry, "authoring phase-add", **given, dry_run=True)["phase_id"] == "phase-3"
    given["idempotency_key"] = "two"
    first = _data(foundry, "authoring phase-add", **given)
    assert _data(foundry, "authoring phase-add", **given) == first
    assert (
        _data(foundry, "authoring phase-add", spec_id=SPEC, title="Next")["phase_id"] == "phase-4"
    )


def test_long_lists_come_in_pages(made: Callable[..., str], foundry: Agent) -> None:
    """However large an entry is, each once."""
    made()
    words = [f"{place} {'é' * 2_000}" for place in range(12)]
    for word in words:
        _data(foundry, "authoring constraint-add", spec_id=SPEC, text=word)
        _data(foundry, "journal add", spec_id=SPEC, title=word[:9], content=word)
    found = _all(foundry, "authoring constraint-list", "constraints", spec_id=SPEC)
    assert [one["index"] for one in found] == list(range(1, 13))
    entries = _all(foundry, "journal list", "entries", spec_id=SPEC)
    assert [one["title"] for one in entries] == [word[:9] for word in reversed(words)]
    found = _all(foundry, "journal list", "entries", spec_id=SPEC, limit=5)
    assert len(found) == 12
    specs = [made(spec=f"other-2026-01-02-{place:03}") for place in range(1, 80)]
    assert len(_all(foundry, "spec list", "specs", limit=50)) == len(specs) + 1


def test_what_was_said_is_read_back_whole(root: str, foundry: Agent) -> None:
    """A list clips it; the document has all of it."""
    assert root
    words = "A long word " * 700
    _data(foundry, "authoring question-add", spec_id=SPEC, text=words)
    _data(foundry, "journal add", spec_id=SPEC, title="Long", content=words, task_id="task-1-1")
    document = json.loads("".join(_all(foundry, "spec get", "spec", spec_id=SPEC)))
    assert document["metadata"]["open_questions"] == [words]
    assert document["journal"][0]["content"] == words


def test_assumptions_are_listed_by_type(root: str, foundry: Agent) -> None:
    """With what was said beside them."""
    assert root
    _data(foundry, "authoring assumption-add", spec_id=SPEC, text="Small")
    more = {"assumption_type": "requirement", "author": "eve"}
    _data(foundry, "authoring assumption-add", spec_id=SPEC, text="Fast", **more)
    given = {"spec_id": SPEC, "assumption_type": "requirement"}
    found = _data(foundry, "authoring assumption-list", **given)
    entry = {"text": "Fast", "type": "requirement", "author": "eve", "id": "a-2", "index": 2}
    assert (found["assumptions"], found["filter_type"]) == ([entry], "requirement")
    every = _data(foundry, "authoring assumption-list", spec_id=SPEC)
    assert [one["id"] for one in every["assumptions"]] == ["a-1", "a-2"]


def test_tasks_of_a_phase_take_what_is_said_of_all(repository: Path, foundry: Agent) -> None:
    """The category of the spec, what is given beside the phase and with it, and last what a task says itself."""
    for name in PLAN.values():
        (repository / "specs" / name).parent.mkdir(parents=True)
        (repository / "specs" / name).write_text("# Plan\n")
    spec = _data(foundry, "authoring spec-create", name="X", category="decision", **PLAN)["spec_id"]
    made = _data(
        foundry,
        "authoring phase-add-bulk",
        spec_id=spec,
        phase={"title": "More", "metadata_defaults": {"complexity": "low"}},
        metadata_defaults={"complexity": "high", "estimated_hours": 2, "owners": ["ada"]},
        tasks=[
            {"title": "A", "description": "a", "acceptance_criteria": ["it is"]},
            {
                "title": "B",
                "details": ["b", "c"],
                "task_category": "research",
                "complexity": "medium",
            },
            {
                "title": "C",
                "type": "verify",
                "verification_type": "manual",
                "metadata": {"risk": 1},
            },
        ],
    )
    assert [one["task_id"] for one in made["tasks_created"]] == [
        *("task-1-1", "task-1-2", "verify-1-1", "verify-1-2", "verify-1-3"),
    ]
    document = json.loads("".join(_all(foundry, "spec get", "spec", spec_id=spec)))
    nodes = {name: node["metadata"] for name, node in document["hierarchy"].items()}
    assert nodes["task-1-1"] == {
        "description": "a",
        "acceptance_criteria": ["it is"],
        "task_category": "decision",
        "complexity": "low",
        "estimated_hours": 2,
        "owners": ["ada"],
    }
    assert (nodes["task-1-2"]["task_category"], nodes["task-1-2"]["complexity"]) == (
        "research",
        "medium",
    )
    assert nodes["task-1-2"]["description"] == "b\nc"
    assert nodes["verify-1-1"]["risk"] == 1
    assert "task_category" not in nodes["verify-1-1"]


def test_every_fault_of_given_tasks_is_told_with_its_place(root: str, foundry: Agent) -> None:
    """All at once."""
    assert root
    refusal = foundry.is_refused(
        "authoring",
        action="phase-add-bulk",
        spec_id=SPEC,
        phase={"title": "More"},
        metadata_defaults={"colour": "red"},
        tasks=[
            {"title": "A", "description": "a", "type": "chore", "complexity": "huge"},
            {"description": "b", "estimated_hours": -1, "file_path": ""},
            {
                "title": "C",
                "description": "c",
                "acceptance_criteria": [""],
                "metadata": {"status": 1},
            },
        ],
    )
    said = refusal["error"]
    for part in (
        "metadata_defaults has an unknown key 'colour'",
        "tasks[0] has a type 'chore'",
        "tasks[0] has a complexity 'huge'",
        "tasks[1] has no title",
        "tasks[1] has estimated_hours",
        "tasks[1] has a file_path",
        "tasks[2] has acceptance_criteria",
        "tasks[2] cannot keep 'status'",
    ):
        assert part in said


def test_a_spec_is_looked_at_in_its_folder(root: str, foundry: Agent, repository: Path) -> None:
    """What there is of documentation is told of the folder that is named."""
    assert root
    (repository / "web" / "docs").mkdir(parents=True)
    (repository / "web" / "docs" / "codebase.json").write_text("{}")
    found = _data(foundry, "spec analyze", directory="web")
    assert (found["total_specs"], found["spec_counts"]["pending"]) == (1, 1)
    assert found["codebase_docs_available"]
    assert not _data(foundry, "spec analyze")["codebase_docs_available"]


def test_a_move_that_is_none_comes_with_a_warning(root: str, foundry: Agent) -> None:
    assert root
    _data(foundry, "lifecycle activate", spec_id=SPEC)
    again = foundry.does("lifecycle", action="activate", spec_id=SPEC)
    assert again["meta"]["warnings"] == [f"{SPEC} is active already"]
    done = foundry.does("lifecycle", action="complete", spec_id=SPEC, force=True)
    assert done["meta"]["warnings"] == ["4 unfinished tasks were skipped"]
    state = _data(foundry, "lifecycle state", spec_id=SPEC)
    assert (state["status"], state["progress_percentage"]) == ("completed", 100.0)
    assert (state["can_complete"], state["can_archive"]) == (False, True)


def test_a_blocked_spec_is_told_so(root: str, foundry: Agent) -> None:
    """One that is put away is archived, whatever blocks it."""
    assert root
    item = foundry.core.items.find(f"{SPEC}/task-1-1", "node")
    assert item is not None
    foundry.core.plans.create(Draft(kind="task", title="Elsewhere"))
    foundry.core.journal.append(Note(kind="blocker", body="Down", item=item.id))
    assert _data(foundry, "lifecycle state", spec_id=SPEC)["status"] == "blocked"
    _data(foundry, "lifecycle archive", spec_id=SPEC)
    assert _data(foundry, "lifecycle state", spec_id=SPEC)["status"] == "archived"
    text = "".join(_all(foundry, "spec get", "spec", spec_id=SPEC))
    assert json.loads(text)["status"] == "archived"


def test_a_spec_is_brought_back_to_how_it_was(root: str, foundry: Agent) -> None:
    """Each change tells the version it led to, and a rollback the one to come back from it."""
    assert root
    before = json.loads("".join(_all(foundry, "spec get", "spec", spec_id=SPEC)))
    _data(foundry, "authoring constraint-add", spec_id=SPEC, text="Must work offline")
    _data(foundry, "authoring spec-find-replace", spec_id=SPEC, find="part", replace="piece")
    entries = _all(foundry, "spec history", "entries", spec_id=SPEC, limit=2)
    first = entries[-1]
    assert (first["action"], first["changed"]["spec-root"][0]) == ("plan.created", "created")
    compared = _data(foundry, "spec diff", spec_id=SPEC, target=first["version"])
    assert compared["summary"]["modified_count"] == 5
    back = {"spec_id": SPEC, "version": first["version"]}
    assert _data(foundry, "authoring spec-rollback", **back, dry_run=True)["backup_created"] is None
    done = _data(foundry, "authoring spec-rollback", **back)
    assert {"node_id": "task-1-1", "field": "title"} in done["changes"]
    assert done["more_changes"] == 0
    after = json.loads("".join(_all(foundry, "spec get", "spec", spec_id=SPEC)))
    assert after["hierarchy"] == before["hierarchy"]
    assert "constraints" not in after["metadata"]
    assert int(done["backup_created"]) >= int(entries[0]["version"])
    _data(foundry, "authoring spec-rollback", spec_id=SPEC, version=done["backup_created"])
    again = json.loads("".join(_all(foundry, "spec get", "spec", spec_id=SPEC)))
    assert again["metadata"]["constraints"] == ["Must work offline"]
    assert again["hierarchy"]["task-1-1"]["title"] == "Write piece 1 of 1"


@pytest.mark.parametrize("version", ["999999", "20200101T000000", "never", "2020-01-01T00:00:00Z"])
def test_a_version_that_is_not_there_is_not_found(
    version: str, made: Callable[..., str], foundry: Agent
) -> None:
    """However it is written."""
    made()
    for call in ("spec-rollback", "spec-rollback-dry"):
        dry = {"dry_run": True} if call.endswith("dry") else {}
        asked = {"action": "spec-rollback", "spec_id": SPEC, "version": version, **dry}
        assert foundry.is_refused("authoring", **asked)["data"]["error_code"] == "NOT_FOUND"


def test_a_history_comes_in_pages_with_its_revisions(root: str, foundry: Agent) -> None:
    """Each change and each revision once; a time before the ledger is not found."""
    assert root
    for place in range(30):
        given = {"version": f"1.{place}", "changes": f"{place} {'x' * 2_000}"}
        _data(foundry, "authoring revision-add", spec_id=SPEC, **given)
    entries = _all(foundry, "spec history", "entries", spec_id=SPEC, limit=20)
    versions = [one["version"] for one in entries if one["type"] == "revision"]
    assert versions == [f"1.{place}" for place in reversed(range(30))]
    positions = [int(one["version"]) for one in entries if one["type"] == "backup"]
    assert positions == sorted(set(positions), reverse=True)
    assert len(positions) >= 31
    given = {"spec_id": SPEC, "target": "20251227T120000"}
    assert _refusal(foundry, "spec diff", **given) == ("NOT_FOUND", "not_found")


def test_large_differences_come_in_pages(made: Callable[..., str], foundry: Agent) -> None:
    """Each node once."""
    made(phases=4, tasks=25)
    _data(foundry, "authoring spec-find-replace", spec_id=SPEC, find="part", replace="x" * 150)
    tool = {"spec_id": SPEC, "limit": 1_000}
    found: list[str] = []
    cursor = ""
    while True:
        answer = foundry.does(
            "spec", action="diff", **tool, **({"cursor": cursor} if cursor else {})
        )
        assert len(orjson.dumps(answer)) <= 10_000
        found += [one["node_id"] for one in answer["data"]["changes"]["modified"]]
        cursor = answer["meta"]["pagination"]["cursor"]
        if not cursor:
            break
    assert len(found) == len(set(found))
    assert len(found) == answer["data"]["summary"]["modified_count"]


def test_what_is_large_is_told_in_short(root: str, foundry: Agent) -> None:
    """A value at the head by its size, what changed of a node as far as there is room."""
    assert root
    value = {f"key-{place}": "x" * 100 for place in range(90)}
    told = _data(
        foundry, "authoring spec-update-frontmatter", spec_id=SPEC, key="team", value=value
    )
    assert (told["value"], told["previous_value"]) == ("10071 bytes of JSON", None)
    for place in range(30):
        given = {"spec_id": SPEC, "key": f"k{place}", "value": "y" * 190}
        _data(foundry, "authoring spec-update-frontmatter", **given)
    version = _all(foundry, "spec history", "entries", spec_id=SPEC)[-1]["version"]
    (node,) = _data(foundry, "spec diff", spec_id=SPEC, target=version)["changes"]["modified"]
    assert 10 < len(node["field_changes"]) < 31


def test_a_spec_is_judged_and_mended_at_once(root: str, foundry: Agent) -> None:
    assert root
    tasks = [{"title": "Look", "type": "verify"}]
    given = {"phase": {"title": "More"}, "tasks": tasks}
    _data(foundry, "authoring phase-add-bulk", spec_id=SPEC, **given)
    judged = _data(foundry, "spec validate-fix", spec_id=SPEC, auto_fix=False)
    assert (judged["fixes_applied"], judged["is_valid"]) == (0, False)
    mended = _data(foundry, "spec validate-fix", spec_id=SPEC)
    assert (mended["fixes_applied"], mended["is_valid"]) == (1, True)


def test_a_task_that_was_taken_out_is_told_in_a_difference(root: str, foundry: Agent) -> None:
    """By its id and title."""
    assert root
    _data(foundry, "authoring phase-remove", spec_id=SPEC, phase_id="phase-2", force=True)
    found = _data(foundry, "spec diff", spec_id=SPEC)["changes"]
    assert [one["node_id"] for one in found["removed"]] == ["phase-2", "task-2-1", "task-2-2"]


class Noise:
    """Verbs that write what is about no spec."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def make(self, count: int) -> None:
        """Write so many entries."""
        with transaction(self._context):
            for place in range(count):
                with recording(self._context, "test.noted") as change:
                    change.add_facts(place=place)


def test_a_history_goes_on_past_what_is_about_nothing_of_it(root: str, foundry: Agent) -> None:
    """A page may have nothing, and still tell where to go on."""
    assert root
    _data(foundry, "authoring constraint-add", spec_id=SPEC, text="First")
    foundry.core.use(Noise).make(2_100)
    entries = _all(foundry, "spec history", "entries", spec_id=SPEC)
    assert [one["action"] for one in entries] == ["spec.noted", "plan.created"]
