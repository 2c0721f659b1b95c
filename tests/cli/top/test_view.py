"""The live view: what stands on it, that it follows, and what its keys have done."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from counterpoint.cli.main import run
from counterpoint.cli.top import view
from counterpoint.cli.top.snapshot import HEADINGS, Snapshot
from counterpoint.cli.top.view import Lost, Seen
from counterpoint.core.coordinator import Core
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Note
from counterpoint.kernel.errors import Unavailable
from fakes.looking_on import misses, screen_of, sees

HOSTILE = "[bold red]Sink[/] [@click=app.quit]it[/] \x1b]0;owned\x07\x1b[2J\u202eeht"
PATIENCE = 180

pytestmark = pytest.mark.timeout(PATIENCE)


def added(agent: Core, draft: Draft) -> str:
    """Return the id of an item that was made of a draft."""
    return agent.plans.create(draft).root.id


def test_every_pane_shows_its_rows_at_80_columns(on_view):

    async def play(view, pilot):
        await sees(view, pilot, "No paint", "a blocker of ada", "blocker.recorded", "q Quit")
        await pilot.press("2")
        await sees(view, pilot, "[2 Agents", "ada", "last heard of")
        await pilot.press("tab")
        await sees(view, pilot, "[3 Claims 1]", "left", "Lay the keel")
        await pilot.press("4")
        await sees(view, pilot, "[4 Ready 0]")
        await pilot.press("5")
        shown = await sees(view, pilot, "[5 Events", "plan.created", "check.passed")
        assert max(map(len, shown.splitlines())) == 80
        await pilot.press("shift+tab")
        await sees(view, pilot, "[4 Ready 0]")

    on_view(play)


@pytest.mark.parametrize("before", [(), ("question_mark",), ("3", "r")])
def test_ctrl_c_leaves_from_wherever_one_is(on_view, before):

    async def play(view, pilot):
        await sees(view, pilot, "q Quit")
        await pilot.press(*before)
        await pilot.press("ctrl+c")
        assert view.return_code == 0

    on_view(play)


def test_where_there_is_room_all_panes_are_shown(on_view):

    async def play(view, pilot):
        await sees(view, pilot, "No paint", "Lay the keel", "plan.created", "last heard of")
        assert all(view.query_one(f"#{name}").display for name in HEADINGS)

    on_view(play, (160, 45))


def test_what_an_agent_does_comes_by_itself(on_view, agent):

    async def play(view, pilot):
        await sees(view, pilot, "Waiting 1")
        agent.journal.append(Note(kind="finding", body="The lock is rusty"))
        await sees(view, pilot, "The lock is rusty")
        added(agent, Draft(title="Oil the lock", kind="task"))
        await pilot.press("4")
        await sees(view, pilot, "Oil the lock", "[4 Ready 1]")

    on_view(play)


def test_titles_of_strangers_are_texts_and_nothing_else(on_view, agent):
    made = added(agent, Draft(title=HOSTILE, kind="task"))

    async def play(view, pilot):
        await pilot.press("4")
        shown = await sees(view, pilot, "[bold red]Sink[/]", "[@click=app.quit]it[/]")
        assert not {"\x1b", "\x07", "\u202e"} & set(shown)
        await pilot.press("up", "up", "down")
        await pilot.press("slash", *"Sink", "enter", "enter")
        shown = await sees(view, pilot, f"{made}  [bold red]Sink[/]")
        assert not {"\x1b", "\x07", "\u202e"} & set(shown)
        await pilot.press("escape", "x")
        await sees(view, pilot, f"reject {made}", "[@click=app.quit]it[/]")
        view.notify(HOSTILE, markup=False)

    on_view(play, (110, 30))


def test_a_check_that_nobody_has_allowed_waits_with_the_line_that_allows_it(on_view, agent):
    argv = ("test", "-s", "keel.txt")
    made = added(agent, Draft(title="Weigh the keel", kind="task", checks=(argv,)))
    line = "counterpoint trust --allow 'test -s keel.txt'"

    async def play(view, pilot):
        await sees(view, pilot, "Waiting 2", made, "a check to be allowed", line)
        await pilot.press("down", "enter")
        await sees(view, pilot, f"{made}  Weigh the keel", "check-1", f"`{line}`")

    on_view(play, (180, 40))


def test_a_filter_leaves_the_rows_that_have_its_words(on_view):

    async def play(view, pilot):
        await pilot.press("5")
        await sees(view, pilot, "plan.created", "check.passed")
        await pilot.press("slash", *"CHECK keel", "enter")
        shown = await misses(view, pilot, "plan.created")
        assert "check.passed" in shown
        assert "CHECK keel" in shown
        await pilot.press("escape")
        await sees(view, pilot, "plan.created", "check.passed")

    on_view(play)


@pytest.mark.long
def test_enter_shows_a_row_whole(on_view):

    async def play(view, pilot):
        await pilot.press("3")
        await sees(view, pilot, "[3 Claims 1]")
        await pilot.press("enter")
        await sees(view, pilot, "Gates", "check-1", "Back")
        await pilot.press("escape", "5")
        await sees(view, pilot, "[5 Events")
        await pilot.press("enter")
        await sees(view, pilot, "entry #")
        await pilot.press("escape", "question_mark")
        await sees(view, pilot, "resolve a blocker")

    on_view(play)


def test_what_comes_while_the_view_is_taken_down_is_shown_to_nobody(on_view):

    async def play(view, pilot):
        await sees(view, pilot, "q Quit")
        await view.query("#head, #trouble").remove()
        view.post_message(Lost("gone"))
        view.post_message(Seen(Snapshot(head="", you="", panes={}, last=0)))
        await pilot.pause()

    on_view(play)


@pytest.mark.long
def test_the_row_that_was_chosen_stays_chosen(on_view, agent):
    second = added(agent, Draft(title="Scrub the deck", kind="task", priority=3))

    async def play(view, pilot):
        await pilot.press("4")
        await sees(view, pilot, "Scrub the deck")
        await pilot.press("down")
        added(agent, Draft(title="Man the pumps", kind="task", priority=0))
        await sees(view, pilot, "Man the pumps")
        await pilot.press("a")
        await sees(view, pilot, f"approve {second}")
        await pilot.press("escape")
        agent.claims.start(second)
        await sees(view, pilot, "[4 Ready 1]")

    on_view(play)


@pytest.mark.parametrize(
    ("pane", "key", "words"),
    [
        ("3", "r", ("release", "--reason=--db gone", "--", "harbour-4")),
        ("3", "a", ("approve", "--reason=--db gone", "--", "harbour-4")),
        ("3", "x", ("reject", "--reason=--db gone", "--", "harbour-4")),
    ],
)
def test_a_decision_is_the_command_of_its_name(on_view, typed, pane, key, words):

    async def play(view, pilot):
        await pilot.press(pane)
        await sees(view, pilot, "Lay the keel")
        await pilot.press(key, *"--db gone", "enter")
        await sees(view, pilot, f"{words[0]} {words[-1]}: done")

    on_view(play)
    assert typed == [words]


def test_a_blocker_is_resolved_by_its_record(on_view, typed, app):

    async def play(view, pilot):
        await sees(view, pilot, "No paint")
        await pilot.press("u", "enter")
        await sees(view, pilot, "done")

    on_view(play)
    record = app.person().overview.open_blockers()[0]
    assert typed == [("unblock", "--", record.id)]


def test_nothing_is_decided_without_a_reason_that_is_needed_or_a_row(on_view, typed):

    async def play(view, pilot):
        await pilot.press("3")
        await sees(view, pilot, "Lay the keel")
        await pilot.press("x", "enter")
        await sees(view, pilot, "A reason is needed")
        await pilot.press("escape", "r", "escape", "5", "a")
        await sees(view, pilot, "Choose a row with an id first")

    on_view(play)
    assert typed == []


def test_a_terminal_that_cannot_be_shared_is_told(context):
    import asyncio

    from counterpoint.cli.top.view import TopView

    async def through() -> None:
        view = TopView(context)
        async with view.run_test(size=(80, 24), notifications=True) as pilot:
            await pilot.press("3")
            await sees(view, pilot, "Lay the keel")
            await pilot.press("r", "enter")
            await sees(view, pilot, "This terminal cannot be shared.")

    asyncio.run(through())


def test_a_ledger_that_cannot_be_read_is_told_until_it_can(on_view, monkeypatch):
    read, away = view.read, [True]

    def sometimes(context: Any) -> Any:
        if away:
            raise Unavailable("the database is away", hint="Bring it back.")
        return read(context)

    monkeypatch.setattr(view, "read", sometimes)

    async def play(view, pilot):
        await sees(view, pilot, "the database is away. Bring it back.")
        away.clear()
        await sees(view, pilot, "No paint")
        await misses(view, pilot, "is away")

    on_view(play)


def test_a_view_that_stops_reading_says_so(on_view, monkeypatch):
    monkeypatch.setattr(view, "read", lambda _: 1 // 0)
    monkeypatch.setattr(view.threading, "excepthook", lambda _: None)

    async def play(view, pilot):
        await sees(view, pilot, "has stopped reading the ledger")

    on_view(play)


def test_it_ends_with_q(on_view):

    async def play(view, pilot):
        await sees(view, pilot, "No paint")
        await pilot.press("q")
        assert screen_of(view)

    on_view(play)
    assert "top" not in {one.name for one in view.threading.enumerate()}


@pytest.mark.parametrize("words", [("top",), ("top", "--json")])
def test_without_a_terminal_the_commands_for_that_are_named(call, ledger, words):
    said = call(*words)
    assert said.code == 2
    assert "`status`" in said.err
    assert "`log --follow`" in said.err


def test_without_its_library_it_says_how_to_install_it(ledger, on_terminal, monkeypatch):
    for name in [one for one in sys.modules if one.partition(".")[0] == "textual"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "counterpoint.cli.top.view", raising=False)
    monkeypatch.setitem(sys.modules, "textual", None)
    _, err = on_terminal()
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    assert run(["top"]) == 3
    assert "counterpoint[top]" in err.getvalue()
    assert "counterpoint status" in err.getvalue()
