"""An edit of a spec's file is let in by the lock of a run and by roles as a call is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from builders import Agent
from counterpoint.core.model.identity import Identity
from counterpoint.dialects.foundry.files.mirror import Mirroring
from counterpoint.dialects.foundry.runs.locking import OpenRoles
from counterpoint.dialects.foundry.specs.operations import Specs
from counterpoint.kernel.errors import Conflict, Forbidden
from fakes.gates import person_of
from fakes.run_party import SPEC, Party


class Mirror:
    """The file of the spec of a party, kept by rounds."""

    def __init__(self, agent: Agent) -> None:
        """Write the file once."""
        self.agent = agent
        files = agent.core.use(Mirroring).files
        files.specs.mkdir()
        self.round()
        self.path: Path = next(files.specs.glob("*/*.json"))

    def round(self) -> None:
        """Let the mirror look once."""
        self.agent.core.use(Mirroring).round()

    def edit(self, title: str) -> bytes:
        """Change the title of a task in the file, and let the mirror look."""
        document = json.loads(self.path.read_bytes())
        document["hierarchy"]["task-2-1"]["title"] = title
        content = json.dumps(document).encode()
        self.path.write_bytes(content)
        self.round()
        return content

    @property
    def title(self) -> Any:
        """The title of that task in the ledger."""
        document: Any = self.agent.core.use(Specs).document(SPEC)
        return document["hierarchy"]["task-2-1"]["title"]

    @property
    def troubles(self) -> list[str]:
        """Of what kind the troubles with files are."""
        return [one.kind for one in self.agent.core.use(Mirroring).troubles().values()]


def warnings(agent: Agent) -> str:
    """Return what an answer about the spec warns of."""
    answer = agent.does("task", action="progress", spec_id=SPEC)
    return " ".join(answer["meta"].get("warnings", []))


def test_an_edit_waits_for_the_end_of_the_run(party: Party) -> None:
    """It stays in the file, the next answer says so, and it comes in once the run is paused."""
    mirror = Mirror(party.gus)
    run = party.start()
    mirror.round()
    before = mirror.title
    content = mirror.edit("Edited")
    mirror.round()
    assert mirror.title == before
    assert mirror.troubles == ["locked"]
    assert mirror.path.read_bytes() == content
    assert f"run {run} is working on {SPEC}" in warnings(party.gus)
    with pytest.raises(Conflict):
        party.gus.core.use(Mirroring).take(SPEC, "file")
    assert mirror.title == before
    party.does("pause")
    party.gus.core.use(Mirroring).take(SPEC, "file")
    assert (mirror.title, mirror.troubles) == ("Edited", [])
    assert "left as it is" not in warnings(party.gus)


def test_an_edit_during_a_run_without_a_lock_comes_in(party: Party) -> None:
    mirror = Mirror(party.gus)
    party.start(enforce_write_lock=False)
    mirror.round()
    mirror.edit("Edited")
    assert (mirror.title, mirror.troubles) == ("Edited", [])


@pytest.mark.parametrize("role", ["observer", "autonomy_runner", "unheard of"])
def test_an_edit_waits_while_a_connection_has_a_role_that_may_not_make_it(
    party: Party, role: str
) -> None:
    """Nobody knows who edited a file: it may have been whoever has least."""
    mirror = Mirror(party.gus)
    narrow = party.as_role(role)
    narrow.does("task", action="prepare", spec_id=SPEC)
    before = mirror.title
    content = mirror.edit("Edited")
    mirror.round()
    assert (mirror.title, mirror.troubles) == (before, ["locked"])
    assert mirror.path.read_bytes() == content
    assert "the role" in warnings(party.gus)
    with pytest.raises(Forbidden):
        party.gus.core.use(Mirroring).take(SPEC, "file")


def test_an_edit_waits_where_the_project_names_such_a_role(party: Party) -> None:
    mirror = Mirror(party.gus)
    config = mirror.path.parents[2] / "foundry-mcp.toml"
    config.write_text('[autonomy_security]\nrole = "observer"\n')
    before = mirror.title
    mirror.edit("Edited")
    assert (mirror.title, mirror.troubles) == (before, ["locked"])


def new_file(mirror: Mirror, name: str) -> Path:
    """Write a file of a further spec; the mirror has not looked yet."""
    path = mirror.path.with_name(f"{name}.json")
    document = json.loads(mirror.path.read_bytes())
    path.write_text(json.dumps({**document, "spec_id": name}))
    return path


@pytest.mark.parametrize("role", ["observer", "autonomy_runner"])
def test_a_new_file_waits_as_an_edit_does(party: Party, role: str) -> None:
    """A round takes it in for nobody known; whoever may change specs takes it in by naming it, and an observer does not."""
    mirror = Mirror(party.gus)
    narrow = party.as_role(role)
    narrow.does("task", action="prepare", spec_id=SPEC)
    name = "other-2026-01-02-001"
    new_file(mirror, name)
    mirror.round()
    assert mirror.troubles == ["locked"]
    answer = narrow.does("spec", action="find", spec_id=name)
    assert answer["data"]["found"] is False
    assert f"The file of {name} waits: " in " ".join(answer["meta"]["warnings"])
    refused = narrow.is_refused("task", action="prepare", spec_id=name)
    assert refused["data"]["error_code"] == "SPEC_NOT_FOUND"
    assert "waits" in json.dumps(refused)
    assert party.gus.does("spec", action="find", spec_id=name)["data"]["found"] is True
    mirror.round()
    assert mirror.troubles == []


def test_a_person_takes_in_what_a_role_or_a_run_keeps_out(party: Party) -> None:
    """By a command: what a person says is in a file is theirs, whoever else is connected."""
    mirror = Mirror(party.gus)
    party.as_role("observer").does("task", action="prepare", spec_id=SPEC)
    party.start()
    mirror.round()
    mirror.edit("Edited")
    assert mirror.troubles == ["locked"]
    assert "--take file" in warnings(party.gus)
    person_of(party.workshop).use(Mirroring).take(SPEC, "file")
    assert (mirror.title, mirror.troubles) == ("Edited", [])


def test_the_rounds_of_other_processes_hold_what_a_connection_may_not(party: Party) -> None:
    """A command knows no connections of a server; it finds beside the ledger what the server has told."""
    mirror = Mirror(party.gus)
    before = mirror.title
    party.as_role("observer").does("task", action="prepare", spec_id=SPEC)
    other = party.workshop.project("").core(Identity(kind="agent", name="file")).use(Mirroring)
    document = json.loads(mirror.path.read_bytes())
    document["hierarchy"]["task-2-1"]["title"] = "Edited"
    mirror.path.write_text(json.dumps(document))
    new_file(mirror, "other-2026-01-02-001")
    assert [one.kind for one in other.round().troubles.values()] == ["locked", "locked"]
    assert mirror.title == before


def test_a_role_whose_file_was_taken_away_is_told_anew(tmp_path: Path) -> None:
    """Removed, put aside, or with another one laid in its place, by whom it binds; the next look of its process makes it again."""
    roles = OpenRoles()
    roles.publish(tmp_path, "main", "observer")
    for number in range(3):
        (path,) = tmp_path.glob("roles-*")
        if number:
            path.rename(tmp_path / f"aside-{number}")
        else:
            path.unlink()
        if number == 2:
            path.write_text("maintainer")
        assert OpenRoles().published(tmp_path, "main") == []
        roles.publish(tmp_path, "main", "observer")
        assert OpenRoles().published(tmp_path, "main") == ["observer"]


def test_a_role_counts_for_who_has_seen_it_when_its_file_is_taken_away(tmp_path: Path) -> None:
    """Also where another file is laid in its place; the next look of its process ends that, and so does the end of the process."""
    roles, others = OpenRoles(), OpenRoles()
    roles.publish(tmp_path, "main", "observer")
    assert others.published(tmp_path, "main") == ["observer"]
    (path,) = tmp_path.glob("roles-*")
    path.unlink()
    path.write_text("maintainer")
    assert others.published(tmp_path, "main") == ["observer"]
    assert others.published(tmp_path, "elsewhere") == []
    roles.publish(tmp_path, "main", "maintainer")
    assert others.published(tmp_path, "main") == []
    assert others.published(tmp_path, "main") == []
    assert not path.exists()


def test_the_role_of_a_process_that_has_ended_counts_no_more(tmp_path: Path) -> None:
    """Its lock is free, and its file is taken away."""
    roles, others = OpenRoles(), OpenRoles()
    roles.publish(tmp_path, "main", "observer")
    assert others.published(tmp_path, "main") == ["observer"]
    assert others.published(tmp_path, "other") == []
    roles.publish(tmp_path, "main", "maintainer")
    assert others.published(tmp_path, "main") == ["maintainer"]
    (path,) = tmp_path.iterdir()
    left = tmp_path / "roles-main-0123456789abcdef.lock"
    left.write_bytes(path.read_bytes())
    assert others.published(tmp_path, "main") == ["maintainer"]
    assert not left.exists()
    # Another project, whose name begins with this one's.
    roles.publish(tmp_path, "main-web", "observer")
    assert others.published(tmp_path, "main") == ["maintainer"]
