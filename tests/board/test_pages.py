"""What the pages show, to whom, and that texts of others are nothing but text."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest

from counterpoint.board.hunks import MAX_COLUMNS, MAX_LINES, parse_diff
from counterpoint.board.reads import CARDS
from counterpoint.board.views.lanes import LANES
from counterpoint.board.words import MAX_CHARACTERS
from counterpoint.core.coordinator import Core
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Check, Edit, Judgment, Note, Report
from counterpoint.kernel.visible import visible
from fakes.pages import Elements, words_of
from fakes.studio import Studio

MAX_BYTES = 60_000
DIFF = """diff --git a/src/a.py b/src/a.py
index 1..2 100644
--- a/src/a.py
+++ b/src/a.py
@@ -3,2 +3,3 @@ def a():
 same
--- a line that was removed
+++ a line that came
+another
diff --git a/new b/new
new file mode 100644
Binary files differ
"""
CHANGE = SimpleNamespace(
    text=DIFF, stands="done", by="ada", start="1" * 40, end="2" * 40, count=2, since=(), files=[]
)


def finish(core: Core, item: str, **more: Any) -> None:
    """Have a task done by whoever holds it, or takes it."""
    started = core.claims.start(item)
    core.tasks.finish(item, started.claim.token, Report(outcome="done", **more))


def test_now_says_who_works_and_what_waits(
    browser: Any, planned: list[str], ada: Core, bob: Core, person: Core
) -> None:
    _root, _build, _launch, sail, keel, mast, _lock, _sail = planned
    bob.journal.append(Note(kind="blocker", body="No paint", item=mast))
    text = words_of(browser.get("/"))
    assert "0 of 8 done" in text
    assert f"{keel} Lay the keel ada" in text
    assert f"start {sail} Sail" in text
    assert f"blocker {mast} No paint bob" in text
    person.reviews.review(sail, judgment(approves=True))
    assert f"start {sail}" not in words_of(browser.get("/"))


def judgment(**words: Any) -> Judgment:
    """Answer a judgment."""
    return Judgment(reason="read it", **words)


def test_the_board_says_why_something_waits(browser: Any, planned: list[str], bob: Core) -> None:
    _root, build, _launch, sail, keel, mast, _lock, setting = planned
    page = browser.get("/board").text
    card_of = dict(
        re.findall(r'<li class="card" id="card-([^"]+)"[^>]*>(.*?)</li>', page, re.DOTALL)
    )
    assert f"after {keel}" in card_of[mast]
    assert f"waits for approval (of {sail})" in card_of[setting]
    assert "ada" in card_of[keel]
    assert 'class="urgent"' in card_of[keel]
    bob.journal.append(Note(kind="blocker", body="No paint", item=mast))
    assert "blocked: No paint" in browser.get("/board").text
    below = browser.get(f"/board?below={build}").text
    assert f"card-{mast}" in below
    assert f"card-{setting}" not in below


def test_a_review_shows_the_difference_by_file_and_the_next_one(
    visit: Callable[..., Any], person: Core, planned: list[str], ada: Core
) -> None:
    _root, _build, launch, sail, keel, mast, lock, _setting = planned
    for task in (keel, mast):
        finish(ada, task, summary="Done")
    finish(ada, lock, summary="Opened", limitations=("rusty",))
    ada.reviews.submit(launch, "", "All of it")
    browser = visit(person, CHANGE)
    text = words_of(browser.get("/review"))
    assert f"Launch {launch}" in text
    page = browser.get(f"/review/{launch}")
    text = words_of(page)
    for words in (
        "src/a.py +2 \u22121",
        "another",
        "All of it",
        f"Next: {sail}",
        "Binary files differ",
    ):
        assert words in text
    assert (
        '<td class="num">4</td><td class="num"></td><td><code>-- a line that was removed'
        in page.text
    )
    item = words_of(browser.get(f"/items/{lock}"))
    for words in ("Opened", "Open: rusty", "task.finished", "nobody"):
        assert words in item
    person.reviews.review(launch, judgment(approves=False, fixes=("Oil it",)))
    assert "Oil it" in words_of(browser.get(f"/items/{launch}"))


def test_proof_says_what_was_checked_and_what_came_since(
    browser: Any, planned: list[str], bob: Core
) -> None:
    assert "not checked on this page yet" in words_of(browser.get("/proof"))
    assert re.search(r"\d entries sound", words_of(browser.get("/proof?check=1")))
    bob.journal.append(Note(kind="finding", body="More"))
    assert "came since" in words_of(browser.get("/proof"))


def test_a_difference_is_read_line_by_line_and_bounded() -> None:
    first, second = parse_diff(DIFF)[0]
    assert (first.path, first.added, first.removed) == ("src/a.py", 2, 1)
    assert [(line.kind, line.before, line.after) for line in first.lines] == [
        ("hunk", 0, 0), ("same", 3, 3), ("del", 4, 0), ("add", 0, 4), ("add", 0, 5),
    ]  # fmt: skip
    assert [line.text for line in second.lines] == ["Binary files differ"]
    files, more = parse_diff("@@ -1 +1 @@\n" + "+x" * 1_000 + "\n" + "+y\n" * MAX_LINES)
    assert (more, len(files[0].lines)) == (2, MAX_LINES)
    assert len(files[0].lines[1].text) < MAX_COLUMNS + 40
    assert parse_diff("") == ([], 0)


HOSTILE = [
    "<script>document.title='gone'</script><img src=x onerror=alert(1)>",
    "\"'><svg onload=alert(1)> javascript:alert(1) {{ 7*7 }} {% raw %}",
    "right\u202eot left\u2066 and \u200bhidden \u0007bell \x1b[31mred",
]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_texts_are_inert_on_every_page(
    visit: Callable[..., Any], person: Core, studio: Studio, hostile: str
) -> None:
    long = hostile + "<b>" * 330_000
    mallory = studio.core("mallory", client=hostile[:60])
    made = mallory.plans.create(
        Draft(
            kind="plan", title=hostile, body=long[:90_000], labels=("x",),
            children=(
                Draft(kind="phase", title=hostile, review=True, acceptance=(hostile,), children=(
                    Draft(kind="task", title=hostile, body=hostile, checks=(("echo", hostile),)),
                    Draft(kind="task", title=hostile),
                )),
            ),
        )
    )  # fmt: skip
    root, phase, task, other = (item.id for item in made.items)
    started = mallory.claims.start(task)
    mallory.gates.verify(Check(item=task), started.claim.token)
    finding = Note(kind="finding", body=long[:90_000], title=hostile, item=task)
    record = mallory.journal.append(finding)
    mallory.journal.append(Note(kind="blocker", body=hostile, item=other))
    report = Report(outcome="done", summary=hostile, limitations=(hostile,))
    mallory.tasks.finish(task, started.claim.token, report)
    change = SimpleNamespace(**{
        **vars(CHANGE), "by": hostile, "stands": hostile, "since": (hostile,),
        "text": f"diff --git a/{hostile} b/{hostile}\n@@ -1 +1 @@ {hostile}\n+{long}\n {hostile}\n",
    })  # fmt: skip
    browser = visit(person, change)
    pages = ["", "review", f"review/{phase}", "board", f"board?below={quote(hostile)}", "proof"]
    pages += [f"items/{name}" for name in (root, phase, task, other)]
    pages += ["sessions", f"sessions/{mallory.caller.actor.session}", "search?q=hidden", "search"]
    pages += [f"search?q={quote(hostile)}&kind={quote(hostile)}", "search?q=right&kind=finding"]
    pages += [f"knowledge/{record.id}", "knowledge?kind=finding", "graph", f"graph?below={phase}"]
    pages += ["settings", "projects", f"settings/{quote(hostile)}", "settings/worker"]
    pages += ["timeline", f"timeline?zoom={quote(hostile)}&until={quote(hostile)}"]
    for path in pages:
        answer = browser.get(f"/{path}")
        assert answer.status_code in {200, 404}
        elements = Elements(answer.text)
        assert not {"iframe", "object", "style"} & {*elements.names}
        scripts = [words for name, words in elements.attributes if name == "src"]
        assert {*scripts} <= {"/static/board.js", "/static/mark.svg"}
        assert elements.names.count("script") == scripts.count("/static/board.js") <= 1
        assert not [
            name for name, _ in elements.attributes if name.startswith("on") or name == "style"
        ]
        assert not [words for _, words in elements.attributes if words.startswith("javascript:")]
        assert not re.search("[\u202e\u2066\u200b\x07\x1b]", answer.text)
        assert len(answer.content) < 10 * MAX_CHARACTERS
    assert " ".join(visible(hostile).split()) in words_of(browser.get(f"/items/{task}"))
    missing = browser.get(f"/items/{quote(hostile, safe='')}")
    assert missing.status_code == 404
    assert "script" not in Elements(missing.text).names


def test_a_page_of_many_items_is_small_and_asks_little(
    statements: list[str], visit: Callable[..., Any], person: Core, ada: Core
) -> None:
    counts: list[int] = []
    for number in (1, 12):
        children = tuple(
            Draft(
                kind="task", title=f"Task {place} of many in this plan", areas=("src",), priority=2
            )
            for place in range(20 * number)
        )
        ada.plans.create(Draft(kind="plan", title=f"Plan {number}", children=children))
        browser = visit(person)
        browser.get("/board")
        statements.clear()
        answer = browser.get("/board")
        counts.append(len(statements))
        assert len(answer.content) < MAX_BYTES
    assert answer.text.count('<li class="card"') == CARDS
    assert "236 more" in answer.text or "238 more" in answer.text
    # What 240 items cost beyond 20 is only the few cards more.
    assert counts[1] <= counts[0] + 8


def lanes_of(page: str) -> dict[str, str]:
    """Answer the text of each lane of a board by its heading."""
    parts = re.split(r'<h2 class="lane" id="[^"]+">', page)[1:]
    return {
        " ".join(Elements(part.partition("</h2>")[0]).text.split()): " ".join(
            Elements(part.partition("</h2>")[2]).text.split()
        )
        for part in parts
    }


def test_the_board_has_lanes_by_phase_agent_and_label(
    browser: Any, planned: list[str], ada: Core, bob: Core
) -> None:
    _root, build, launch, sail, keel, mast, lock, _setting = planned
    ada.items.edit(lock, Edit(assignee="zoe", add_labels=("iron", "<b>")))
    ada.items.edit(mast, Edit(add_labels=("iron",)))
    lanes = lanes_of(browser.get("/board?lanes=phase").text)
    assert [*lanes] == [f"{build} active Build", f"{launch} open Launch", f"{sail} open Sail"]
    assert "Lay the keel" in lanes[f"{build} active Build"]
    assert "Open the lock" not in lanes[f"{build} active Build"]
    lanes = lanes_of(browser.get("/board?lanes=agent").text)
    assert {name: re.findall(r"demo-\d+", text)[:1] for name, text in lanes.items()} == {
        "ada": [keel],
        "zoe": [lock],
    }
    lanes = lanes_of(browser.get("/board?lanes=label").text)
    assert [*lanes] == ["iron", "<b>"]
    assert mast in lanes["iron"]
    assert mast not in lanes["<b>"]
    below = lanes_of(browser.get(f"/board?lanes=label&below={build}").text)
    assert lock not in below["iron"]
    assert browser.get("/board?lanes=x&open=9999999999&from=-1").status_code == 200
    bob.plans.create(Draft(kind="plan", title="Many", children=tuple(
        Draft(kind="phase", title=f"Part {place}", needs=()) for place in range(12)
    )))  # fmt: skip
    page = browser.get("/board?lanes=phase").text
    assert len(lanes_of(page)) == LANES
    further = re.search(r'href="([^"]+)">Further lanes', page)
    assert further is not None
    page = browser.get(further[1].replace("&amp;", "&")).text
    assert len(lanes_of(page)) == 15 - LANES
    assert "Lanes before" in page


def test_a_column_shows_more_cards_when_it_is_asked(browser: Any, person: Core) -> None:
    children = tuple(Draft(kind="task", title=f"Task {place}") for place in range(60))
    person.plans.create(Draft(kind="plan", title="Plan", children=children))
    page = browser.get("/board").text
    more = re.search(r'href="([^"#]+)#more-open">37 more', page)
    assert more is not None
    page = browser.get(more[1]).text
    assert page.count('<li class="card"') == 2 * CARDS
    assert ">13 more<" in page
    assert browser.get("/board?open=100").text.count('<li class="card"') == 61
