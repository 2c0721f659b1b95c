"""What comes after what, on one page, and who did what when, on another."""

from __future__ import annotations

import re
from typing import Any

import pytest

from counterpoint.board.views import graph, timeline
from counterpoint.board.views.graph import GraphReads
from counterpoint.core.coordinator import Core
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Check, Handover, Note, Report
from counterpoint.core.model.work import Item
from fakes.pages import Elements, words_of
from fakes.studio import Studio


def test_the_graph_shows_levels_milestones_and_the_critical_path(
    browser: Any, person: Core, planned: list[str]
) -> None:
    root, build, launch, _sail, keel, mast, lock, setting = planned
    whole = person.overview.find(Item, root)
    assert whole is not None
    drawn = person.use(GraphReads).graph(whole)
    levels = {node.name: node.level for node in drawn.nodes.values()}
    assert levels[keel] < levels[mast] < levels[f"end of {build}"] < levels[lock]
    assert levels[lock] < levels[f"end of {launch}"] < levels[setting]
    assert [node.name for node in drawn.critical] == [keel, mast, lock, setting]
    page = browser.get("/graph")
    text = words_of(page)
    assert f"Critical path: 4 tasks one after the other: {keel} → {mast} → {lock}" in text
    assert f"{mast} open Raise the mast after {keel}" in text
    assert f"after end of {launch}" in text
    elements = Elements(page.text)
    assert elements.names.count("rect") == 6, "four tasks and two milestones"
    assert ("href", f"/items/{keel}") in elements.attributes
    below = words_of(browser.get(f"/graph?below={launch}"))
    assert "1 task one after the other" in below
    assert keel not in below


def test_the_graph_says_which_open_tasks_touch_the_same_area(browser: Any, ada: Core) -> None:
    made = ada.plans.create(
        ada.plans.read(
            "# Quay\n- [ ] Dig\n  - areas: src/quay\n- [ ] Pave\n  - areas: src/quay/stones\n"
            "- [ ] Rail {#rail}\n  - areas: src/rail\n- [ ] Paint\n  - areas: src/rail\n  - after: rail\n"
        )
    )
    _root, dig, pave, rail, paint = (item.id for item in made.items)
    text = words_of(browser.get("/graph"))
    assert f"{dig} and {pave} src/quay" in text
    assert f"{rail} and {paint}" not in text, "one waits for the other"
    assert "2 tasks one after the other" in text


def test_a_large_graph_is_bounded_and_says_so(
    browser: Any, ada: Core, monkeypatch: pytest.MonkeyPatch, statements: list[str], visit: Any
) -> None:
    monkeypatch.setattr(graph, "NODES", 10)
    children = tuple(Draft(kind="task", title=f"Stone {number}") for number in range(30))
    made = ada.plans.create(Draft(kind="plan", title="Wall", children=children))
    started = ada.claims.start(made.ready[0])
    ada.tasks.finish(made.ready[0], started.claim.token, Report(outcome="done", summary="Set"))
    page = browser.get("/graph")
    assert "10 of 30 tasks are drawn" in words_of(page)
    assert Elements(page.text).names.count("rect") == 10
    assert "Stone 0" not in words_of(page), "what is not closed is drawn first"
    assert len(graph.build_graph([], [], [], {}, 0).nodes) == 0


def test_without_a_plan_the_graph_says_how_one_is_made(browser: Any) -> None:
    assert "No plan is open" in words_of(browser.get("/graph"))
    assert "go there" in words_of(browser.get("/timeline?until=2020-01-01"))


def test_the_timeline_has_a_lane_for_each_agent(
    browser: Any, studio: Studio, ada: Core, bob: Core
) -> None:
    tasks = (
        Draft(kind="task", title="Keel", checks=(("true",),)),
        Draft(kind="task", title="Mast"),
    )
    made = ada.plans.create(Draft(kind="plan", title="Ship", children=tasks))
    keel, mast = made.ready
    studio.clock.pass_by(minutes=10)
    token = ada.claims.start(keel).claim.token
    ada.gates.verify(Check(item=keel), token)
    studio.clock.pass_by(minutes=10)
    ada.tasks.finish(keel, token, Report(outcome="done", summary="Laid"))
    bob.claims.start(mast)
    studio.clock.pass_by(minutes=90)
    ada.claims.start(mast)
    studio.clock.pass_by(minutes=10)
    ada.sessions.hand_over(Handover(action="pause", summary="Tired"))
    text = words_of(browser.get("/timeline"))
    assert f"ada {keel} {mast} bob {mast} (taken over)" in text
    assert re.search(rf"ada handed over .*ada took over {mast} .*ada check passed {keel}", text)
    page = browser.get("/timeline?zoom=6h").text
    bars = dict(
        re.findall(rf'({keel}|{mast}), held by ada[^<]*</title><rect[^>]* width="([\d.]+)"', page)
    )
    assert float(bars[keel]) == pytest.approx(10 / 360 * timeline.WIDTH, abs=0.2)
    assert float(bars[mast]) == pytest.approx(10 / 360 * timeline.WIDTH, abs=0.2)
    # Earlier bob still had it.
    before = words_of(browser.get("/timeline?zoom=1h&until=2026-01-02T04:00:00Z"))
    assert f"bob {mast}" in before
    assert "taken over" not in before.partition("Held, by agent")[2]
    # Nothing was written in that half of an hour; what was held all of it is drawn.
    assert f"bob {mast} What" in words_of(
        browser.get("/timeline?zoom=1h&until=2026-01-02T04:50:00Z")
    )


def test_a_full_timeline_begins_later_and_says_so(
    browser: Any, studio: Studio, planned: list[str], ada: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    studio.clock.pass_by(minutes=5)
    for _ in range(4):
        ada.journal.append(Note(kind="finding", body="Wind"))
    monkeypatch.setattr(timeline, "ENTRIES", 3)
    assert "it is drawn from 2026-01-02 03:09 on" in words_of(browser.get("/timeline"))
    past = browser.get("/timeline?until=2020-01-01T00:00:00Z&zoom=none")
    assert "Nobody held, checked or judged anything" in words_of(past)
    assert browser.get("/timeline?until=9999-12-31T23:59:59Z").status_code == 200
