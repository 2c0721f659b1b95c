"""Thoughts: their bytes, their hashes, and what makes a chain of them."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.core.ledger.entry import GENESIS
from counterpoint.core.ledger.merkle import leaf_hash
from counterpoint.core.ledger.thoughts import Chains, Link, link_of, link_of_row
from counterpoint.core.model.proofs import THOUGHT_TYPES, Thought
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import text_digest
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import ChainBroken, InvalidInput, MalformedDocument
from fakes.chains import verify_chains

FIRST = (
    b'{"agent":"ada","content":"a7937b64b8caa58f03721bb6bacf5c78cb235febe0e70b1b84cd99541461a08e",'
    b'"id":"demo-r1","previous":"'
    + b"0"
    * 64
    + b'","sequence":0,"session":"ses_1","task":"demo-2",'
    b'"timestamp":"2026-01-02T03:04:05.000Z","type":"plan","version":1}'
)


def link(sequence: int, previous: str = GENESIS, **fields: Any) -> Link:
    """Answer one link."""
    made = Link(
        id=f"demo-r{sequence + 1}",
        type="plan",
        task="demo-2",
        agent="ada",
        session="ses_1",
        sequence=sequence,
        timestamp=Timestamp(f"2026-01-02T03:04:{sequence % 60:02d}.000Z"),
        content=text_digest(f"thought {sequence}"),
        previous=previous,
    )
    return made._replace(**fields)


def chain(size: int, **fields: Any) -> list[Link]:
    """Answer a sound chain."""
    links: list[Link] = []
    previous = GENESIS
    for sequence in range(size):
        links.append(link(sequence, previous, **fields))
        previous = links[-1].leaf.hex()
    return links


def test_the_bytes_of_a_thought_are_the_known_ones() -> None:
    """Ten keys in order, no white space: anyone can make them without this program."""
    first = Link.from_bytes(FIRST)
    assert first.to_bytes() == FIRST
    assert first.content == text_digest("first")
    assert first.leaf == sha256(b"\x00" + FIRST).digest() == leaf_hash(FIRST)
    assert first.leaf.hex() == "8d54d3c58f94fee609d017dbfc26f37f9ce3357e6be4f73407774a7660123d3c"


@given(
    st.builds(
        Link,
        id=st.text(min_size=1),
        type=st.sampled_from(THOUGHT_TYPES),
        task=st.text(min_size=1),
        agent=st.text(min_size=1),
        session=st.text(),
        sequence=st.integers(0, 2**53 - 1),
        timestamp=st.just(Timestamp("2026-01-02T03:04:05.000Z")),
        content=st.just(text_digest("x")),
        previous=st.just(GENESIS),
        version=st.just(1),
    )
)
def test_every_thought_comes_back_from_its_bytes(one: Link) -> None:
    """No field is lost, none is read in two ways."""
    assert Link.from_bytes(one.to_bytes()) == one


def test_a_text_that_is_not_unicode_has_no_bytes() -> None:
    """It is refused before anything is hashed."""
    with pytest.raises(InvalidInput):
        link(0, agent="\ud800").to_bytes()


def test_every_field_is_hashed() -> None:
    """Whatever is changed gives another hash."""
    one = link(1)
    others: dict[str, Any] = {
        "id": "demo-r9",
        "type": "decision",
        "task": "demo-3",
        "agent": "eve",
        "session": "",
        "sequence": 2,
        "timestamp": Timestamp("2026-01-02T03:04:06.000Z"),
        "content": text_digest("other"),
        "previous": text_digest("other"),
        "version": 2,
    }
    hashes = {one._replace(**{name: value}).leaf for name, value in others.items()}
    assert len(hashes | {one.leaf}) == len(others) + 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("agent", ""),
        ("id", 1),
        ("task", None),
        ("session", 0),
        ("content", "A" * 64),
        ("previous", "0" * 63),
        ("sequence", -1),
        ("sequence", "0"),
        ("sequence", True),
        ("timestamp", "yesterday"),
        ("type", "thought"),
        ("version", 2),
        ("version", True),
    ],
)
def test_bytes_with_a_wrong_field_are_no_thought(name: str, value: object) -> None:
    fields = canonical.load(FIRST) | {name: value}
    with pytest.raises(MalformedDocument, match=f"`{name}`"):
        Link.from_bytes(canonical.dump(fields))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}",
        FIRST + b" ",
        FIRST.replace(b'"agent"', b'"agents"'),
        FIRST.replace(b'"sequence":0', b'"sequence":0.5'),
        b"\xff",
    ],
)
def test_bytes_in_another_form_are_no_thought(data: bytes) -> None:
    """Another spelling would have another hash, so there is none."""
    with pytest.raises(MalformedDocument):
        Link.from_bytes(data)


def test_all_faults_of_a_thought_are_told_at_once() -> None:
    """One look shows all that is wrong."""
    with pytest.raises(MalformedDocument) as raised:
        link_of_row("", {})
    assert len(raised.value.facts["faults"]) == 8


def test_a_row_and_its_image_have_the_same_link() -> None:
    one = link(0, session="")
    thought = Thought(
        project="demo",
        record=one.id,
        number=1,
        version=1,
        type=one.type,
        task=one.task,
        agent=one.agent,
        session="",
        sequence=0,
        created_at=one.timestamp,
        content=one.content,
        previous=GENESIS,
        hash=one.leaf.hex(),
    )
    image = {
        "number": 1,
        "version": 1,
        "type": one.type,
        "task": one.task,
        "agent": one.agent,
        "created_at": one.timestamp,
        "content": one.content,
        "previous": GENESIS,
        "hash": one.leaf.hex(),
    }
    assert link_of(thought) == one == link_of_row(one.id, image)


def test_a_sound_chain_is_counted() -> None:
    """Also when two tasks take turns, and when there is none."""
    assert verify_chains([]) == 0
    other = chain(3, task="demo-3")
    mixed = [one for pair in zip(chain(3), other, strict=True) for one in pair]
    assert verify_chains(mixed) == 6
    chains = Chains()
    for one in mixed:
        assert list(chains.follow(one, one.leaf.hex())) == []
    assert len(chains) == 2


@given(st.data())
def test_any_change_before_the_end_of_a_chain_is_found(data: Any) -> None:
    """An edit, a removal, an insertion, a swap: nothing but the end can be cut off in silence."""
    links = chain(6)
    place = data.draw(st.integers(0, 4))
    other = data.draw(st.integers(0, 5).filter(lambda one: one != place))
    edited = [*links[:place], links[place]._replace(agent="eve"), *links[place + 1 :]]
    removed = [*links[:place], *links[place + 1 :]]
    doubled = [*links[: place + 1], links[place], *links[place + 1 :]]
    swapped = list(links)
    swapped[place], swapped[other] = swapped[other], swapped[place]
    for wrong in (edited, removed, doubled, swapped):
        with pytest.raises(ChainBroken) as raised:
            verify_chains(wrong)
        assert raised.value.facts["task"] == "demo-2"


def test_a_thought_from_before_the_last_one_is_found() -> None:
    """Time never falls along a chain."""
    first = link(0)
    early = link(1, first.leaf.hex(), timestamp=Timestamp("2026-01-02T03:03:00.000Z"))
    with pytest.raises(ChainBroken, match="older"):
        verify_chains([first, early])


def test_gaps_are_passed_only_where_they_are_allowed() -> None:
    """In the thoughts of one session others may stand between; neighbours must still fit."""
    links = chain(6)
    assert verify_chains([links[1], links[2], links[5]], gaps=True) == 3
    for wrong in (
        [links[1], links[1]],
        [links[2], links[1]],
        [links[1], links[2]._replace(previous=GENESIS)],
        [links[0]._replace(previous=links[4].previous)],
        [links[2], links[4]._replace(timestamp=Timestamp("2026-01-02T03:03:00.000Z"))],
    ):
        with pytest.raises(ChainBroken):
            verify_chains(wrong, gaps=True)


def test_one_edit_in_a_chain_is_not_held_against_the_rest() -> None:
    """The look goes on from what was read, so that the fault stands where it is."""
    links = chain(5)
    links[1] = links[1]._replace(agent="eve")
    chains = Chains()
    found = [fault for one in links for fault in chains.follow(one, one.leaf.hex())]
    assert [fault.facts["thought"] for fault in found] == ["demo-r3"]
