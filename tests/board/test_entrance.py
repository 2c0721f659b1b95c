"""Who comes to the board: codes, cookies, forms, and what every answer carries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from counterpoint.board.pages import PAGES
from counterpoint.board.sittings import (
    CODE_SECONDS,
    MAX_CODES,
    MAX_SITTINGS,
    SITTING_SECONDS,
)
from counterpoint.core.coordinator import Core
from counterpoint.kernel.errors import Forbidden
from fakes.studio import Studio

COMMAND = "counterpoint board"
OTHERS = {"token": "of another sitting"}


def test_a_code_opens_one_sitting_of_whoever_it_was_minted_for(
    visit: Callable[..., Any], code: Callable[..., str], ada: Core, person: Core
) -> None:
    browser = visit(person)
    assert ">pat<" in browser.get("/").text
    minted = code(ada)
    assert ">ada<" not in browser.get("/").text
    browser.cookies.clear()
    entered = browser.log_in(minted)
    cookie = entered.headers["set-cookie"].lower()
    assert cookie.startswith("counterpoint-01234567=")
    assert {"httponly", "samesite=strict", "path=/"} <= {*cookie.split("; ")}
    assert minted.lower() not in cookie
    assert ">ada<" in browser.get("/").text
    again = browser.log_in(minted)
    assert (again.status_code, COMMAND in again.text, "set-cookie" in again.headers) == (
        403, True, False
    )  # fmt: skip


def test_wrong_late_and_missing_codes_are_refused_with_the_next_step(
    site: Any, visit: Callable[..., Any], code: Callable[..., str], person: Core, seconds: Any
) -> None:
    browser = visit(person)
    browser.cookies.clear()
    minted = code(person)
    seconds.now += CODE_SECONDS
    for wrong in (
        minted,
        "",
        "x" * 43,
        "é\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
    ):
        refused = browser.log_in(wrong)
        assert (refused.status_code, COMMAND in refused.text) == (403, True)
        assert "text/html" in refused.headers["content-type"]
    first = code(person)
    for _ in range(MAX_CODES):
        last = code(person)
    assert browser.log_in(first).status_code == 403
    assert browser.log_in(last).status_code == 200


def test_a_get_spends_no_code_and_shows_nothing_without_a_sitting(
    visit: Callable[..., Any], code: Callable[..., str], person: Core, planned: list[str]
) -> None:
    browser = visit(person)
    browser.cookies.clear()
    minted = code(person)
    assert browser.get(f"/login?code={minted}").status_code == 200
    for path in (*(name for name in PAGES if name != "items"), f"items/{planned[0]}", "nowhere"):
        refused = browser.get(f"/{path}")
        assert (refused.status_code, COMMAND in refused.text) == (403, True)
        assert "Harbour" not in refused.text
    assert browser.log_in(minted).status_code == 200


def test_a_sitting_ends_by_time_by_logging_out_and_with_its_credential(
    visit: Callable[..., Any], person: Core, seconds: Any
) -> None:
    browser = visit(person)
    assert browser.submit("/logout", **OTHERS).status_code == 403
    assert browser.get("/").status_code == 200
    assert browser.submit("/logout").status_code == 200
    assert browser.get("/").status_code == 403
    browser = visit(person)
    seconds.now += SITTING_SECONDS
    assert browser.get("/").status_code == 403

    revoked = []

    def core() -> Core:
        if revoked:
            raise Forbidden("the credential has ended", hint="Ask for one.")
        return person

    browser = visit(core)
    assert browser.get("/").status_code == 200
    revoked.append(True)
    assert "Ask for one." in browser.get("/").text
    revoked.clear()
    assert browser.get("/").status_code == 403


def test_of_sittings_the_oldest_goes(visit: Callable[..., Any], person: Core) -> None:
    oldest = visit(person)
    for _ in range(MAX_SITTINGS):
        latest = visit(person)
    assert (oldest.get("/").status_code, latest.get("/").status_code) == (403, 200)


@pytest.mark.parametrize(
    ("headers", "token"),
    [
        ({"origin": "http://evil.example"}, True),
        ({"origin": "null"}, True),
        ({"origin": "http://127.0.0.1:9999"}, True),
        ({}, True),
        ({"origin": "http://127.0.0.1:8765", "sec-fetch-site": "cross-site"}, True),
        ({"origin": "http://127.0.0.1:8765", "sec-fetch-site": "same-site"}, True),
        ({"origin": "http://127.0.0.1:8765"}, False),
        ({"origin": "http://127.0.0.1:8765", "content-type": "text/plain"}, True),
    ],
)
def test_what_no_page_of_the_board_posted_changes_nothing(
    browser: Any, headers: dict[str, str], token: bool
) -> None:
    text = browser.get("/").text
    own = text.partition('name="token" value="')[2].partition('"')[0]
    sent = browser.post("/logout", data={"token": own if token else own[::-1]}, headers=headers)
    assert sent.status_code == 403
    assert browser.get("/").status_code == 200


def test_forms_of_other_sittings_do_not_count(
    browser: Any, visit: Callable[..., Any], ada: Core
) -> None:
    other = visit(ada).get("/").text.partition('name="token" value="')[2].partition('"')[0]
    assert browser.submit("/logout", token=other).status_code == 403


def test_a_form_is_bounded(browser: Any) -> None:
    assert browser.submit("/logout", text="x" * 300_000).status_code == 403
    assert browser.get("/").status_code == 200


def test_every_answer_keeps_foreign_code_out(browser: Any, planned: list[str]) -> None:
    paths = [
        "/",
        "/nowhere",
        "/login",
        "/static/board.css",
        "/static/../site.py",
        f"/items/{planned[0]}",
    ]
    answers = [browser.get(path) for path in paths]
    answers.append(browser.post("/", data={}))
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "require-trusted-types-for 'script'" in policy
        assert "unsafe" not in policy
        assert answer.headers["referrer-policy"] == "same-origin"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert "style=" not in answer.text
        assert "<script>" not in answer.text
    assert [answer.status_code for answer in answers] == [200, 404, 200, 200, 404, 200, 405]


def test_reading_changes_nothing(browser: Any, studio: Studio, planned: list[str]) -> None:
    studio.system.signing.renew()
    before = studio.image()
    for path in (
        *(name for name in PAGES if name != "items"),
        f"items/{planned[1]}",
        f"review/{planned[2]}",
        "proof?check=1",
        "proof?entry=0",
        "bundle",
    ):
        assert browser.get(f"/{path}").status_code == 200
        assert browser.head(f"/{path}").status_code == 200
        assert browser.put(f"/{path}").status_code == 405
    assert studio.image() == before
