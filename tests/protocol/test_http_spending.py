"""What calls of tools cost: a share of a minute, and of a month, over a real door."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from live_door import TOKENS, Months, rpc, running

from counterpoint.kernel.errors import QuotaExceeded, StoreBusy
from counterpoint.protocol.http.grants import Grant, Limits
from counterpoint.protocol.http.quotas import Spending

CURBED = TOKENS["curbed"]
PATIENCE = 20.0


@pytest.fixture
def months() -> Months:
    """Give where the calls of months are kept."""
    return Months()


@pytest.fixture
def spending(months: Months) -> Spending:
    """Give a server's share of them."""
    return Spending(Limits(lambda: 0.0), months)


def grant(name="ci", **more) -> Grant:
    """Answer a grant."""
    return Grant(id=f"tok_{name}", name=name, session="ses_1", **more)


def test_a_tool_has_its_own_share_of_a_minute(spending):
    one, other = (grant(name, tool_limits={"echo": 2}) for name in ("one", "other"))
    assert [spending.hurry(one, "echo") for _ in range(2)] == [None, None]
    refusal = spending.hurry(one, "echo")
    assert (refusal.code, refusal.facts) == ("rate_limited", {"retry_after": 30, "limit": 2})
    assert spending.hurry(one, "start") is None
    assert spending.hurry(other, "echo") is None


def test_a_token_without_a_limit_asks_nobody(spending, months):
    """Nothing is drawn."""
    assert not spending.is_counted(grant())
    assert spending.spend(grant()) is None
    assert months.drawings == 0
    assert not Spending(Limits(lambda: 0.0), None).is_counted(grant(calls_a_month=1))
    assert Spending(Limits(lambda: 0.0), None).spend(grant(calls_a_month=1)) is None


def test_a_month_is_spent_one_by_one_and_drawn_by_the_handful(spending, months):
    """Then the refusal says when there are more."""
    one = grant(calls_a_month=5)
    assert spending.is_counted(one)
    assert [spending.spend(one) for _ in range(5)] == [None] * 5
    assert (months.drawings, months.used) == (3, {"tok_ci": 5})
    refusal = spending.spend(one)
    assert isinstance(refusal, QuotaExceeded)
    assert refusal.facts == {
        "used": 5,
        "limit": 5,
        "resets_at": "2026-12-01T00:00:00.000Z",
        "retry_after": 3600,
    }
    assert "this token has made its 5 calls of 2026-11" in refusal.message


def test_all_callers_share_the_month_of_the_project(spending, months):
    """A call that this refuses costs the token nothing."""
    months.calls_a_month = 3
    one, other = grant("one", calls_a_month=9), grant("other")
    assert spending.is_counted(other)
    assert [spending.spend(who) for who in (one, other, one)] == [None] * 3
    refusal = spending.spend(one)
    assert "this project" in refusal.message
    assert spending.spend(other).facts["limit"] == 3
    months.calls_a_month = 100
    drawings = months.drawings
    for _ in range(2):
        assert spending.spend(one) is None
    # Both calls that the token had drawn were still there; the project drew two.
    assert months.drawings == drawings + 1


def test_what_was_drawn_and_not_spent_is_given_back(spending, months):
    """Once, when the server ends."""
    assert spending.spend(grant(calls_a_month=9)) is None
    assert months.used == {"tok_ci": 2}
    for _ in range(2):
        spending.close()
        assert months.used == {"tok_ci": 1}


def test_many_threads_never_spend_more_than_there_is(spending, months):
    """Sixteen at once; every call of the month is made, and not one more."""
    one = grant(calls_a_month=101)
    with ThreadPoolExecutor(16) as pool:
        told = list(pool.map(lambda _: spending.spend(one), range(160), timeout=PATIENCE))
    assert told.count(None) == 101
    assert months.used["tok_ci"] == 101


def test_a_tool_that_is_called_too_often_is_refused_in_the_words_of_its_surface(live):
    """With the header that says when to come again; it costs nothing of the month."""
    assert [live.call("echo", by="curbed", text="x").json["result"]["isError"] for _ in "ab"] == [
        False,
        False,
    ]
    got = live.call("echo", by="curbed", text="x")
    assert (got.status, got.headers["retry-after"]) == (200, "30")
    assert got.json["result"]["isError"]
    assert got.json["result"]["structuredContent"]["error"]["code"] == "rate_limited"
    assert live.quotas.used == {"tok_curbed": 2}
    assert "retry-after" not in live.call("large", by="curbed", size=1).headers


def test_a_month_that_is_used_up_is_told_with_its_end(live):
    """Only calls of tools count: lists, and tools that are not there, do not."""
    for _ in range(3):
        live.ask(rpc("tools/list"), by="curbed")
        live.call("nothing", by="curbed")
        assert not live.call("large", by="curbed", size=1).json["result"]["isError"]
    got = live.call("large", by="curbed", size=1)
    assert got.headers["retry-after"] == "3600"
    assert got.json["result"]["structuredContent"]["error"]["code"] == "quota_exceeded"
    assert not live.call("echo", by="all", text="x").json["result"]["isError"]


def test_a_server_that_ends_gives_back_what_it_had_drawn(small):
    """Two were drawn, one was spent."""
    with running(small) as live:
        live.call("large", by="curbed", size=1)
        assert live.quotas.used == {"tok_curbed": 2}
        months = live.quotas
    assert months.used == {"tok_curbed": 1}


def test_a_store_that_fails_is_told_as_everywhere_at_the_door(live, monkeypatch):
    """503, and nothing was done."""

    def fail(_subject, _most):
        raise StoreBusy

    monkeypatch.setattr(live.quotas, "draw", fail)
    got = live.call("echo", by="curbed", text="x")
    assert (got.status, got.json["error"]) == (503, "store_busy")
