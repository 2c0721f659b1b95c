"""What stands as a person's act and was not signed is found: by the product and by the small verifier.

Whoever forges here has the database and the server's key: chain, tree and checkpoint are right.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import orjson
import pytest

from counterpoint.core.ledger.offline import verify_any
from counterpoint.core.ledger.people.confirmed import DECIDED, Ring, entry_faults
from counterpoint.core.ledger.people.statement import Statement
from counterpoint.kernel import canonical
from fakes.people import Person
from fakes.story import Entry, Story, confirmation, signed_anew


@pytest.fixture(scope="module")
def story() -> Story:
    """The ledger, which no test changes."""
    return Story()


def test_the_story_itself_is_sound(story: Story) -> None:
    """Both verifiers say so, of the ledger as it was written and as it is chained anew."""
    assert not story.is_found(story.entries)
    report = verify_any(story.bundle(story.entries, story.texts), story.key)
    assert report.confirmed == 5


def test_a_new_act_that_pat_did_sign_is_sound(story: Story) -> None:
    """What the forgeries below lack is the signature alone."""

    def change(entry: Entry) -> None:
        signed_anew(entry, story.pat)

    assert not story.is_found(story.appended(change, "item.approved"))


def _no_confirmation(entry: Entry) -> None:
    entry["r"] = [row for row in entry["r"] if row["t"] != "confirmations"]


def _two(entry: Entry) -> None:
    entry["r"] += [row for row in entry["r"] if row["t"] == "confirmations"]


def _in_pieces(entry: Entry) -> None:
    row = next(row for row in entry["r"] if row["t"] == "confirmations")
    row["c"] = row.pop("v")


def _taken_away(entry: Entry) -> None:
    next(row for row in entry["r"] if row["t"] == "confirmations")["v"] = None


def _of_a_connection(entry: Entry) -> None:
    entry["w"]["i"] = {"i": "cn_x", "k": "connection"}


def _verdict_alone(entry: Entry) -> None:
    _no_confirmation(entry)
    del entry["w"]["i"]
    entry["r"][0]["v"]["independence"] = "person"


def _epoch_alone(entry: Entry) -> None:
    _no_confirmation(entry)
    del entry["w"]["i"]
    columns = {"public_key": "ab" * 32, "confirmed_by": "SHA256:x"}
    entry["r"] = [{"t": "epochs", "k": {"number": 2}, "v": columns}]


def _no_statement(entry: Entry) -> None:
    confirmation(entry)["statement"] = "{}"


def _no_text(entry: Entry) -> None:
    confirmation(entry)["statement"] = 1


def _no_signature(entry: Entry) -> None:
    signature = confirmation(entry)
    del signature["signature"]


FORGERIES: tuple[Callable[[Entry], None], ...] = (
    lambda _: None,  # the same confirmation once more
    _no_confirmation,
    _two,
    _in_pieces,
    _taken_away,
    _of_a_connection,
    _verdict_alone,
    _epoch_alone,
    _no_statement,
    _no_text,
    _no_signature,
)


@pytest.mark.parametrize("forge", FORGERIES)
def test_an_approval_without_the_persons_signature_is_found(
    story: Story, forge: Callable[[Entry], None]
) -> None:
    """Appended by somebody with the database and the server's key."""
    assert story.is_found(story.appended(forge, "item.approved"))


@pytest.mark.parametrize(
    "other",
    [
        {"act": "item.rejected"},
        {"subject": "demo-3"},
        {"project": "other"},
        {"decision": {}},
        {"decision": {"subject": "x"}},
        {"decision": {"subject": True}},
        {"leaf": "ab" * 32},
        {"place": 10_000},
        {"place": -1},
        {"signed_by": "SHA256:x"},
        {"reason": "ab" * 32},
    ],
)
def test_a_signature_of_the_person_over_something_else_is_found(
    story: Story, other: dict[str, Any]
) -> None:
    """Pat did sign, but another act, subject, decision, history or reason."""

    def change(entry: Entry) -> None:
        signed_anew(entry, story.pat, **{"signer": story.pat.key, **other})
        entry["w"]["i"]["i"] = confirmation(entry)["signed_by"] = story.pat.key

    assert story.is_found(story.appended(change, "item.approved"))


def test_a_persons_entry_that_writes_nothing_is_found(story: Story) -> None:
    """Not even a row of another table."""

    def change(entry: Entry) -> None:
        del entry["r"]

    assert story.is_found(story.appended(change, "item.approved"))


ITEM = {"t": "items", "k": {"id": "demo-4"}, "c": {"title": ""}}
GATE = {"item": "demo-2", "name": "review"}


@pytest.mark.parametrize(
    ("action", "row"),
    [
        ("item.approved", {"t": "tokens", "k": {"id": "agt_x"}, "c": {"revoked_at": ""}}),
        ("item.approved", {"t": "projects", "k": {}, "c": {"reviews": "declared"}}),
        ("item.approved", {"t": "of later", "k": {}, "v": {}}),
        ("item.approved", {"t": "verdicts", "k": {"id": "demo-v9"}, "v": {"item": "demo-2"}}),
        ("item.approved", {"t": "verdicts", "k": {"id": "demo-v9"}, "c": {"reason": ""}}),
        ("item.approved", {"t": "gates", "k": {**GATE, "name": "check-1"}, "c": {"status": "met"}}),
        ("item.approved", {"t": "gates", "k": {**GATE, "item": "demo-3"}, "c": {"status": "met"}}),
        ("item.approved", {"t": "gates", "k": GATE, "c": {"status": "waived"}}),
        ("item.edited", {"t": "gates", "k": GATE, "c": {"status": "met"}}),
        ("item.edited", {"t": "records", "k": {"id": "demo-r9"}, "v": {"kind": "note"}}),
        ("key.revoked", ITEM),
        ("key.enrolled", {"t": "gates", "k": GATE, "c": {"status": "met"}}),
    ],
)
def test_a_row_more_in_what_a_person_signed_is_found(story: Story, action: str, row: Entry) -> None:
    """Put in by somebody with the database before the head above was signed, whatever reviews take here."""
    entries = upto(story, action)
    assert not story.is_found(entries, texts_of(story, entries))
    entries[-1]["r"].append(row)
    assert story.is_found(entries, texts_of(story, entries))


def upto(story: Story, action: str) -> list[Entry]:
    """Answer the entries up to the last of an action."""
    return deepcopy(story.entries[: story.place(action) + 1])


def texts_of(story: Story, entries: list[Entry]) -> list[bytes]:
    """Answer the texts that some of the entries name."""
    named = b"".join(map(orjson.dumps, entries))
    return [line for line in story.texts if orjson.loads(line)["text"].encode() in named]


@pytest.mark.parametrize("column", ["item", "decision", "subject"])
def test_another_verdict_than_the_person_signed_is_found(story: Story, column: str) -> None:
    """Of another item, the other way round, or of something else."""
    entries = upto(story, "item.approved")
    row = next(row for row in entries[-1]["r"] if row["t"] == "verdicts")
    row["v"][column] = "reject"
    assert story.is_found(entries, texts_of(story, entries))


@pytest.mark.parametrize("action", ["key.enrolled", "key.revoked"])
def test_a_fact_that_nobody_signed_decides_nothing(story: Story, action: str) -> None:
    """One that tells what was decided is found by both verifiers; any other is not looked at."""
    for name in sorted(DECIDED | {"note", "text", "succeeds"}):
        entries = upto(story, action)
        facts = entries[-1]["f"]
        if name not in facts:
            facts[name] = 1
            assert story.is_found(entries, texts_of(story, entries)) == (name in DECIDED), name


def test_an_act_that_people_do_not_sign_is_found(story: Story) -> None:
    """Even with the person's own signature: no command asks for it."""

    def change(entry: Entry) -> None:
        entry["a"] = "plan.created"
        signed_anew(entry, story.pat, act="plan.created")

    assert story.is_found(story.appended(change, "item.edited"))


def test_a_reason_without_a_reference_is_no_text(story: Story) -> None:
    def change(entry: Entry) -> None:
        signed_anew(entry, story.pat, reason="")
        confirmation(entry).pop("reason", None)

    assert not story.is_found(story.appended(change, "item.approved"))


def test_a_signature_by_another_key_is_found(story: Story) -> None:
    """By a stranger in Pat's name or his own, or by Sam, whose key was revoked."""
    eve = Person(studio=story.studio, name="eve")
    for signer in (story.pat.key, eve.key):

        def change(entry: Entry, signer: str = signer) -> None:
            signed_anew(entry, eve, signer)

        assert story.is_found(story.appended(change, "item.approved"))

    def by_sam(entry: Entry) -> None:
        signed_anew(entry, story.sam)

    assert story.is_found(story.appended(by_sam, "item.approved"))


def test_a_nonce_that_is_not_that_of_the_row_is_found(story: Story) -> None:
    def change(entry: Entry) -> None:
        signed_anew(entry, story.pat)
        next(row for row in entry["r"] if row["t"] == "confirmations")["k"]["id"] = "cd" * 16

    assert story.is_found(story.appended(change, "item.approved"))


def _enrolled(story: Story, eve: Person, change: Callable[[Entry], None]) -> list[Entry]:
    def enrol(entry: Entry) -> None:
        row = next(row for row in entry["r"] if row["t"] == "keys")
        row["k"]["id"] = entry["f"]["key"] = eve.key
        row["v"] |= {"public_key": eve.public_key, "enrolled_by": story.pat.key}
        row["v"]["owner"] = entry["f"]["owner"] = "eve"
        change(entry)

    return story.appended(enrol, "key.enrolled")


def _sign(story: Story, entry: Entry) -> None:
    signed_anew(entry, story.pat, decision={**entry["f"]})


def test_keys_come_in_by_a_signature_alone(story: Story) -> None:
    """Signed by Pat it is sound; by Eve herself, by nobody, or with another key beside it, found."""
    eve = Person(studio=story.studio, name="eve")
    assert not story.is_found(_enrolled(story, eve, lambda entry: _sign(story, entry)))

    def by_herself(entry: Entry) -> None:
        next(row for row in entry["r"] if row["t"] == "keys")["v"]["enrolled_by"] = eve.key
        signed_anew(entry, eve, decision={**entry["f"]})

    def by_nobody(entry: Entry) -> None:
        _no_confirmation(entry)
        del entry["w"]["i"]

    def with_another(column: str, value: Any) -> Callable[[Entry], None]:
        def change(entry: Entry) -> None:
            _sign(story, entry)
            next(row for row in entry["r"] if row["t"] == "keys")["v"][column] = value

        return change

    def by_a_change(entry: Entry) -> None:
        _sign(story, entry)
        row = next(row for row in entry["r"] if row["t"] == "keys")
        row["c"] = row.pop("v")

    def twice(entry: Entry) -> None:
        _sign(story, entry)
        entry["r"] += [deepcopy(row) for row in entry["r"] if row["t"] == "keys"]

    def another(entry: Entry) -> None:
        _sign(story, entry)
        next(row for row in entry["r"] if row["t"] == "keys")["k"]["id"] = story.sam.key

    forgeries = [by_herself, by_nobody, by_a_change, twice, another]
    forgeries += [
        with_another("public_key", story.sam.public_key),
        with_another("public_key", eve.public_key + " eve"),
        with_another("public_key", "x"),
        with_another("enrolled_by", eve.key),
        with_another("owner", "pat"),
        with_another("storage", "hardware"),
        with_another("revoked_at", "2026-01-01T00:00:00.000Z"),
    ]
    for forge in forgeries:
        assert story.is_found(_enrolled(story, eve, forge)), forge

    def again(entry: Entry) -> None:
        signed_anew(entry, story.pat)

    assert story.is_found(story.appended(again, "key.enrolled"))  # Sam's, once more


def test_a_key_beside_another_act_is_found(story: Story) -> None:
    def change(entry: Entry) -> None:
        signed_anew(entry, story.pat)
        entry["r"].append({"t": "keys", "k": {"id": story.sam.key}, "c": {"revoked_at": ""}})

    assert story.is_found(story.appended(change, "item.approved"))


def test_keys_go_by_a_signature_alone(story: Story) -> None:
    """A revocation sets who and when, of a key that was in force; nothing takes it back."""

    def revoked(**columns: str) -> list[Entry]:
        def change(entry: Entry) -> None:
            row = next(row for row in entry["r"] if row["t"] == "keys")
            row["k"]["id"] = entry["f"]["key"] = columns.pop("key", story.pat.key)
            signed_anew(entry, story.pat, decision={**entry["f"]})
            row["c"] = {"revoked_by": story.pat.key, "revoked_at": entry["t"]} | columns

        return story.appended(change, "key.revoked")

    assert not story.is_found(revoked())
    for columns in (
        {"key": story.sam.key},
        {"key": "SHA256:nobody"},
        {"revoked_by": story.sam.key},
        {"revoked_at": ""},
        {"owner": "eve"},
    ):
        assert story.is_found(revoked(**columns)), columns


def test_another_reason_than_was_signed_is_found(story: Story) -> None:
    """The text beside the statement has its digest, and is not what the statement commits to."""
    (said,) = [line for line in story.texts if b'\\"text\\":\\"because\\"' in line]
    old, salt = orjson.loads(said)["text"], orjson.loads(said)["salt"]
    # Those after it were signed over its leaf: it is the last of them.
    short = story.entries[: story.place("item.edited") + 1]
    same = orjson.loads(said)["body"]
    bodies = ['{"salt":"00","text":"x"}', '{"salt":"' + "00" * 16 + '","text":"x"}', "[1]", "x"]
    for body in (same, *bodies):
        made = canonical.commitment(bytes.fromhex(salt), body)
        texts = [line for line in story.texts if line != said]
        texts.append(canonical.dump({"body": body, "salt": salt, "text": made}))
        entries = [
            orjson.loads(orjson.dumps(one).replace(old.encode(), made.encode())) for one in short
        ]
        named = b"".join(map(orjson.dumps, entries))
        kept = [line for line in texts if orjson.loads(line)["text"].encode() in named]
        kept.sort(key=lambda line: orjson.loads(line)["text"])
        assert story.is_found(entries, kept) is (body != same), body


def test_a_rewrite_below_a_signed_act_is_found_without_a_witness(story: Story) -> None:
    """The server's key signs any history; Pat's signature is of the one that he saw."""
    changed = deepcopy(story.entries)
    changed[story.place("plan.created")]["w"]["n"] = "somebody"
    assert story.is_found(changed)


def test_what_is_no_statement_is_refused() -> None:
    """Other keys, other sorts of fields, another spelling."""
    good = Statement(
        project="p", act="a.b", subject="", decision={}, place=0, leaf="ab" * 32,
        signed_by="k", nonce="n", time="2026-01-01T00:00:00.000Z",
    ).to_text()  # fmt: skip
    assert Statement.from_text(good).to_text() == good
    value = orjson.loads(good)
    others = [
        {"version": 2}, {"version": True}, {"decision": []}, {"act": 1}, {"time": "now"},
        {"head": []}, {"head": {"leaf": "x", "n": 0}}, {"head": {"leaf": "ab" * 32, "n": True}},
        {"head": {"leaf": "ab" * 32}}, {"more": 1},
    ]  # fmt: skip
    broken = [
        "",
        "[]",
        "\ud800",
        good + " ",
        *(canonical.dump(value | one).decode() for one in others),
    ]
    for text in broken:
        with pytest.raises(Exception, match="statement"):
            Statement.from_text(text)


def test_an_entry_that_says_nothing_of_people_has_no_faults() -> None:
    """Nothing is asked of what an agent writes."""
    entry = {"w": {"k": "agent", "n": "ada"}, "n": 3, "r": []}
    assert list(entry_faults(entry, Ring(), lambda _: "", lambda *_: False)) == []
