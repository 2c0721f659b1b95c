"""Setting up anew: another dialect, and files that are not what they should be."""

from __future__ import annotations

import json

import pytest

from counterpoint.evidence.places import open_folder
from counterpoint.kernel.errors import StoreReadOnly


def entry_of(folder):
    """Return the arguments of our entry for Claude Code."""
    entry = json.loads((folder / ".mcp.json").read_text())["mcpServers"]["counterpoint"]
    return entry["args"]


def test_another_dialect_replaces_the_one_before_in_every_file(call, installed):
    """In hooks too, without `--hooks`; what an owner added to the arguments stays, and so do the hooks of others."""
    call("init", "--yes", "--client", "claude", "--dialect", "foundry", "--hooks")
    path, settings = installed / ".mcp.json", installed / ".claude" / "settings.json"
    path.write_text(path.read_text().replace('"mcp",', '"mcp", "--project", "mine",'))
    theirs = json.loads(settings.read_text())
    theirs["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "bell"}]})
    settings.write_text(json.dumps(theirs))
    assert call("init", "--yes", "--client", "claude", "--dialect", "agentic").code == 0
    assert entry_of(installed) == [
        *("mcp", "--dialect", "agentic", "--project", "mine", "--agent", "claude")
    ]
    text = settings.read_text()
    assert ("foundry" in text, "--hook claude --dialect agentic" in text) == (False, True)
    assert "bell" in text
    assert "mcp__counterpoint__spec" not in text
    assert call("init", "--yes", "--client", "claude", "--dialect", "native").code == 0
    assert "--dialect" not in entry_of(installed)
    assert "--dialect" not in settings.read_text()
    assert "`brief`" in (installed / "AGENTS.md").read_text()


def test_the_dialect_that_stands_there_stays(call, installed):
    """A later `init` that names none tells agents of no tools that they are not offered."""
    call("init", "--yes", "--client", "claude", "--dialect", "workflow")
    guide = (installed / "AGENTS.md").read_text()
    assert call("init", "--yes", "--client", "cursor").code == 0
    assert (installed / "AGENTS.md").read_text() == guide
    assert '"workflow"' in (installed / ".cursor" / "mcp.json").read_text()


def test_hooks_that_nobody_asked_for_are_not_written(call, installed):
    """Another dialect is no reason to have a client run something."""
    (installed / ".claude").mkdir()
    (installed / ".claude" / "settings.json").write_text("{}")
    call("init", "--yes", "--client", "claude", "--dialect", "workflow")
    assert "hooks" not in (installed / ".claude" / "settings.json").read_text()


@pytest.mark.parametrize("name", [".mcp.json", "AGENTS.md", "CLAUDE.md"])
def test_a_folder_in_the_place_of_a_file_is_left(call, installed, name):
    """The rest is done, and what is to be done by hand is said."""
    (installed / name).mkdir()
    said = call("init", "--yes", "--client", "claude")
    assert (said.code, "went wrong" in said.err) == (0, False)
    assert ("by hand" in said.out) == (name != "CLAUDE.md")
    assert call("status").code == 0


def test_where_no_folder_can_be_made_that_is_said(tmp_path):
    """The system's own words, and where to look."""
    (tmp_path / "file").touch()
    with pytest.raises(StoreReadOnly, match="cannot be made") as refused:
        open_folder(tmp_path / "file" / ".counterpoint")
    assert "the mode" in refused.value.hint


def test_a_file_that_cannot_be_written_is_named(call, installed):
    """With what to look at, and not as a fault of the program."""
    (installed / ".claude").write_text("a file, and no folder")
    said = call("init", "--yes", "--client", "claude", "--hooks")
    assert (said.code, "settings.json cannot be written" in said.err) == (3, True)
    assert "owner and the mode" in said.err


def test_a_ledger_elsewhere_is_told_with_what_finds_it(call, installed, tmp_path):
    """A path of one machine is not written into files of the team, so it is said what to set."""
    place = tmp_path / "else where" / "ledger.db"
    place.parent.mkdir()
    said = call("init", "--yes", "--client", "claude", "--db", str(place))
    assert f"export COUNTERPOINT_DB='{place}'" in said.out
    assert "else where" not in (installed / ".mcp.json").read_text()


def test_what_was_written_with_the_name_of_before_goes_on(call, installed):
    call("init", "--yes", "--client", "claude", "--dialect", "workflow", "--hooks")
    files = [installed / ".mcp.json", installed / ".claude" / "settings.json"]
    for file in files:
        file.write_text(file.read_text().replace("--dialect", "--surface"))
    before = [file.read_text() for file in files]
    assert call("init", "--yes", "--client", "claude", "--hooks").code == 0
    assert [file.read_text() for file in files] == before
    assert call("init", "--yes", "--client", "claude", "--dialect", "agentic").code == 0
    assert entry_of(installed) == ["mcp", "--dialect", "agentic", "--agent", "claude"]
    assert "--surface" not in files[1].read_text()
