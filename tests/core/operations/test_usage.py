"""Calls of a month: taken by the handful, never more than there are, counted beside the ledger."""

from __future__ import annotations

from datetime import timedelta


def test_a_month_is_taken_by_the_handful_until_there_is_none(ada):
    """Each taking says how many were given, how many are used, and when there are more."""
    first = ada.tokens.take("tok_1", 250)
    assert (first.month, first.granted, first.used) == ("2026-01", 2, 2)
    assert first.resets_at == "2026-02-01T00:00:00.000Z"
    taken = first.granted
    while given := ada.tokens.take("tok_1", 250).granted:
        taken += given
    assert taken == 250
    assert ada.tokens.usage("tok_1").used == 250
    assert ada.tokens.take("tok_1", 250).granted == 0
    assert ada.tokens.take("tok_1", 251).granted == 1


def test_a_month_that_is_used_up_is_told_without_writing(studio, ada, monkeypatch):
    """Whoever is refused again and again keeps no writer waiting."""
    ada.tokens.take("tok_1", 1)
    monkeypatch.delattr(type(studio.store), "writing")
    assert ada.tokens.take("tok_1", 1).granted == 0


def test_what_was_not_used_is_given_back(ada):
    """To the month it was taken from; never more than were taken."""
    given = ada.tokens.take("tok_1", 1000)
    assert given.granted == 10
    ada.tokens.give_back("tok_1", given.month, 4)
    assert ada.tokens.usage("tok_1").used == 6
    ada.tokens.give_back("tok_1", "2025-12", 4)
    assert ada.tokens.usage("tok_1").used == 6
    ada.tokens.give_back("tok_1", given.month, 40)
    assert ada.tokens.usage("tok_1").used == 0


def test_each_subject_and_each_month_has_its_own_count(studio, ada):
    """The first moment of the next month is a new beginning."""
    ada.tokens.take("tok_1", 1)
    assert ada.tokens.take("tok_1", 1).granted == 0
    assert ada.tokens.take("tok_2", 1).granted == 1
    studio.clock.pass_by(seconds=ada.tokens.usage("tok_1").resets_in - 1)
    assert ada.tokens.take("tok_1", 1).granted == 0
    studio.clock.pass_by(seconds=1)
    fresh = ada.tokens.take("tok_1", 1)
    assert (fresh.month, fresh.granted, fresh.used) == ("2026-02", 1, 1)
    assert fresh.resets_in == timedelta(days=28).total_seconds()


def test_use_is_in_no_entry_and_a_replay_does_not_miss_it(studio, ada):
    """The ledger is as long as before, and its replay gives every table."""
    size = studio.image().size
    ada.tokens.take("tok_1", 100)
    assert studio.image().size == size
    assert ada.audit.rebuild().differences == ()


def test_a_month_that_begins_between_two_looks_is_the_one_that_is_taken_from(studio, ada):
    """The second look, inside the transaction, counts."""
    moments = iter(["2026-01-31T23:59:59.999Z"])
    studio.clock.now = lambda: next(moments, "2026-02-01T00:00:00.000Z")
    assert ada.tokens.take("tok_1", 5).month == "2026-02"
