"""An edit of a spec's file is let in by the lock of a run and by roles as a call is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from builders import Agent
from counterpoint.dialects.foundry.verbs.mirror.mirroring import Mirroring
from counterpoint.dialects.foundry.verbs.specs import Specs
from counterpoint.kernel.errors import Conflict, Forbidden
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
    """A run that locks nothing keeps nothing out."""
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
    """The file of the project counts for edits as for connections."""
    mirror = Mirror(party.gus)
    config = mirror.path.parents[2] / "foundry-mcp.toml"
    config.write_text('[autonomy_security]\nrole = "observer"\n')
    before = mirror.title
    mirror.edit("Edited")
    assert (mirror.title, mirror.troubles) == (before, ["locked"])
