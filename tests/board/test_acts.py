"""What people do on the board: each form is one entry of whoever sits there, of what its page showed."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from tests.board.forms import act, fields_of, fields_text, post

from counterpoint.board.acts import ACTS
from counterpoint.core.coordinator import Core
from counterpoint.core.model.filters import Edit, Note, Report
from counterpoint.core.model.journal import Verdict
from fakes.studio import Studio


@pytest.fixture
def in_review(planned: list[str], ada: Core) -> str:
    """Give the phase whose work is done and handed in."""
    _root, _build, launch, _sail, keel, mast, lock, _setting = planned
    for task in (keel, mast, lock):
        started = ada.claims.start(task)
        ada.tasks.finish(task, started.claim.token, Report(outcome="done", summary="Done"))
    ada.reviews.submit(launch, "", "All of it")
    return launch


def test_a_review_is_approved_as_whoever_sits_there(
    browser: Any, in_review: str, person: Core, studio: Studio
) -> None:
    size = studio.image().size
    answer = act(browser, "approve", in_review, "review", reason="Read it")
    assert (answer.status_code, answer.headers["location"]) == (303, "/review")
    entry = studio.last()
    assert (entry.action, entry.actor.name, entry.subject) == ("item.approved", "pat", in_review)
    assert studio.image().size == size + 1
    assert person.items.get(in_review).category == "done"


def test_commits_of_others_leave_a_page_fresh(
    browser: Any, planned: list[str], ada: Core, person: Core, studio: Studio
) -> None:
    sail = planned[3]
    (task,) = (
        item.id
        for item in ada.plans.create(ada.plans.read("# P\n- [ ] A\n  - review: yes\n")).items
        if item.is_workable
    )
    ended = studio.tree.commit()
    started = ada.claims.start(task)
    ada.tasks.finish(task, started.claim.token, Report(outcome="done", summary="Done"))
    for item in (task, sail):
        fields = fields_of(browser, f"/review/{item}", f"/acts/approve/{item}")
        assert fields["subject"] == (ended if item == task else "")
        studio.tree.commit()
        assert post(browser, "approve", item, fields).status_code == 303
    (verdict,) = person.overview.rows(Verdict, item=task)
    assert verdict.subject == ended


def test_a_review_is_sent_back_with_what_to_fix(browser: Any, in_review: str, ada: Core) -> None:
    assert act(browser, "reject", in_review, "review", reason=" ").status_code == 400
    answer = act(
        browser, "reject", in_review, "review", reason="It leaks", fixes="Oil it\r\n\r\nDry it"
    )
    assert answer.status_code == 303
    rejection = ada.overview.facets(in_review).rejection
    assert rejection is not None
    assert (rejection.reason, rejection.fixes) == ("It leaks", ("Oil it", "Dry it"))


def test_comments_blockers_and_claims_have_their_acts(
    browser: Any, planned: list[str], bob: Core, person: Core, studio: Studio
) -> None:
    keel, mast = planned[4], planned[5]
    bob.journal.append(Note(kind="blocker", body="No paint", item=mast))
    assert act(browser, "unblock", mast, reason="There is paint").status_code == 303
    assert studio.last().action == "blocker.resolved"
    assert act(browser, "comment", mast, reason="Use oak").headers["location"] == f"/items/{mast}"
    (record,) = person.overview.recent("comment", item=mast)
    assert (str(record.body), record.agent) == ("Use oak", "pat")
    assert act(browser, "release", keel, reason="She left").status_code == 303
    assert studio.last().action == "claim.released"
    assert "/acts/release/" not in browser.get(f"/items/{keel}").text
    assert "/acts/unblock/" not in browser.get(f"/items/{mast}").text


def test_what_others_changed_since_is_shown_and_nothing_is_done(
    browser: Any, in_review: str, ada: Core, studio: Studio
) -> None:
    page, action = f"/review/{in_review}", f"/acts/approve/{in_review}"
    fields = fields_of(browser, page, action)
    ada.items.edit(in_review, Edit(title="Launch it twice"))
    before = studio.image()
    for wrong in ({}, {"version": "x"}, {"version": "1" * 99}):
        answer = post(browser, "approve", in_review, {**fields, **wrong})
        assert "Nothing was done" in answer.text
        assert answer.status_code in {400, 409}
    answer = post(browser, "approve", in_review, fields)
    for words in ("changed by others", "item.edited", f'href="{page}"', ">ada<"):
        assert words in answer.text
    fresh = fields_of(browser, page, action)
    answer = post(browser, "approve", in_review, {**fresh, "subject": "0" * 40})
    assert (answer.status_code, "you reviewed 000000000000" in answer.text) == (409, True)
    assert studio.image() == before
    assert post(browser, "approve", in_review, fresh).status_code == 303


def test_who_worked_on_it_does_not_judge_it_and_an_agent_frees_nothing(
    visit: Callable[..., Any],
    in_review: str,
    planned: list[str],
    ada: Core,
    bob: Core,
    studio: Studio,
) -> None:
    browser = visit(ada)
    before = studio.image()
    assert act(browser, "approve", in_review, "review").status_code == 403
    assert studio.image() == before
    agent = visit(bob)
    held = ada.items.get(planned[5])
    fields = fields_of(agent, f"/items/{held.id}", f"/acts/comment/{held.id}")
    assert post(agent, "release", held.id, fields).status_code in {403, 409}
    assert studio.image() == before


def test_no_act_without_its_token_origin_and_method(
    browser: Any, planned: list[str], bob: Core, studio: Studio
) -> None:
    mast = planned[5]
    bob.journal.append(Note(kind="blocker", body="No paint", item=mast))
    fields = fields_of(browser, f"/items/{mast}", f"/acts/comment/{mast}") | {"reason": "x"}
    before = studio.image()
    for verb in ACTS:
        for wrong, headers in (
            ({"token": ""}, {}),
            ({}, {"origin": "null"}),
            ({}, {"origin": "http://127.0.0.1:1"}),
            ({}, {"sec-fetch-site": "cross-site"}),
        ):
            assert post(browser, verb, mast, {**fields, **wrong}, **headers).status_code == 403
        assert browser.get(f"/acts/{verb}/{mast}").status_code == 405
    assert post(browser, "close", mast, fields).status_code == 404
    assert post(browser, "comment", "demo-99", fields).status_code == 404
    cookies = dict(browser.cookies)
    browser.cookies.clear()
    assert post(browser, "comment", mast, fields).status_code == 403
    assert studio.image() == before
    browser.cookies.update(cookies)
    assert post(browser, "comment", mast, fields).status_code == 303


def test_a_comment_on_a_line_reaches_the_agent_as_a_fix(
    visit: Callable[..., Any], in_review: str, planned: list[str], person: Core, ada: Core
) -> None:
    lock = planned[6]
    change = SimpleNamespace(
        text="diff --git a/src/lock.py b/src/lock.py\n@@ -3,2 +3,2 @@\n same\n-old\n+new\n",
        stands="done", by="ada", start="1" * 40, end="2" * 40, count=1, since=(), files=[],
    )  # fmt: skip
    browser = visit(person, change)
    page, action = f"/review/{in_review}", f"/acts/comment/{lock}"
    fields = fields_of(browser, page, action)
    assert (fields["file"], fields["commit"]) == ("src/lock.py", "2" * 40)
    for words in ({"line": "0"}, {"line": "x"}, {"line": "4", "side": "up"}):
        wrong = {**fields, "reason": "no", **words}
        assert post(browser, "comment", lock, wrong).status_code == 400
    outside = {**fields, "file": "../x", "line": "4", "reason": "no"}
    assert post(browser, "comment", lock, outside).status_code in {400, 403}
    for line, side, words in (("4", "new", "Use\noak"), ("4", "old", "Why?"), ("90", "new", "Far")):
        sent = {**fields, "line": line, "side": side, "reason": words}
        answer = post(browser, "comment", lock, sent)
        assert (answer.status_code, answer.headers["location"]) == (303, page)
    text = browser.get(page).text
    # Each beside its line; what has none here stands below the file.
    assert re.search(r">old<.*?Why\?.*?>new<.*?Use\noak.*?Far", text, re.DOTALL)
    prefilled = text.partition('name="fixes"')[2].partition("\n")[2].partition("</textarea>")[0]
    fixes = (
        "src/lock.py line 4 at 2222222222: Use oak",
        "src/lock.py line 4 as it was at 2222222222: Why?",
        "src/lock.py line 90 at 2222222222: Far",
    )
    assert prefilled.split("\n") == [*fixes]
    act(browser, "reject", in_review, "review", reason="Not yet", fixes=prefilled)
    rejection = ada.overview.facets(in_review).rejection
    assert rejection is not None
    assert tuple(rejection.fixes) == fixes
    (task,) = (item for item in ada.overview.children(in_review) if item.title.startswith("Mend"))
    assert all(fix in task.body for fix in fixes)
    # What was sent back is asked for once.
    assert "line 90 at" not in fields_text(browser, page, "fixes")


def test_an_item_is_moved_where_its_table_has_a_move(
    browser: Any, planned: list[str], studio: Studio, person: Core
) -> None:
    mast = planned[5]
    page = browser.get(f"/items/{mast}").text
    assert re.findall(r'<option value="(\w+)">', page.partition('id="move"')[2]) == [
        "backlog",
        "skipped",
        "cancelled",
    ]
    assert act(browser, "move", mast, status="backlog", reason="Later").status_code == 303
    assert (person.items.get(mast).status, studio.last().actor.name) == ("backlog", "pat")
    board = browser.get("/board").text
    card = board.partition(f'data-item="{mast}"')[2].partition(">")[0]
    assert 'data-moves="open:open done:skipped dropped:cancelled "' in card
    before = studio.image()
    fields = fields_of(browser, f"/items/{mast}", f"/acts/move/{mast}")
    for wrong, words in (
        ({"status": "done"}, "it may become"),
        ({"status": ""}, "missing"),
        ({"version": "1"}, "changed by others"),
    ):
        answer = post(browser, "move", mast, {**fields, "status": "open", **wrong})
        assert (answer.status_code in {400, 409}, words in answer.text) == (True, True), answer.text
    assert studio.image() == before
    answer = post(
        browser,
        "move",
        mast,
        {**fields, "status": "open", "from": "board", "query": "lanes=phase&below=//evil"},
    )
    assert answer.headers["location"] == "/board?lanes=phase&below=%2F%2Fevil"
