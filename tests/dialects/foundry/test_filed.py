"""Calls about specs of which only the file is there, or whose file is in trouble."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from builders import Agent
from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.documents.rules.importing import Record, load_record
from counterpoint.dialects.foundry.files import spec_files
from counterpoint.dialects.foundry.files.filed import with_files
from counterpoint.dialects.foundry.files.mirror import Arriving, Mirroring
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import NotFound
from fakes.spec_documents import document

SPEC = "demo-2026-01-02-001"


@pytest.fixture
def file(foundry: Agent) -> Path:
    """Give the file of a spec that the ledger does not have."""
    found = foundry.core.use(Mirroring).files.specs / "active" / f"{SPEC}.json"
    found.parent.mkdir(parents=True)
    found.write_text(json.dumps(document()))
    return found


def test_a_spec_comes_in_when_it_is_named(foundry: Agent, file: Path):
    """By whoever names it; one that is nowhere is refused as ever."""
    told = foundry.does("task", action="next", spec_id=SPEC)
    assert told["data"]["task_id"] == "task-1-1"
    assert "warnings" not in told["meta"]
    found = foundry.is_refused("task", action="next", spec_id="gone-2026-01-02-001")
    assert found["data"]["error_code"] == "SPEC_NOT_FOUND"


def test_a_spec_that_is_looked_for_comes_in_too(foundry: Agent, file: Path):
    """To find it is to name it; one that is nowhere is not found, and no error."""
    found = foundry.does("spec", action="find", spec_id=SPEC)["data"]
    assert (found["found"], found["status_folder"]) == (True, "active")
    assert foundry.does("spec", action="find", spec_id="gone-2026-01-02-001")["data"] == {
        "found": False,
        "spec_id": "gone-2026-01-02-001",
    }


def test_files_of_before_stay_with_the_project_that_wrote_them(foundry: Agent, file: Path):
    """Until it was written down who keeps them, what was written last tells it."""
    foundry.does("task", action="next", spec_id=SPEC)
    files = foundry.core.use(Mirroring).files
    (marker,) = files.state.glob("mirror-*")
    marker.unlink()
    other = replace(files, project="elsewhere")
    assert (other.other_keeper(), files.other_keeper()) == (files.project, "")
    assert not other.claim()
    assert files.claim()
    assert marker.read_text() == files.project
    assert not other.open()


def test_who_comes_first_keeps_the_files_of_a_folder(foundry: Agent, file: Path):
    """And nobody after him, also of another ledger of the same name."""
    files = foundry.core.use(Mirroring).files
    other = replace(files, project="elsewhere")
    assert other.claim()
    assert (files.claim(), files.open(), files.other_keeper()) == (False, False, "elsewhere")
    away = replace(files, project="elsewhere", state=file.parent)
    assert (away.claim(), away.other_keeper()) == (False, "elsewhere")
    assert "kept by the project elsewhere" in str(
        foundry.is_refused("task", action="next", spec_id=SPEC)["data"]["remediation"]
    )


def test_a_spec_that_another_took_in_meanwhile_is_found(foundry: Agent, file: Path):
    """A call may wait for its turn at the files as long as somebody takes in hundreds of them."""
    call = Call(core=foundry.core, secret=lambda: b"secret")
    asked: list[str] = []

    def run() -> Json:
        asked.append(SPEC)
        if len(asked) == 1:
            foundry.core.use(Mirroring).round()
            raise NotFound(f"there is no spec {SPEC!r}", error_code="SPEC_NOT_FOUND")
        found = foundry.core.items.find(SPEC)
        return {"data": found.title if found else None}

    assert with_files(call, {"spec_id": SPEC}, run) == {"data": document()["title"]}
    assert len(asked) == 2


def test_a_file_in_trouble_is_told_with_each_answer(foundry: Agent, file: Path):
    """Until it is mended."""
    foundry.does("task", action="next", spec_id=SPEC)
    before = file.read_bytes()
    file.write_text("{")
    foundry.core.use(Mirroring).round()
    told = foundry.does("task", action="next", spec_id=SPEC)
    assert "(invalid)" in told["meta"]["warnings"][0]
    file.write_bytes(before)
    foundry.core.use(Mirroring).round()
    assert "warnings" not in foundry.does("task", action="next", spec_id=SPEC)["meta"]


def test_how_many_new_files_are_still_to_be_read_is_told(foundry: Agent, file: Path):
    """With each answer, until they are in; one that a call names does not wait for the others."""
    for number in range(15):
        spec = f"more-2026-01-02-{number:03}"
        text = json.dumps(document() | {"spec_id": spec})
        file.with_name(f"{spec}.json").write_text(text)
    foundry.core.use(Mirroring).round()
    for given in ({"spec_id": SPEC}, {"spec_id": "more-2026-01-02-014"}):
        told = foundry.does("task", action="next", **given)
        assert "still to be read: 6;" in told["meta"]["warnings"][-1]
    assert "still to be read: 6;" in foundry.does("spec", action="list")["meta"]["warnings"][-1]
    foundry.core.use(Mirroring).round()
    assert "warnings" not in foundry.does("spec", action="list")["meta"]


def test_nothing_is_to_be_read_where_the_folder_is_gone(foundry: Agent, file: Path):
    """Whatever lay in it when it was looked at last."""
    foundry.core.use(Mirroring).round()
    foundry.core._context.ports.remember(Arriving).files = 3
    assert foundry.core.use(Mirroring).arriving()
    shutil.rmtree(file.parent.parent)
    assert foundry.core.use(Mirroring).arriving() == ""


def test_what_was_written_last_is_read_again_only_where_it_is_another(
    foundry: Agent, file: Path, monkeypatch: pytest.MonkeyPatch
):
    """Each call asks for it, and whether its own spec is in trouble stands there."""
    foundry.does("task", action="next", spec_id=SPEC)
    foundry.core.use(Mirroring).round()
    read: list[bytes] = []

    def load(data: bytes) -> Record:
        read.append(data)
        return load_record(data)

    monkeypatch.setattr(spec_files, "load_record", load)
    for _ in range(3):
        foundry.does("task", action="next", spec_id=SPEC)
    assert len(read) == 1
    file.write_text("{")
    foundry.core.use(Mirroring).round()
    read.clear()
    for _ in range(3):
        assert foundry.does("task", action="next", spec_id=SPEC)["meta"]["warnings"]
    assert len(read) == 1


def test_a_file_that_is_none_refuses_the_call(foundry: Agent, file: Path):
    """With what is wrong in it."""
    file.write_text("{")
    reply = foundry.call("task", {"action": "next", "spec_id": SPEC})
    assert reply.is_error
    assert "not valid JSON" in reply.text
