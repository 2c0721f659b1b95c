"""What may run, who decides and who has keys, what a sitting may change of it, and which projects there are."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from counterpoint.board.views import projects
from counterpoint.board.views.projects import list_boards, remember_board
from counterpoint.core.coordinator import Core
from counterpoint.core.model.access import TokenRequest
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.trust.checking import Checking
from fakes.pages import Elements, words_of
from fakes.studio import Studio


def fields_of(page: Any, action: str) -> dict[str, str]:
    """Return the hidden fields and the ticked boxes of a form, without the token."""
    form = re.search(rf'action="{re.escape(action)}".*?</form>', page.text, re.DOTALL)
    assert form is not None, page.text
    fields = re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', form[0])
    fields += re.findall(r'type="checkbox" name="([^"]+)" value="([^"]*)" checked', form[0])
    return {name: value for name, value in fields if name != "token"}


def test_settings_say_what_may_run_who_decides_and_who_has_keys(
    studio: Studio, visit: Callable[..., Any]
) -> None:
    checking = Checking(commands=(("make", "test"),), network=False)
    studio.ports = replace(studio.ports, checking=lambda: checking)
    ada, person = studio.core("ada"), studio.core("pat", kind="human")
    task = Draft(kind="task", title="Keel", checks=(("rm", "-r"),))
    made = ada.plans.create(Draft(kind="plan", title="Ship", children=(task,)))
    person.tokens.create(TokenRequest(name="ci", scopes=("read",), addresses=("10.0.0.0/8",)))
    person.tokens.create(TokenRequest(name="robot", kind="agent"))
    text = words_of(visit(person).get("/settings"))
    for words in (
        "make test",
        f"rm -r for {made.ready[0]}",
        "without network",
        "attested : another principal that the kernel attests",
        "none is asked for",
        "1 person signs",
        "Nobody has a key",
        "ci over the network read; from 10.0.0.0/8",
        "robot an agent here",
        "counterpoint trust",
    ):
        assert words in text, words


def test_a_sitting_changes_the_policy_of_reviews_as_the_person(
    browser: Any, person: Core, studio: Studio
) -> None:
    page = browser.get("/settings")
    fields = fields_of(page, "/settings/reviews")
    answer = browser.submit(
        "/settings/reviews", "/settings", reviews="person", reason="We agreed", **fields
    )
    assert answer.status_code == 200
    assert "person : a person with a key" in words_of(answer)
    entry = studio.last()
    assert (entry.action, entry.actor.name) == ("policy.changed", "pat")
    stale = browser.submit(
        "/settings/reviews", "/settings", reviews="declared", reason="Late", **fields
    )
    assert stale.status_code == 409
    assert "changed by others" in stale.text
    assert browser.submit("/settings/none", "/settings").status_code == 404
    bad = browser.submit(
        "/settings/reviews", "/settings", origin="http://127.0.0.1:1", reviews="self", reason="x"
    )
    assert bad.status_code == 403
    assert studio.last().sequence == entry.sequence


def test_tools_of_a_role_are_set_by_boxes_with_a_warning_for_critical_ones(
    browser: Any, person: Core, studio: Studio
) -> None:
    assert "worker 3 of 3 tools" in words_of(browser.get("/settings"))
    page = browser.get("/settings/worker")
    assert "get_issue critical" in words_of(page)
    fields = fields_of(page, "/settings/tools/worker")
    assert {*fields} == {"before", "tool-get_issue", "tool-add_finding", "tool-create_pr"}
    del fields["tool-get_issue"]
    answer = browser.submit("/settings/tools/worker", "/settings/worker", **fields)
    assert "get_issue is closed, which every worker needs" in words_of(answer)
    profile = person.projects.profile("worker")
    assert profile is not None
    assert profile.denied_tools == ("get_issue",)
    stale = browser.submit("/settings/tools/worker", "/settings/worker", **fields)
    assert stale.status_code == 409
    assert "2 of 3 tools get_issue is closed" in words_of(browser.get("/settings"))
    assert browser.get("/settings/none").status_code == 404


def test_an_agents_sitting_changes_no_setting(
    visit: Callable[..., Any], ada: Core, person: Core, studio: Studio
) -> None:
    token = person.tokens.create(TokenRequest(name="ci")).token
    browser, size = visit(ada), studio.last().sequence
    before = fields_of(browser.get("/settings/worker"), "/settings/tools/worker")
    answers = [
        browser.submit("/settings/tools/worker", "/settings", **before),
        browser.submit(
            "/settings/reviews", "/settings", reviews="self", before="attested", reason="Mine"
        ),
        browser.submit(f"/settings/revoke/{token.id}", "/settings", kind="caller"),
    ]
    assert [answer.status_code for answer in answers] == [403, 403, 403]
    assert studio.last().sequence == size


def test_a_person_ends_a_token(browser: Any, person: Core) -> None:
    token = person.tokens.create(TokenRequest(name="ci")).token
    path = f"/settings/revoke/{token.id}"
    fields = fields_of(browser.get("/settings"), path)
    assert browser.submit(path, "/settings", **fields | {"kind": "any"}).status_code == 400
    assert not person.tokens.list()[0].revoked_at
    assert "ci over the network" in words_of(browser.submit(path, "/settings", **fields))
    assert person.tokens.list()[0].revoked_at
    assert path not in browser.get("/settings").text


def test_projects_are_named_for_a_person_and_lead_only_to_this_machine(
    visit: Callable[..., Any],
    person: Core,
    ada: Core,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    browser = visit(person)
    assert "None yet" in words_of(browser.get("/projects"))
    for number in range(projects.MAX_BOARDS + 2):
        remember_board(
            {"XDG_STATE_HOME": str(tmp_path)},
            (f"http://127.0.0.1:{9000 + number}", f"Quay {number}"),
        )
    remember_board({"XDG_STATE_HOME": str(tmp_path)}, ("http://127.0.0.1:9041", "Mole"))
    path = tmp_path / "counterpoint" / "boards.json"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [*path.parent.iterdir()] == [path]
    boards = list_boards({"XDG_STATE_HOME": str(tmp_path)})
    assert len(boards) == projects.MAX_BOARDS
    # A board that is where another one was stands in its place.
    assert [name for _, name in boards[:2]] == ["Mole", f"Quay {projects.MAX_BOARDS}"]
    remember_board({"XDG_STATE_HOME": str(tmp_path)}, (browser.site.address, "this one"))
    assert "this one" not in words_of(browser.get("/projects"))
    bad = [(address, "Quay") for address in ("javascript:alert(1)", "http://evil:80", 7)]
    path.write_text(json.dumps([*boards[:2], *bad, "x", {}, []]))
    page = browser.get("/projects")
    assert f"Quay {projects.MAX_BOARDS}" in words_of(page)
    links = [value for name, value in Elements(page.text).attributes if name == "href"]
    assert sum(link.startswith("http") for link in links) == 2
    assert not [link for link in links if "evil" in link or "javascript" in link]
    assert "Quay" not in words_of(visit(ada).get("/projects")), "an agent is shown its own"
    path.write_text("[")
    assert "None yet" in words_of(browser.get("/projects"))
