"""What a project asks of reviews, at the command line."""

from __future__ import annotations


def test_a_person_says_how_independent_reviews_have_to_be(call, ledger):
    """It is shown, kept with its reason, and told by the status."""
    assert call("policy").out == "Reviews: attested\n"
    said = call("policy", "--reviews", "declared", "--reason", "a container", "--json")
    assert said.json == {"reviews": "declared"}
    assert "Reviews: declared" in call("status", "--long").out
    last = call("log", "--action", "policy.changed", "--json").json["entries"][0]
    assert (last["action"], last["facts"]["reason"]) == ("policy.changed", "a container")


def test_asking_for_persons_where_nobody_has_a_key_warns(call, ledger):
    """It counts, and says what is missing; reading the policy says it again, on standard error."""
    asked = call("policy", "--reviews", "person")
    assert (asked.code, asked.out) == (0, "Reviews: person\n")
    assert "Nobody has a key" in asked.err
    assert "`counterpoint key add`" in asked.err
    assert "`counterpoint key add`" in call("policy").err
