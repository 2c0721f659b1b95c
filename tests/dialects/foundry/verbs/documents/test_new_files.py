"""Many new files of specs at once: each round takes some in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from builders import Agent
from counterpoint.dialects.foundry.documents.operations import Importing
from counterpoint.dialects.foundry.files.mirror import Mirroring
from counterpoint.dialects.foundry.specs.operations import Specs
from fakes.spec_documents import document

SPEC = "demo-2026-01-02-001"
NONE = "none-2026-01-02-001"


@pytest.fixture
def active(ada: Agent) -> Path:
    """Give the folder in which specs lie that are worked on."""
    folder = ada.core.use(Mirroring).files.specs / "active"
    folder.mkdir(parents=True)
    return folder


def arrive(active: Path, many: int, room: int = 0) -> None:
    """Lay so many files of new specs there, each of so many bytes more, and one that can be no spec."""
    for number in range(many):
        spec = f"more-2026-01-02-{number:03}"
        text = json.dumps(document() | {"spec_id": spec})
        (active / f"{spec}.json").write_text(text + " " * room)
    (active / f"{NONE}.json").write_text("{")


def test_of_many_new_files_each_round_takes_some_in(ada: Agent, active: Path):
    """An edit of what is there comes in with the first of them, and one that can be no spec is told once."""
    ada.core.use(Importing).make(document())
    mirroring = ada.core.use(Mirroring)
    mirroring.round()
    arrive(active, 23)
    edited = active.parent / "pending" / f"{SPEC}.json"
    made = json.loads(edited.read_bytes())
    made["hierarchy"]["task-1-1"]["title"] = "Edited"
    edited.write_text(json.dumps(made))
    rounds = [mirroring.round() for _ in range(4)]
    now = ada.core.use(Specs).document(SPEC)["hierarchy"]
    assert now["task-1-1"]["title"] == "Edited"
    assert sum(len(one.imported) for one in rounds) == 23
    assert [one.waiting for one in rounds] == [14, 4, 0, 0]
    assert set(mirroring.troubles()) == {NONE}
    assert sorted(spec for one in rounds for spec in one.written if spec != SPEC) == [
        f"more-2026-01-02-{number:03}" for number in range(23)
    ]


def test_large_new_files_are_fewer_in_a_round(ada: Agent, active: Path):
    """What takes long is what they say, not how many they are."""
    arrive(active, 5, room=300_000)
    assert ada.core.use(Mirroring).round().waiting in {3, 4}


def test_whoever_waits_for_a_round_has_all_new_files(ada: Agent, active: Path):
    """As a person who imports them."""
    arrive(active, 23)
    done = ada.core.use(Mirroring).round(waits=True)
    assert (len(done.imported), len(done.written), done.waiting) == (23, 23, 0)
    assert (set(done.troubles), set(done.refusals)) == ({NONE}, {NONE})
