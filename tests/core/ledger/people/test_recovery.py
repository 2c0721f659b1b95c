"""A key that an epoch let in, and what a project asked of reviews: forged, and found by both verifiers."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from counterpoint.core.model.filters import Edit, Judgment, Report
from counterpoint.core.model.identity import ProposedAct
from counterpoint.kernel.errors import Forbidden
from fakes.people import Person
from fakes.story import Entry, Story, signed_anew

PLAN = "# Plan\n- [ ] A\n  - review: yes\n- [ ] B\n  - review: yes\n- [ ] C\n  - review: yes\n"
DONE = "# Before\n- [x] Built\n  - review: yes\n"
STRICT = ProposedAct(action="policy.changed", decision={"policy": "person"})


class Lost(Story):
    """A project that asks for people, in which Pat's only key was lost and Sam's let in by an epoch."""

    def __init__(self) -> None:
        """Let two agents finish work, Pat and then Sam approve it, and Sam open another epoch."""
        super().__init__()
        ada = self.studio.core("ada")
        self.tasks = list(ada.plans.create(ada.plans.read(PLAN)).ready)
        for task in self.tasks:
            token = ada.claims.start(task).claim.token
            ada.tasks.finish(task, token, Report(outcome="done", summary="it works"))
        self.pat.does(STRICT, "").projects.ask_of_reviews("person")
        self.pat.judge(self.tasks[0], Judgment(approves=True, reason="well done"))
        ada.plans.create(ada.plans.read(DONE))
        self.eve = Person(studio=self.studio, name="eve")
        self.cyd = Person(studio=self.studio, name="cyd")
        self.cyd.recover()
        self.cyd.judge(self.tasks[1], Judgment(approves=True, reason="well done"))
        waive = ProposedAct(
            action="item.edited", subject=self.tasks[2], decision={"waived": ["review"]}
        )
        edit = Edit(waive=("review",), reason="not needed")
        self.cyd.does(waive, "not needed").items.edit(self.tasks[2], edit)
        self.cyd.unsigned.items.edit(self.tasks[0], Edit(status="open", reason="again"))
        self._export()

    def copy(self, action: str, change: Callable[[Entry], object]) -> Entry:
        """Answer a changed copy of the last signed entry of an action, with the time of the end."""
        signed = [one for one in self.entries if one["w"].get("i", {}).get("k") == "person"]
        found = [one for one in signed if one["a"] == action][-1]
        entry = deepcopy(found) | {"t": self.entries[-1]["t"]}
        change(entry)
        return entry

    def recovery(self, person: Person, **other: Any) -> Entry:
        """Answer an entry that recovers a key of somebody in epoch 3, or changed; signed by him after that."""
        number = other.pop("number", 3)

        def change(entry: Entry) -> None:
            key, epoch = row(entry, "keys"), row(entry, "epochs")
            key["k"]["id"] = entry["f"]["key"] = person.key
            entry["f"] |= {"epoch": number, "owner": person.name, "left": 2}
            epoch["k"]["number"] = number
            key["v"] |= {"public_key": person.public_key, "owner": person.name}
            key["v"] |= {"enrolled_by": f"epoch {number}"} | other
            told = ("key", "owner", "storage", "epoch")
            signed_anew(entry, person, decision={name: entry["f"][name] for name in told})

        return self.copy("key.recovered", change)

    def epoch(self, left: int | None, number: int = 4, **other: Any) -> Entry:
        """Answer an entry that opens an epoch, signed by Cyd, and says which one it left; columns may be changed."""

        def change(entry: Entry) -> None:
            facts = {"epoch": number, "confirmed": True} | ({} if left is None else {"left": left})
            columns = {"public_key": "ab" * 32, "confirmed_by": self.cyd.key} | other
            opened = {"t": "epochs", "k": {"number": number}, "v": columns}
            entry |= {"a": "epoch.opened", "f": facts}
            entry["r"], told = [opened, row(entry, "confirmations")], {"epoch": number}
            signed_anew(entry, self.cyd, act="epoch.opened", decision=told, nonce="cd" * 16)

        return self.copy("key.recovered", change)

    def texts_of(self, entries: list[Entry]) -> list[bytes]:
        """Answer the texts that some entries name."""
        kept = b"".join(repr(one).encode() for one in entries)
        return [line for line in self.texts if line.split(b'"text":"')[-1][:64] in kept]


def row(entry: Entry, table: str) -> Entry:
    """Answer the row image of a table."""
    return next(one for one in entry["r"] if one["t"] == table)


@pytest.fixture(scope="module")
def lost() -> Lost:
    """The ledger, which no test changes."""
    return Lost()


def test_a_recovered_key_signs_and_is_told_as_recovered(lost: Lost) -> None:
    """What follows is sound for both verifiers, a plan that comes with reviewed work too."""
    assert not lost.is_found(lost.entries)
    found = {key.owner: key.recovered_in for key in lost.cyd.unsigned.people.list()}
    assert found == {"pat": 0, "sam": 0, "cyd": 2}
    (epoch,) = lost.cyd.unsigned.signing.epochs()
    assert (epoch.number, epoch.confirmed_by) == (2, "")


def test_a_recovery_that_the_signer_did_not_open_is_found(lost: Lost) -> None:
    """Eve writes one into the database, and the signer, who looks at tables, signs on in epoch 2."""
    forged = [*lost.entries, lost.recovery(lost.eve)]
    assert lost.is_found(forged, epoch=2)
    assert not lost.is_found(forged, epoch=3)  # that is the signer's word


def test_a_recovery_is_not_covered_by_the_next_epoch_of_a_person(lost: Lost) -> None:
    """The epoch that follows tells which one the signer left: not Eve's. A signer that lost its memory tells none."""
    forged = [*lost.entries, lost.recovery(lost.eve)]
    for left in (2, None, True, 1):
        assert lost.is_found([*forged, lost.epoch(left)]), left
    for left in (3, 0):
        assert not lost.is_found([*forged, lost.epoch(left)]), left
    assert lost.is_found([*forged, lost.epoch(3, number=3)])
    assert lost.is_found([*forged, lost.epoch(3, number=2)])


def test_an_epoch_that_no_person_signed_is_found_where_a_key_is_in_force(lost: Lost) -> None:
    def change(how: Callable[[Entry], object]) -> Entry:
        entry = lost.epoch(2, number=3)
        how(entry)
        return entry

    def by_nobody(entry: Entry) -> None:
        unsigned(entry)
        row(entry, "epochs")["v"].pop("confirmed_by")

    def by_a_connection(entry: Entry) -> None:
        by_nobody(entry)
        entry["w"] = {"i": {"i": "cn_x", "k": "connection"}, "k": "agent", "n": "eve"}

    def as_a_recovery(entry: Entry) -> None:
        by_nobody(entry)
        entry["a"] = "key.recovered"

    def twice(entry: Entry) -> None:
        entry["r"].append(deepcopy(row(entry, "epochs")) | {"k": {"number": 4}})

    def slipped(entry: Entry) -> None:
        entry["r"].append(row(lost.epoch(2, number=3), "epochs"))

    forged = [
        change(by_nobody),
        change(by_a_connection),
        change(as_a_recovery),
        change(twice),
        change(lambda entry: row(entry, "epochs")["k"].update(number=4)),
        lost.epoch(2, number=3, confirmed_by=""),
        lost.epoch(2, number=3, confirmed_by=lost.pat.key),
        lost.copy("item.approved", slipped),
    ]
    for place, entry in enumerate(forged):
        assert lost.is_found([*lost.entries, entry]), place
    assert not lost.is_found([*lost.entries, lost.epoch(2, number=3)])
    # Before anybody had a key nobody could sign one.
    early = [*lost.entries[:1], change(by_nobody) | {"t": lost.entries[0]["t"]}]
    assert not lost.is_found(early, lost.texts_of(early))


def test_a_recovery_is_whole_or_found(lost: Lost) -> None:
    """By another key, without its epoch, with one that says to be confirmed, or told otherwise."""

    def change(how: Callable[[Entry], object]) -> Entry:
        entry = lost.recovery(lost.eve)
        how(entry)
        return entry

    def by_another(entry: Entry) -> None:
        signed_anew(entry, lost.cyd, decision=dict(lost.recovery(lost.eve)["f"]))

    def without_epoch(entry: Entry) -> None:
        entry["r"].remove(row(entry, "epochs"))

    def twice(entry: Entry) -> None:
        entry["r"].append(deepcopy(row(entry, "epochs")) | {"k": {"number": 4}})

    def in_pieces(entry: Entry) -> None:
        row(entry, "epochs")["c"] = row(entry, "epochs").pop("v")

    forged = [
        change(by_another),
        change(without_epoch),
        change(twice),
        change(in_pieces),
        change(lambda entry: row(entry, "epochs")["v"].update(confirmed_by=lost.eve.key)),
        change(lambda entry: row(entry, "epochs")["k"].update(number=5)),
        change(lambda entry: entry.update(a="key.enrolled")),
        lost.recovery(lost.eve, enrolled_by=lost.eve.key),
        lost.recovery(lost.eve, enrolled_by="epoch 2"),
        lost.recovery(lost.eve, number=2),
        lost.recovery(lost.cyd),  # who has a key
    ]
    for place, entry in enumerate(forged):
        assert lost.is_found([*lost.entries, entry]), place


# ── what was asked of reviews ────────────────────────────────────────────────────────────────────


def unsigned(entry: Entry) -> None:
    """Take away that a person signed, as somebody with the database would who has no key."""
    entry["r"] = [one for one in entry["r"] if one["t"] != "confirmations"]
    entry["w"] = {"k": "human", "n": "pat"}
    for one in entry["r"]:
        if "independence" in (one.get("v") or one.get("c") or {}):
            (one.get("v") or one["c"])["independence"] = "attested"


def test_a_review_that_nobody_signed_is_found_where_a_person_is_asked_for(lost: Lost) -> None:
    """An unsigned approval, a waiver, a gate that is written anew or taken away, a policy that asks for less."""
    gate = {"item": lost.tasks[0], "name": "review"}

    def only(*rows: Entry, action: str = "item.approved") -> Entry:
        made = {"a": action, "r": list(rows), "s": gate["item"], "w": {"k": "human", "n": "pat"}}
        return made | {"p": "demo", "t": lost.entries[-1]["t"], "v": 2}

    met, lower = {"status": "met"}, {"reviews": "attested"}
    forged = [
        lost.copy("item.approved", unsigned),
        lost.copy("item.edited", lambda entry: entry.update(only({"t": "gates", "k": gate, "c": {"status": "waived"}}))),
        only({"t": "gates", "k": gate, "c": met}),
        only({"t": "gates", "k": gate, "v": {"kind": "review", **met}}),
        only({"t": "gates", "k": gate, "v": {"kind": "check", "status": "closed"}}),
        only({"t": "gates", "k": gate, "v": None}),
        only({"t": "gates", "k": {**gate, "name": "other"}, "v": {"kind": "review", **met}}),
        only({"t": "gates", "k": {**gate, "name": "other"}, "v": {"kind": "check", "status": "waived"}}),
        only({"t": "projects", "k": {}, "c": lower}, action="policy.changed"),
        only({"t": "projects", "k": {}, "v": lower}, action="policy.changed"),
        only({"t": "projects", "k": {}, "v": None}, action="policy.changed"),
    ]  # fmt: skip
    for place, entry in enumerate(forged):
        assert lost.is_found([*lost.entries, entry]), place
    sound = [
        only({"t": "gates", "k": gate, "c": {"status": "closed"}}),
        only({"t": "gates", "k": {**gate, "name": "check-1"}, "c": met}),
        only({"t": "projects", "k": {}, "c": {"title": ""}}),
        only({"t": "projects", "k": {}, "c": {"reviews": "person"}}),
    ]
    for place, entry in enumerate(sound):
        assert not lost.is_found([*lost.entries, entry]), place
    # Before a person was asked for, the same was nobody's business.
    early = [one for one in lost.entries if one["n"] < lost.place("policy.changed")]
    assert not lost.is_found(
        [*early, only({"t": "gates", "k": gate, "c": met}) | {"t": early[-1]["t"]}],
        lost.texts_of(early),
    )


def test_nothing_ends_past_a_review_where_a_person_is_asked_for(lost: Lost) -> None:
    """Not by an entry of nobody, which needs no principal; but what has no review, or is made so."""
    task, done = lost.tasks[0], {"category": "done", "status": "done"}
    review = {"kind": "review", "holds": "finish", "status": "closed"}

    def only(*rows: Entry) -> Entry:
        made = {"a": "item.edited", "r": list(rows), "s": task, "w": {"k": "system", "n": "x"}}
        return made | {"p": "demo", "t": lost.entries[-1]["t"], "v": 2}

    def item(name: str, **image: Any) -> Entry:
        return {"t": "items", "k": {"id": name}, **image}

    def gate(name: str, **columns: str) -> Entry:
        return {"t": "gates", "k": {"item": name, "name": "review"}, "v": review | columns}

    for forged in (
        only(item(task, c=done)),
        only(item(task, v=done)),
        only(item(task, c=done | {"status": "skipped"})),
        only(item(task, c=done), {**gate(task), "v": {**review, "kind": "check"}}),
        only(item("demo-3", c=done), gate("demo-3")),
        only(item("demo-3", c=done), gate("demo-3", status="open")),
        only(item(task, c=done), {"t": "gates", "k": gate(task)["k"], "c": {"proof": "demo-v1"}}),
    ):
        assert lost.is_found([*lost.entries, forged]), forged
    for sound in (
        only(item("demo-3", c=done)),
        only(item(task, c={"category": "active", "status": "active"})),
        only(item(lost.tasks[1], c=done)),
        only(item(lost.tasks[2], c=done)),
        only(item("demo-3", c=done), gate("demo-3", holds="start")),
        only(item("demo-99", v=done), gate("demo-99")),
    ):
        assert not lost.is_found([*lost.entries, sound]), sound
    early = [one for one in lost.entries if one["n"] < lost.place("policy.changed")]
    kept = b"".join(repr(one).encode() for one in early)
    texts = [line for line in lost.texts if line.split(b'"text":"')[-1][:64] in kept]
    before = only(item(task, c=done)) | {"t": early[-1]["t"]}
    assert not lost.is_found([*early, before], texts)


def test_what_a_person_signed_opens_no_other_gate(lost: Lost) -> None:
    """A row that is slipped into a signed entry: of another item, another act, another policy."""
    other = {"item": lost.tasks[0], "name": "review"}

    def with_(row: Entry, *, action: str = "item.approved", **facts: Any) -> Entry:
        def change(entry: Entry) -> None:
            entry["r"].append(row)
            entry.setdefault("f", {}).update(facts)
            names = ("subject", "submission", "waived", "policy")
            told = {name: entry["f"][name] for name in names if name in entry["f"]}
            signed_anew(entry, lost.cyd, decision=told)

        return lost.copy(action, change)

    met, lower = {"status": "met"}, {"t": "projects", "k": {}, "c": {"reviews": "declared"}}
    forged = [
        with_({"t": "gates", "k": other, "c": met}),
        with_({"t": "gates", "k": {**other, "item": lost.tasks[2]}, "c": met}, action="item.edited"),
        with_({"t": "gates", "k": {**other, "item": lost.tasks[1]}, "c": {"status": "waived"}}),
        with_(lower),
        with_(lower, policy="attested"),
    ]  # fmt: skip
    higher = {"t": "projects", "k": {}, "c": {"reviews": "person"}}
    forged.append(with_(higher, action="policy.changed", policy="declared"))
    for place, entry in enumerate(forged):
        assert lost.is_found([*lost.entries, entry]), place

    def lowered(entry: Entry) -> None:
        row(entry, "projects")["c"] = {"reviews": "declared"}
        entry["f"]["policy"] = "declared"
        signed_anew(entry, lost.cyd, decision={"policy": "declared"})

    assert not lost.is_found([*lost.entries, lost.copy("policy.changed", lowered)])


# ── who recovers ─────────────────────────────────────────────────────────────────────────────────


def test_nothing_is_recovered_where_nobody_has_a_key_and_by_no_agent() -> None:
    """Then the first key comes in as ever; and an agent is told whom to ask."""
    person = Person(studio=Story().studio, name="dan")
    agent = person.studio.core("ada")
    with pytest.raises(Forbidden, match="agent"):
        agent.people.recovery(person.public_key, "ada", "passphrase")
    with pytest.raises(Forbidden, match="agent"):
        agent.people.finish_recovery(person.key)
    assert not person.unsigned.people.finish_recovery(person.key)
