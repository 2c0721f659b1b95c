"""Tokens judged: in force, from where, for how long, and in which session."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.core.model.access import Token, TokenRequest
from counterpoint.core.rules import access
from counterpoint.kernel.errors import InvalidInput

NOW = "2026-11-20T12:00:00.000Z"


def token(**changes):
    """Answer a token that anyone may use from anywhere, with changes."""
    plain = {
        "project": "demo", "id": "tok_1", "name": "ci", "sha256": "", "surfaces": (),
        "scopes": ("read", "write"), "tools": (), "addresses": (), "calls_a_minute": 0,
        "session": "ses_1", "created_at": NOW, "expires_at": "", "revoked_at": "",
    }  # fmt: skip
    return Token(**{**plain, **changes})


@pytest.mark.parametrize(
    ("ends", "in_force"),
    [("", True), ("2026-11-20T12:00:00.001Z", True), (NOW, False), ("2025-01-01T00:00:00Z", False)],
)
def test_a_token_is_in_force_until_it_expires(ends, in_force):
    """The moment that it names is the first in which it is not."""
    assert access.is_in_force(token(expires_at=ends), NOW) is in_force


def test_a_revoked_token_is_never_in_force():
    assert not access.is_in_force(token(revoked_at=NOW, expires_at="2099-01-01T00:00:00Z"), NOW)


@pytest.mark.parametrize(
    ("networks", "address", "admitted"),
    [
        ((), "anything", True),
        (("10.0.0.0/8",), "10.1.2.3", True),
        (("10.0.0.0/8",), "11.1.2.3", False),
        (("10.0.0.0/8",), "::ffff:10.1.2.3", True),
        (("10.0.0.0/8", "2001:db8::/32"), "2001:db8::7", True),
        (("fe80::/10",), "fe80::1%eth0", True),
        (("10.0.0.0/8",), "", False),
        (("10.0.0.0/8",), "10.0.0.1, 192.0.2.1", False),
    ],
)
def test_a_caller_is_admitted_from_the_networks_of_the_token(networks, address, admitted):
    """IPv4 in its IPv6 form counts as IPv4; what is no address is nowhere."""
    assert access.is_admitted(token(addresses=networks), address) is admitted


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("2m", 120), ("12h", 43_200), ("30d", 2_592_000)]
)
def test_a_span_is_a_number_and_a_letter(text, seconds):
    assert access.seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "0d", "d", "5", "-5d", "5 d", "1e3d", "99y", "5x", "٣d"])
def test_what_is_no_span_is_refused(text):
    with pytest.raises(InvalidInput, match="span of time"):
        access.seconds_of(text)


def test_every_fault_of_a_wish_is_told_at_once():
    """Name, scope, network, rate and time."""
    wish = TokenRequest(
        name="a b", scopes=("admin",), addresses=("x", "10.0.0.0/33"), calls_a_minute=-1,
        lasts_seconds=-1,
    )  # fmt: skip
    with pytest.raises(InvalidInput) as caught:
        access.normalize_request(wish)
    assert len(caught.value.facts["faults"]) == 6


def test_no_token_has_the_name_of_an_oauth_subject():
    """Who has such a name was let in by somebody else."""
    with pytest.raises(InvalidInput) as caught:
        access.normalize_request(TokenRequest(name=f"{access.OF_SUBJECTS}bob", scopes=("read",)))
    (fault,) = caught.value.facts["faults"]
    assert fault == f"names that begin with {access.OF_SUBJECTS} are those of OAuth subjects"


def test_a_wish_is_brought_into_its_plain_form():
    """Sorted, each once, networks without host bits; writing includes reading."""
    wish = access.normalize_request(
        TokenRequest(name="ci", scopes=("write",), tools=("b", "a", "b"), addresses=("10.1.2.3/8",))
    )
    assert (wish.scopes, wish.tools, wish.addresses) == (
        ("read", "write"), ("a", "b"), ("10.0.0.0/8",),
    )  # fmt: skip
    assert access.normalize_request(TokenRequest(name="ci", scopes=("read",))).scopes == ("read",)


@given(st.lists(st.text(), min_size=1), st.lists(st.text(), min_size=1))
def test_a_capability_is_kept_by_its_kind_and_what_makes_it(one, other):
    """The same words give the same, others another, as long as no word has a zero in it."""
    first, second = access.capability_of(*one), access.capability_of(*other)
    assert re.fullmatch("[0-9a-f]{64}", first)
    assert first == access.capability_of(*one)
    if "\0".join(one) != "\0".join(other):
        assert first != second


def test_the_limits_of_tools_are_read_from_their_texts():
    """A tool and a number; the same one twice is one."""
    assert access.tool_limits_of(["find=30", "plan-1=1", "find=30"]) == {"find": 30, "plan-1": 1}
    wish = access.normalize_request(
        TokenRequest(name="ci", tool_limits=("note=5", "find=30", "note=5"))
    )
    assert wish.tool_limits == ("find=30", "note=5")


@pytest.mark.parametrize(
    "texts",
    [["find"], ["find="], ["=3"], ["find=0"], ["find=-1"], ["find=1000001"], ["a b=3"],
     ["find=1", "find=2"]],
)  # fmt: skip
def test_a_limit_of_a_tool_that_is_none_is_refused(texts):
    """With what it should look like."""
    with pytest.raises(InvalidInput) as refused:
        access.tool_limits_of(texts)
    assert "find=30" in refused.value.hint
    assert len(refused.value.facts["faults"]) == 1


@pytest.mark.parametrize("calls", [-1, access.MOST_CALLS_A_MONTH + 1])
def test_a_month_has_no_fewer_calls_than_none_and_not_endlessly_many(calls):
    with pytest.raises(InvalidInput, match="calls a month"):
        access.normalize_request(TokenRequest(name="ci", calls_a_month=calls))
