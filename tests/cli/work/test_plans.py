"""`counterpoint plans prune` and `counterpoint sessions sweep`."""

from __future__ import annotations

import io
import json
import sys

import pytest

from counterpoint.app import Identity
from counterpoint.core.model.drafts import Draft
from counterpoint.dialects.agentic.verbs.plans import Planning
from counterpoint.dialects.agentic.verbs.sessions import PlanSessions
from counterpoint.kernel.clock import SystemClock, later
from counterpoint.kernel.errors import StoreBusy


@pytest.fixture
def shelved(app) -> str:
    """Give the id of a plan that was archived at once."""
    core = app.person()
    line = core.use(Planning).open(Draft(kind="plan", title="Old", body="words of old"), "old")
    core.use(Planning).move("old", "archived", "over")
    return line.item.id


def test_pruning_only_says_what_would_go(call, app, shelved):
    said = call("plans", "prune", "--older-than", "0")
    assert said.code == 0
    assert said.out.splitlines()[-1] == "Would prune 1 plan archived more than 0 days ago."
    assert "--yes" in said.err
    assert app.person().items.get(shelved).body == "words of old"
    told = json.loads(call("plans", "prune", "--older-than", "0", "--yes", "--json").out)
    assert told["pruned"] is True
    assert [(one["slug"], one["id"]) for one in told["plans"]] == [("old", shelved)]
    assert app.person().items.get(shelved).body == "[redacted]"
    assert call("plans", "prune", "--older-than", "0", "--yes").out == (
        "Pruned 0 plans archived more than 0 days ago.\n"
    )
    assert call("audit", "verify").code == 0


def test_pruning_goes_on_where_it_was_cut_off(call, app, shelved, monkeypatch):
    """Whoever read for too long kept the file as it was: the next run ends the receipt, though no plan is left."""
    store = type(app.store)

    def refuse(_store) -> None:
        raise StoreBusy("somebody reads")

    with monkeypatch.context() as patched:
        patched.setattr(store, "purge", refuse)
        assert call("plans", "prune", "--older-than", "0", "--yes").code != 0
    assert [receipt.status for receipt in app.person().erasing.list()] == ["begun"]
    assert call("plans", "prune", "--older-than", "0", "--yes").code == 0
    assert [receipt.status for receipt in app.person().erasing.list()] == ["unsearched"]


def test_young_plans_stay(call, shelved):
    assert "Would prune 0 plans archived more than 90 days" in call("plans", "prune").out
    assert call("plans", "prune", "--older-than", "-1").code == 2


def test_sessions_that_nobody_ended_are_swept(call, app, monkeypatch):
    agent = Identity(kind="agent", name="ada", session="ses_" + "a" * 26)
    opened = app.core(agent).use(PlanSessions).open("opus").id
    assert json.loads(call("sessions", "sweep", "--json").out) == {"ended": []}
    days_later = later(SystemClock().now(), 2 * 86_400)
    monkeypatch.setattr(SystemClock, "now", lambda _: days_later)
    said = call("sessions", "sweep").out.splitlines()
    assert said[0].startswith(f"{opened}  ada  since ")
    assert said[1] == "Ended 1 session."
    assert json.loads(call("sessions", "sweep", "--json").out) == {"ended": []}


PLAN = """# Ship
## Build {#build}
- [ ] Parse {#parse}
  - verify: true
- [ ] Write
  - after: parse
## Try
- review: yes
- [ ] Use it
"""

PREVIEW = """\
[ ] plan: Ship
  [ ] phase: Build
    [ ] Parse  (ready; 1 check)
    [ ] Write  (after Parse)
  [ ] phase: Try  (after Build; review)
    [ ] Use it

6 items, 1 ready. Nothing was made.
"""


def test_a_plan_is_shown_before_it_is_made(call, ledger):
    (ledger / "PLAN.md").write_text(PLAN)
    before = call("log", "--json").out
    said = call("plan", "PLAN.md", "--dry-run")
    assert (said.code, said.out) == (0, PREVIEW)
    assert call("log", "--json").out == before
    found = call("plan", "PLAN.md", "--dry-run", "--json").json
    assert [one["title"] for one in found["items"] if one["ready"]] == ["Parse"]


def test_a_dry_run_says_whose_areas_it_did_not_compare(call, ledger):
    lines = "".join(f"- [ ] Pile {n}\n  - areas: piles/{n}\n" for n in range(502))
    (ledger / "PLAN.md").write_text(f"# Pier\n{lines}")
    said = call("plan", "PLAN.md", "--dry-run")
    assert "the first 500 items that are ready, not of the 2 after them" in said.err


def test_a_dry_run_shows_who_could_start_at_once(call, ledger):
    areas = (
        ("Dig", "src/a/**", 2),
        ("Deepen", "src/**", 2),
        ("Wall", "docs", 2),
        ("Quay", "src/a", 0),
    )
    lines = [f"- [ ] {name}\n  - areas: {area}\n  - priority: {n}\n" for name, area, n in areas]
    (ledger / "PLAN.md").write_text("# Harbour of stone\n" + "".join(lines) + "- [ ] Sing\n")
    said = call("plan", "PLAN.md", "--dry-run").out
    assert "Dig  (waits for an area of Quay; areas src/a/**)" in said
    assert "Deepen  (waits for an area of Quay; areas src/**)" in said
    assert "Wall  (ready; areas docs)" in said
    assert "6 items, 5 ready, 3 of them at once. Nothing was made." in said
    items = call("plan", "PLAN.md", "--dry-run", "--json").json["items"]
    waits = {item["title"]: item["waits_for_area_of"] for item in items}
    assert waits == {
        "Harbour of stone": None,
        "Dig": 4,
        "Deepen": 4,
        "Wall": None,
        "Quay": None,
        "Sing": None,
    }
    assert items[1]["areas"] == ["src/a/**"]


def test_a_plan_of_an_editor_of_windows_is_read(call, ledger, monkeypatch):
    """The mark with which it begins is no text before the heading, in a file or in the input."""
    (ledger / "PLAN.md").write_text("# Masts\n- [ ] Step it\n", encoding="utf-8-sig")
    assert "plan: Masts" in call("plan", "PLAN.md", "--dry-run").out
    monkeypatch.setattr(sys, "stdin", io.StringIO("\ufeff# Masts\n- [ ] Step it\n"))
    assert "plan: Masts" in call("plan", "-", "--dry-run").out


def test_what_is_wrong_with_a_plan_is_said_once(call, ledger):
    """Each fault of a line one time; a file that is no text is not read line by line."""
    (ledger / "PLAN.md").write_text("# Masts\n- [ ] Step it\n- [ ]\n")
    said = call("plan", "PLAN.md", "--dry-run")
    assert (said.code, said.err.count("line 3: there is no title")) == (2, 1)
    (ledger / "PLAN.md").write_bytes(b"\x7fELF\0\0\n" * 30)
    said = call("plan", "PLAN.md", "--dry-run")
    assert (said.code, "no text" in said.err, "line" in said.err) == (2, True, False)


@pytest.mark.parametrize("words", ["latin-1", "torn"])
def test_a_plan_that_is_not_utf_8_is_refused(call, ledger, monkeypatch, words):
    """Its letters would stand in the ledger as something else, for good; the line is named."""
    text = "# Masts\n- [ ] Möve\n"
    data = text.encode("latin-1") if words == "latin-1" else text.encode()[:-4]
    (ledger / "PLAN.md").write_bytes(
        data if words == "latin-1" else data[: data.index(b"\xc3") + 1]
    )
    said = call("plan", "PLAN.md")
    assert (said.code, "line 2: it is not UTF-8" in said.err) == (2, True)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data[:-1] + b"\xff"), "utf-8"))
    said = call("plan", "-")
    assert (said.code, "the input: it is not UTF-8" in said.err) == (2, True)
    assert "Masts" not in call("list").out


def test_a_plan_is_made_from_a_file_the_input_json_and_a_template(call, ledger, monkeypatch):
    (ledger / "PLAN.md").write_text(PLAN)
    said = call("plan", "PLAN.md")
    assert said.out.splitlines()[0] == "harbour-8 is open: Ship (6 items, 1 ready)"
    assert "Ready first: harbour-11 Parse" in said.out
    monkeypatch.setattr(sys, "stdin", io.StringIO(PLAN))
    assert call("plan", "-", "--again", "--json").json["count"] == 6
    tree = {"title": "T", "items": [{"title": "A"}, {"title": "B", "after": ["A"]}]}
    (ledger / "plan.json").write_text(json.dumps(tree))
    assert call("plan", "plan.json", "--json").json["count"] == 3
    said = call("plan", "--template", "bug-fix", "--set", "BUG=Crash", "--json")
    assert (said.code, said.json["count"] > 3) == (0, True), said.err


def test_what_could_never_start_is_told(call, ledger):
    text = "# P\n## Empty\n- phase: yes\n## After\n- [ ] Stuck\n"
    (ledger / "dead.md").write_text(text)
    for words in (["--dry-run"], []):
        assert "never ends by work" in call("plan", "dead.md", *words).err
    assert call("plan", "dead.md", "--dry-run", "--json").json["warnings"]


def test_a_plan_that_cannot_be_made_says_all_that_is_wrong(call, ledger):
    cases = {
        "a.md": "# P\n## A {#a}\n- after: b\n- [ ] x\n## B {#b}\n- after: a\n- [ ] y\n",
        "b.md": "# P\n- [ ] x\n  - after: nothing\n- [ ] y\n  - priority: high\n",
        "c.json": '{"title": 7}',
        "d.json": "[1]",
        "e.json": "{",
    }
    for name, text in cases.items():
        (ledger / name).write_text(text)
        assert call("plan", name).code in {1, 2}, name
        assert call("plan", name, "--dry-run").code in {1, 2}, name
    assert call("plan").code == 2
    assert call("plan", "a.md", "--template", "x").code == 2
    assert call("plan", "a.md", "--set", "A=b").code == 2
    assert call("plan", "--template", "bug-fix", "--set", "BUG").code == 2
    assert len(call("list", "--json").json["items"]) == 7


def test_a_plan_below_an_item_and_under_a_key(call, ledger):
    (ledger / "part.md").write_text("# More {#more}\n- [ ] One\n")
    words = ("plan", "part.md", "--idempotency-key", "k", "--json")
    first = call(*words).json
    assert call(*words).json == first
    assert call("list", "--json", "--root", first["root"]["id"]).json["items"][0]["title"] == "More"
