"""What people plan and change on the board: looked at first, made as their own entry, refused as everywhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from tests.board.forms import ADDRESS, act, fields_of, post

from counterpoint.core.coordinator import Core
from counterpoint.core.model.filters import Edit, Report
from fakes.pages import words_of
from fakes.studio import Studio

PLAN = """# Mole
## Pile
- [ ] Drive {#drive}
  - areas: src/pile
- [ ] Cap
  - after: drive
- [ ] Paint
  - areas: src/pile
## Deck
- review: yes
- [ ] Board
"""


def typed_on(page: str, name: str) -> str:
    """Answer what a field of a page has in it."""
    area = re.search(rf'<textarea name="{name}"[^>]*>\n(.*?)</textarea>', page, re.DOTALL)
    if area is not None:
        return unescape(area[1])
    found = re.search(rf'<input name="{name}"[^>]*value="([^"]*)"', page)
    return unescape(found[1]) if found is not None else ""


def send(browser: Any, path: str, page: str, **fields: str) -> Any:
    """Post a form from a page."""
    token = re.search(r'name="token" value="([^"]+)"', browser.get(page).text)
    data = {"token": token[1] if token else "", **fields}
    return browser.post(path, data=data, headers={"origin": ADDRESS}, follow_redirects=False)


def test_a_plan_is_looked_at_then_made_then_brought_up_to_date(
    browser: Any, planned: list[str], person: Core, studio: Studio
) -> None:
    before = studio.image()
    look = send(browser, "/new/plan", "/new/plan", text=PLAN)
    text = words_of(look)
    for words in (
        "7 items",
        "Drive ready",
        "Cap after Drive",
        "Paint waits for an area of Drive",
        "Deck phase after Pile review Board waits with its phase",
    ):
        assert words in text
    assert typed_on(look.text, "text").strip() == PLAN.strip()
    assert studio.image() == before
    made = send(browser, "/acts/plan/", "/new/plan", text=PLAN)
    assert made.status_code == 303
    root = made.headers["location"].rpartition("/")[2]
    assert [item.title for item in person.overview.children(root)] == ["Pile", "Deck"]
    assert studio.last().actor.name == "pat"
    written = typed_on(browser.get(f"/new/plan?of={root}").text, "text")
    more = written.replace("Drive", "Drive deep") + "- [ ] Rail\n"
    before = studio.image()
    text = words_of(send(browser, "/new/plan", "/new/plan", text=more))
    assert f"What changes in {root} new Rail changed" in text
    assert "Drive deep title" in text
    assert studio.image() == before
    assert send(browser, "/acts/plan/", "/new/plan", text=more).status_code == 303
    assert [item.title for item in person.overview.children(root)] == ["Pile", "Deck"]
    titles = [item.title for _, item in person.overview.tree((), root=root, limit=50)]
    assert {"Rail", "Drive deep"} <= set(titles)


@pytest.mark.parametrize(
    ("kind", "verb", "fields", "words"),
    [
        ("plan", "plan", {"text": "# P\n- [ ] A {#a}\n  - after: b\n- [ ] B {#b}\n  - after: a\n"}, "circle"),
        ("plan", "plan", {"text": "# P\n- [?] A\n  - priority: 77\n"}, "line 2"),
        ("plan", "plan", {"text": "- " * 200_000}, "cannot be taken"),
        ("plan", "plan", {"text": ""}, "is missing"),
        ("plan", "plan", {"text": "# P\n\0\n- [ ] A\n"}, "no text"),
        ("plan", "plan", {"text": PLAN, "below": "demo-999"}, "demo-999"),
        ("item", "add", {"title": " ", "kind": "task", "priority": "2"}, "the title is missing"),
        ("item", "add", {"title": "A", "kind": "epic", "priority": "2"}, "a task, a phase or a plan"),
        ("item", "add", {"title": "A", "kind": "task", "priority": "9"}, "a priority is 0 to"),
        ("item", "add", {"title": "A", "kind": "task", "priority": "2", "checks": "a && b"}, "a shell"),
        ("item", "add", {"title": "A", "kind": "task", "priority": "2", "after": "demo-999"}, "demo-999"),
        ("import", "import", {"tool": "nothing", "text": "x"}, "no such source"),
    ],
)  # fmt: skip
def test_what_cannot_be_made_is_refused_at_the_look_and_at_the_act(
    browser: Any,
    planned: list[str],
    studio: Studio,
    kind: str,
    verb: str,
    fields: dict[str, str],
    words: str,
) -> None:
    before = studio.image()
    look = send(browser, f"/new/{kind}", f"/new/{kind}", **fields)
    assert "cannot be taken" in look.text
    assert words in words_of(look)
    refused = send(browser, f"/acts/{verb}/", f"/new/{kind}", **fields)
    assert refused.status_code in {400, 404, 409}
    assert "Nothing was done" in refused.text
    # What was typed is not lost.
    for name in ("text", "checks"):
        if fields.get(name, "").strip() and "\0" not in fields[name]:
            assert fields[name].strip()[:60] in unescape(refused.text)
    assert studio.image() == before


def test_an_item_is_made_with_all_that_it_can_have(
    browser: Any, planned: list[str], person: Core, studio: Studio
) -> None:
    build, keel = planned[1], planned[4]
    fields = {
        "kind": "task", "priority": "0", "title": "Caulk", "body": "With *oakum*.", "below": build,
        "after": f"{keel.rpartition('-')[2]}", "areas": "src/hull\r\nsrc/seams\r\n", "labels": "wet, dry",
        "acceptance": "It is tight\n", "checks": "pytest -k 'tight hull'", "review": "yes",
    }  # fmt: skip
    before = studio.image()
    assert f"Caulk after {keel} review 1 checks" in words_of(
        send(browser, "/new/item", "/new/item", **fields)
    )
    assert studio.image() == before
    made = send(browser, "/acts/add/", "/new/item", **fields)
    facets = person.overview.facets(made.headers["location"].rpartition("/")[2])
    assert (facets.item.parent, facets.item.priority, facets.item.body) == (
        build,
        0,
        "With *oakum*.",
    )
    assert facets.areas == ("src/hull", "src/seams")
    assert [need.id for need in facets.needs] == [keel]
    assert {gate.kind for gate in facets.gates} == {"check", "review"}
    assert set(facets.labels) == {"wet", "dry"}


def test_an_edit_changes_what_was_changed_and_sees_what_others_did(
    browser: Any, planned: list[str], ada: Core, person: Core, studio: Studio
) -> None:
    mast, page = planned[5], f"/edit/{planned[5]}"
    ada.items.edit(
        mast, Edit(body="Of\u202e pine.", areas=("src/mast",), acceptance=("It stands",))
    )

    def fields() -> dict[str, str]:
        text = browser.get(page).text
        names = ("title", "body", "below", "after", "labels", "areas", "acceptance", "checks")
        hidden = fields_of(browser, page, f"/acts/edit/{mast}")
        return {**hidden, "priority": "2", **{name: typed_on(text, name) for name in names}}

    same = fields()
    assert same["after"] == planned[4]
    before = studio.image()
    assert "nothing was changed" in post(browser, "edit", mast, same).text
    assert studio.image() == before
    changed = {**same, "title": "Raise the tall mast", "labels": "tall", "after": "", "reason": "x"}
    assert post(browser, "edit", mast, changed).status_code == 303
    facets = person.overview.facets(mast)
    assert (facets.item.title, facets.labels, facets.needs) == (
        "Raise the tall mast",
        ("tall",),
        (),
    )
    # What was not changed is as it was, also where the form cannot show it.
    assert (facets.item.body, facets.areas) == ("Of\u202e pine.", ("src/mast",))
    stale = fields()
    ada.items.edit(mast, Edit(title="Raise two masts"))
    before = studio.image()
    refused = post(browser, "edit", mast, {**stale, "body": "Of oak."})
    assert refused.status_code == 409
    for words in ("changed by others", ">ada<", "Of oak."):
        assert words in refused.text
    assert studio.image() == before


def test_work_is_handed_in_cancelled_reopened_and_a_gate_waived(
    browser: Any, planned: list[str], person: Core, studio: Studio
) -> None:
    _root, build, launch, sail, keel, mast, lock, _setting = planned
    assert "/acts/submit/" not in browser.get(f"/items/{launch}").text
    assert act(browser, "cancel", mast, reason="No wood").status_code == 303
    assert (person.items.get(mast).status, studio.last().actor.name) == ("cancelled", "pat")
    assert "/acts/cancel/" not in browser.get(f"/items/{mast}").text
    assert act(browser, "reopen", mast, reason="Wood came").status_code == 303
    assert person.items.get(mast).category == "open"
    assert act(browser, "waive", sail, gate="approval", reason="Trusted crew").status_code in {
        303,
        404,
    }
    assert act(browser, "cancel", build, reason="").status_code == 400
    assert act(browser, "cancel", lock, reason="Another way").status_code == 303
    assert act(browser, "submit", launch, summary="All of it").status_code == 303
    assert person.items.get(launch).category == "review"
    assert person.items.get(keel).category == "active"


def test_an_agent_at_the_board_is_refused_what_it_is_refused_everywhere(
    visit: Callable[..., Any], planned: list[str], ada: Core, bob: Core, studio: Studio
) -> None:
    launch, keel, mast, lock = planned[2], planned[4], planned[5], planned[6]
    for task in (keel, mast):
        started = ada.claims.start(task)
        ada.tasks.finish(task, started.claim.token, Report(outcome="done", summary="Done"))
    ada.claims.start(lock)
    (gate,) = ada.overview.facets(launch).gates
    browser = visit(bob)
    before = studio.image()
    fields = fields_of(browser, f"/items/{launch}", f"/acts/waive/{launch}")
    answer = post(browser, "waive", launch, {**fields, "gate": gate.name, "reason": "I may"})
    assert answer.status_code == 403
    fields = fields_of(browser, f"/items/{lock}", f"/acts/cancel/{lock}")
    assert post(browser, "cancel", lock, {**fields, "reason": "Mine"}).status_code in {403, 409}
    assert studio.image() == before
