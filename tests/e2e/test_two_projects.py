"""Two projects of one folder: one keeps the files of its specs, the other has nothing of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from counterpoint.app import App
from counterpoint.dialects.foundry.files.mirror import Mirroring
from fakes.spec_documents import document

from .wire import SERVER, Client, Refused

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

SPEC = "demo-2026-01-02-001"
CALLS = {
    "task": [
        {"action": "prepare"},
        {"action": "start", "task_id": "task-1-1"},
        {"action": "complete", "task_id": "task-1-1", "completion_note": "Done"},
    ],
    "spec": [{"action": "get"}, {"action": "validate"}],
    "lifecycle": [{"action": "activate"}],
}


@pytest.fixture
def clients(repository: Path) -> Iterator[list[Client]]:
    """Give an agent of the folder's own project, and one of another."""
    with ExitStack() as stack:
        made: list[Client] = []
        for words in ((), ("--project", "elsewhere")):
            client = Client(repository, (*SERVER, "--surface", "foundry", *words))
            stack.callback(client.close)
            client.greet()
            made.append(client)
        yield made


def test_no_spec_of_one_project_comes_into_another_by_its_file(
    repository: Path, app: App, clients: list[Client]
) -> None:
    """It is not found, not begun and not written over, and each answer says why."""
    file = repository / "specs/active" / f"{SPEC}.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(document()))
    main, elsewhere = clients
    assert main.call("spec", action="find", spec_id=SPEC)["data"]["found"]
    found = elsewhere.call("spec", action="find", spec_id=SPEC)
    assert found["data"]["found"] is False
    assert "neither reads nor writes them" in found["meta"]["warnings"][0]
    for tool, calls in CALLS.items():
        for asked in calls:
            with pytest.raises(Refused) as refused:
                elsewhere.call(tool, spec_id=SPEC, **asked)
            data = refused.value.answer["data"]
            assert data["error_code"] == "SPEC_NOT_FOUND"
            assert "neither reads nor writes them" in data["remediation"]
    assert elsewhere.call("spec", action="list")["data"]["specs"] == []
    plan = repository / "specs/plan.md"
    plan.write_text("# Plan\n")
    paths = {"plan_path": "plan.md", "plan_review_path": "plan.md"}
    made = elsewhere.call("authoring", action="spec-create", name="Theirs", **paths)
    assert "neither reads nor writes them" in made["meta"]["warnings"][0]
    app.person().use(Mirroring).round(waits=True)
    assert not list(repository.glob("specs/*/theirs*"))
    assert [path.name for path in repository.glob("specs/*/*.json")] == [file.name]
    node = main.call("task", action="info", spec_id=SPEC, task_id="task-1-1")
    assert node["data"]["task"]["status"] == "pending"
