"""Words of other tools: nothing is done, and the line to type is said with what was given."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from counterpoint.cli.commands import COMMANDS
from counterpoint.cli.foreign_commands import FOREIGN_COMMANDS, Translation
from counterpoint.cli.grouping import cli

LINES = [
    ("ready", "next"),
    ("ready --json", "next --json"),
    ("ready --limit 3", "next --limit 3"),
    ("close 4", "finish 4 --summary TEXT"),
    ("close harbour-4 --reason 'it works'", "finish harbour-4 --summary 'it works'"),
    ("create 'Fix the login' -p 1 --label docs", "add 'Fix the login' --priority 1 --label docs"),
    ("create --title 'Fix it'", "add 'Fix it'"),
    ("comment 4 'looks good'", "note 4 'looks good'"),
    ("search date parser", "find 'date parser'"),
    ("tree 3", "list --root 3"),
    ("claim '#4'", "start '#4'"),
    ("review 4", "approve 4"),
    ("assign 4 rae", "edit 4 --assignee rae"),
    ("undo 4", "reopen 4"),
    ("done m2-3", "finish m2-3 --summary TEXT"),
    ("task 4", "show 4"),
    ("task create 'Fix it'", "add 'Fix it'"),
    ("task edit 4 -s done", "edit 4 --status done"),
    ("dep add 4 3", "edit 4 --after 3"),
    ("set-status --id=4 --status=done", "edit 4 --status done"),
    ("update 4 --title 'New words'", "edit 4 --title 'New words'"),
    ("expand 4 'A part'", "add 'A part' --parent 4"),
    ("delete 4", "edit 4 --status cancelled --reason TEXT"),
    ("update 4", "edit 4 --title TEXT"),
    ("update 4 'New words'", "edit 4 --title 'New words'"),
    ("update 4 -p 1", "edit 4 --priority 1"),
    ("resume", "handoff resume"),
    ("resume 4", "start 4"),
    ("pause 4", "release 4"),
    ("continue s-1", "start s-1"),
    ("ls m2-3", "list --root m2-3"),
    ("history 4", "log --item 4"),
    ("blocked 4", "show 4"),
    ("priority 4 1", "edit 4 --priority 1"),
    ("config", "trust"),
    ("run 4", "check 4"),
    ("run", "supervise ID -- AGENT"),
]


@pytest.mark.parametrize(("typed", "line"), LINES)
def test_the_line_to_type_has_what_was_given(call, place, typed, line):
    said = call(*shlex.split(typed))
    assert (said.code, "nothing was done" in said.err) == (2, True)
    assert f"\n  counterpoint {line}\n" in f"{said.err}\n"


def test_each_of_several_ids_has_its_own_line(call, place):
    said = call("done", "4", "5")
    assert (
        "counterpoint finish 4 --summary TEXT\n  counterpoint finish 5 --summary TEXT" in said.err
    )


def test_options_that_ours_lacks_are_named(call, place):
    said = call("create", "Fix it", "--estimate", "3h")
    assert "counterpoint add 'Fix it'\n" in said.err
    assert "It has no --estimate." in said.err


@pytest.mark.parametrize(
    ("typed", "left"),
    [("stop 4", "4"), ("dep add 4 3 2", "2"), ("update 4 words -p 1", "words")],
)
def test_words_without_a_place_are_named(call, place, typed, left):
    assert f"It has no {left}." in call(*typed.split()).err


def test_a_hidden_command_is_no_suggestion(call, place):
    assert "listings" not in call("settingz").err


def test_programs_read_the_line_as_json(call, place):
    said = call("close", "4", "--json")
    assert said.json["error"] == "invalid_input"
    assert "counterpoint finish 4 --summary TEXT --json" in said.json["hint"]


@pytest.mark.parametrize("words", FOREIGN_COMMANDS)
def test_every_translation_is_a_command_that_takes_its_options(words):
    translation = FOREIGN_COMMANDS[words]
    assert words not in COMMANDS
    line, otherwise, with_id, bare = translation
    for template in filter(None, (line, otherwise, with_id, line + bare)):
        command, used = resolve(template)
        taken = {name for param in command.params for name in param.opts}
        assert {word for word in used if word.startswith("--") and word != "--"} <= taken


def resolve(template: str) -> tuple[click.Command, list[str]]:
    """Return the command that a template begins with, and the words behind it."""
    command: click.Command = cli
    words = template.split()
    while isinstance(command, click.Group):
        found = command.get_command(click.Context(command), words.pop(0))
        assert found is not None
        command = found
    return command, words


def test_our_own_command_wins_over_a_foreign_word(call, place, monkeypatch):
    monkeypatch.setitem(FOREIGN_COMMANDS, "version", Translation("status"))
    assert call("version").out.startswith("counterpoint ")


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        ("reject 3", "reject 3 --reason TEXT"),
        ("waive", "waive ID GATE --reason TEXT"),
        ("waive 3", "waive 3 GATE --reason TEXT"),
        ("finish 3 --achieved 'It parses'", "finish 3 --achieved 'It parses' --summary TEXT"),
        ("add", "add TITLE"),
        ("agent create", "agent create NAME"),
    ],
)
def test_what_is_missing_is_shown_in_the_line_that_was_typed(call, place, typed, line):
    said = call(*shlex.split(typed))
    assert (said.code, f"For example: counterpoint {line}\n" in said.err) == (2, True)


@pytest.mark.parametrize("words", [(), ("key",), ("audit",)])
def test_a_group_alone_prints_its_help_and_ends_well(call, place, words):
    said = call(*words)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(" ".join(("Usage: counterpoint", *words)))


@pytest.mark.e2e
def test_the_short_name_is_the_same_program():
    program = Path(sys.executable).with_name("cpt")
    done = subprocess.run([program, "version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("counterpoint ")
