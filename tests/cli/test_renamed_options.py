"""Options that have a new name: the old one goes on to work, and no help shows it."""

from __future__ import annotations

import click
import pytest

from counterpoint.cli.grouping import RenamedOption, cli, walk
from counterpoint.relay.start import FLAGS

RENAMED = [
    (name, option)
    for name, command in walk(cli)
    for option in command.params
    if isinstance(option, RenamedOption)
]


@pytest.mark.parametrize(("name", "option"), RENAMED, ids=[name for name, _ in RENAMED])
def test_the_help_shows_the_new_name_alone(call, place, name, option):
    said = call(*name.split(), "--help").out
    before = option.opts[-1]
    assert option.opts[0] in said
    assert f"{before} " not in said
    assert f"{before}," not in said


def test_no_option_is_shown_under_a_name_of_before():
    shown = {
        flag
        for _, command in walk(cli)
        for option in command.params
        if isinstance(option, click.Option)
        for flag in option.opts[:1]
    }
    assert not shown & {"--surface", "--verify"}


@pytest.mark.parametrize("flag", ["--dialect", "--surface"])
def test_tools_are_listed_under_either_name(call, place, flag):
    assert "task_create" in call("tools", flag, "colibri").out


@pytest.mark.parametrize("flag", ["--check", "--verify"])
def test_checks_are_given_under_either_name(call, ledger, flag):
    made = call("add", "Parse dates", flag, "true", "--json").json["item"]["id"]
    (gate,) = call("show", made, "--json").json["gates"]
    assert gate["argv"] == ["true"]


def test_the_relay_takes_the_dialect_under_either_name():
    assert (FLAGS["dialect"], FLAGS["surface"]) == ("surface", "surface")
