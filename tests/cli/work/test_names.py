"""Items are named as people name them, and shells complete them."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("name", ["harbour-6", "HARBOUR-006", "6", "#6", "Paint", "paint THE"])
def test_an_item_has_many_names(call, ledger, name):
    said = call("edit", name, "--add-label", "x", "--json")
    assert (said.code, said.json["item"]["id"]) == (0, "harbour-6"), said.err

    work = call("export", name, "--format", "json")
    assert work.out == call("export", "harbour-6", "--format", "json").out != ""
    if name.lstrip("#") == "6":
        command = ("audit", "redact", name, "--reason", "a name", "--json")
        assert call(*command).json["id"] == "harbour-6"


def test_a_beginning_that_several_titles_have_names_them(call, ledger):
    call("add", "Paint the mast")
    said = call("edit", "paint", "--add-label", "x")
    assert said.code == 2
    assert "harbour-6 (Paint the hull)" in said.err
    assert "harbour-8 (Paint the mast)" in said.err
    call("add", "Paint")
    assert call("edit", "paint", "--add-label", "x").out == "harbour-9 is open: Paint\n"


@pytest.mark.parametrize("name", ["99", "#99", "nothing", "", "harbour-99"])
def test_a_name_that_nothing_has_is_not_found(call, ledger, name):
    said = call("edit", name, "--add-label", "x")
    assert (said.code, "counterpoint find" in said.err) == (1, True)


def test_a_shell_is_offered_ids_with_their_titles(call, ledger, monkeypatch, capsys):
    """Those that are not closed first; without a ledger nothing, and nothing is said."""
    monkeypatch.setenv("_COUNTERPOINT_COMPLETE", "zsh_complete")
    monkeypatch.setenv("COMP_WORDS", "counterpoint start harbour-")
    monkeypatch.setenv("COMP_CWORD", "2")
    with pytest.raises(SystemExit):
        call()
    offered = capsys.readouterr().out.split("\n")
    assert offered[:3] == ["plain", "harbour-1", "Harbour"]
    assert "harbour-7" in offered
    monkeypatch.chdir(ledger.parent)
    with pytest.raises(SystemExit):
        call()
    said = capsys.readouterr()
    assert (said.out.strip(), said.err) == ("", "")


@pytest.mark.parametrize(
    ("typed", "has", "lacks"),
    [
        ("show ses_", "ses_", "harbour-4"),
        ("show harbour-r", "harbour-r1", "ses_"),
        ("release ses_", "ses_", "harbour-r"),
        ("unblock harbour-r", "harbour-r2", "ses_"),
        ("handoff continue ses_", "ses_", "harbour-"),
    ],
)
def test_a_shell_is_offered_sessions_and_records_too(
    ledger, call, monkeypatch, capsys, typed, has, lacks
):
    monkeypatch.setenv("_COUNTERPOINT_COMPLETE", "zsh_complete")
    monkeypatch.setenv("COMP_WORDS", f"counterpoint {typed}")
    monkeypatch.setenv("COMP_CWORD", str(typed.count(" ") + 1))
    with pytest.raises(SystemExit):
        call()
    offered = capsys.readouterr().out.split("\n")[1::3]
    assert any(one.startswith(has) for one in offered)
    assert not any(one.startswith(lacks) for one in offered)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_what_completes_in_a_shell_is_printed(call, place, shell):
    said = call("completion", shell)
    assert (said.code, f"_COUNTERPOINT_COMPLETE={shell}_complete" in said.out) == (0, True)


@pytest.mark.parametrize(
    ("typed", "has"),
    [
        ("list --status do", "done"),
        ("list --label ", "urgent"),
        ("next --label u", "urgent"),
        ("list --assignee ", "zoe"),
        ("edit 6 --status ca", "cancelled"),
        ("edit 6 --remove-label ur", "urgent"),
        ("check 6 --gate ", "check-1"),
        ("waive 6 ", "check-1"),
    ],
)
def test_a_shell_is_offered_states_labels_and_gates(ledger, call, monkeypatch, capsys, typed, has):
    """Those that the project has, or the item that is named; nothing for an item that there is not."""
    call("edit", "6", "--add-label", "urgent", "--assignee", "zoe", "--verify", "true")
    monkeypatch.setenv("_COUNTERPOINT_COMPLETE", "bash_complete")
    for words, count in ((typed, 1), (f"{typed.replace('6', '99')}x", 0)):
        monkeypatch.setenv("COMP_WORDS", f"counterpoint {words}")
        monkeypatch.setenv("COMP_CWORD", str(words.count(" ") + 1))
        with pytest.raises(SystemExit):
            call()
        assert capsys.readouterr().out.split("\n").count(f"plain,{has}") == count
