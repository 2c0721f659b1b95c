"""What `init` has each client read and run, and what it says of a client that trusts nothing yet."""

from __future__ import annotations

import json

import pytest


def test_agents_md_is_written_beside_the_file_of_one_client(call, installed):
    (installed / "CLAUDE.md").write_text("Mine.\n")
    call("init", "--yes", "--client", "claude", "--client", "codex")
    assert "## Working with" in (installed / "AGENTS.md").read_text()
    assert "## Working with" in (installed / "CLAUDE.md").read_text()


def test_gemini_is_led_to_the_word_to_agents(call, installed):
    """It reads no AGENTS.md of itself: a file of its own takes that in, and goes with the rest."""
    call("init", "--yes", "--client", "gemini")
    wanted = "<!-- counterpoint:begin -->\n@AGENTS.md\n<!-- counterpoint:end -->\n"
    assert (installed / "GEMINI.md").read_text() == wanted
    assert "GEMINI.md: nothing" not in call("init", "--client", "gemini").out
    assert (installed / "GEMINI.md").read_text() == wanted
    call("init", "--remove", "--yes")
    assert not (installed / "GEMINI.md").exists()


@pytest.mark.parametrize("named", ['"AGENTS.md"', '["AGENTS.md", "X.md"]'])
def test_gemini_that_reads_agents_md_needs_no_file_of_its_own(call, installed, named):
    """Its settings can name the files that it reads."""
    (installed / ".gemini").mkdir()
    (installed / ".gemini" / "settings.json").write_text(f'{{"context": {{"fileName": {named}}}}}')
    call("init", "--yes", "--client", "gemini")
    assert not (installed / "GEMINI.md").exists()


def test_what_stays_after_removal_is_said(call, installed):
    """Also the file of what checks may run, which may be the project's own by now."""
    call("init", "--yes", "--client", "claude")
    assert "counterpoint.toml stays" not in call("init", "--remove", "--yes").out
    (installed / "counterpoint.toml").write_text("[checks]\n")
    assert "counterpoint.toml stays" in call("init", "--remove", "--yes").out


def test_a_file_that_gemini_has_already_gets_the_section(call, installed):
    (installed / "GEMINI.md").write_text("Mine.\n")
    call("init", "--yes", "--client", "gemini")
    assert (
        (installed / "GEMINI.md")
        .read_text()
        .startswith("Mine.\n\n<!-- counterpoint:begin -->\n## ")
    )


def test_what_has_to_be_trusted_in_a_client_is_said(call, installed):
    """Codex and Gemini CLI read nothing of a project before that, and Codex runs no hook that it was not shown."""
    said = call(
        "init", "--yes", *(f"--client={one}" for one in ("codex", "gemini")), "--hooks", "--events"
    ).out
    assert "once you have trusted the folder" in said
    assert "once you have trusted the project" in said
    assert "with `/hooks`" in said
    hooks = json.loads((installed / ".codex" / "hooks.json").read_text())["hooks"]
    assert {name: one[0]["hooks"][0]["command"] for name, one in hooks.items()} == {
        "SessionStart": "counterpoint prime --hook codex || true",
        "Stop": "counterpoint prime --hook codex || true",
        "PostToolUse": "counterpoint event --hook codex || true",
    }
    call("init", "--remove", "--yes")
    assert not (installed / ".codex").exists()
    assert not (installed / ".gemini").exists()
