"""Places of which nobody takes all."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from counterpoint.protocol.limits import Shares


def taken(shares: Shares, who: str) -> int:
    """Have somebody take all that he gets; answer how many."""
    return sum(1 for _ in range(100) if shares.take(who))


def test_whoever_takes_all_he_gets_leaves_half() -> None:
    """Beside others half of what they leave; the house takes what is free."""
    shares = Shares(32)
    assert [taken(shares, who) for who in ("a", "b", "c", "d", "e", "f")] == [16, 8, 4, 2, 1, 1]
    shares.give_back("a")
    assert shares.may_take("g")
    assert not shares.may_take("b")
    alone = Shares(4)
    assert [taken(alone, ""), taken(alone, "a")] == [4, 0]


@given(st.integers(1, 40), st.lists(st.tuples(st.sampled_from("abcd"), st.booleans())))
def test_a_place_is_free_for_who_has_none_as_long_as_any_is(
    size: int, acts: list[tuple[str, bool]]
) -> None:
    """And nobody has more than he left free when he took his last one; none are lost or made."""
    shares, held = Shares(size), dict.fromkeys("abcd", 0)
    for who, takes in acts:
        free = size - sum(held.values())
        if takes:
            assert shares.take(who) == (held[who] < free)
            held[who] += held[who] < free
        elif held[who]:
            shares.give_back(who)
            held[who] -= 1
        free = size - sum(held.values())
        assert shares.may_take("somebody else") == (free > 0)
