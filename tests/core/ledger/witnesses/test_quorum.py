"""Witnesses that must have signed, as both verifiers of bundles hold it."""

from __future__ import annotations

import runpy
from collections.abc import Iterable
from copy import deepcopy
from pathlib import Path
from typing import Any

import orjson
import pytest

from counterpoint.core.ledger.lines import dump_texts
from counterpoint.core.ledger.note import open_note
from counterpoint.core.ledger.offline import verify_any
from counterpoint.core.ledger.witnesses.cosignature import CosignerKey, cosign
from counterpoint.core.ledger.witnesses.quorum import WitnessPolicy, parse_policy, signers_of
from counterpoint.core.model.identity import ProposedAct
from counterpoint.kernel import canonical
from counterpoint.kernel.errors import Forbidden, MalformedDocument, QuorumMissing
from fakes.people import Person
from fakes.story import Entry, Story, signed_anew
from fakes.studio import FixedKey, Studio

VERIFIER = runpy.run_path(str(Path(__file__).parents[4] / "docs" / "verifier" / "verify.py"))


class Eye:
    """A witness with a key of its own."""

    def __init__(self, number: int, name: str = "") -> None:
        self.pair = FixedKey(bytes([number]) * 32)
        self.key = CosignerKey(name=name or f"w{number}", public_key=self.pair.public_key)

    def sign(self, text: str, seconds: int = 1_700_000_000) -> str:
        """Answer its line over the text of a checkpoint."""
        return cosign(text, self.key, self.pair.sign, seconds)


ONE, TWO, THREE, STRANGER = (Eye(number) for number in range(1, 5))
ASKED = WitnessPolicy(count=2, keys=(ONE.key, TWO.key, THREE.key))
FEWER = WitnessPolicy(count=1, keys=(ONE.key, TWO.key, THREE.key))
NOBODY = WitnessPolicy()


class Asking(Story):
    """A ledger in which a person has signed that two of three witnesses must sign."""

    def __init__(self, *later: WitnessPolicy) -> None:
        self.studio = Studio()
        self.pat = Person(studio=self.studio)
        self.pat.enrol()
        for policy in (ASKED, *later):
            verbs = self.pat.unsigned.witness_policies
            self.pat.does(verbs.proposed(policy)).witness_policies.require(policy)
        # As whoever has the ledger and its key exports it, past the program that refuses to.
        self.key = self.studio.system.audit.key
        with self.studio.view() as view:
            data = [bytes(one) for one in view.entries(0, view.head().size)]
            texts = dump_texts(text for _, text in view.texts())
            self.texts = [one[:-1] for one in texts]
        self.entries = [orjson.loads(one) for one in data]
        self.header = {
            "format": "counterpoint-bundle",
            "project": "demo",
            "version": 2,
            "vkey": self.key.to_text(),
        }

    def judged(self, entries: list[Entry], lines: Iterable[str] = ()) -> Any:
        """Answer the report of a bundle with lines below its checkpoint; both verifiers must agree."""
        bundle = self.bundle(entries, self.texts)
        head = orjson.loads(bundle[0])
        head["checkpoint"] += "".join(lines)
        bundle[0] = canonical.dump(head) + b"\n"
        report = verify_any(bundle, self.key)
        try:
            self.remark = VERIFIER["verify"](b"".join(bundle), self.key.to_text())
        except VERIFIER["Broken"]:
            assert not report.sound
        else:
            assert report.sound, report.faults
        return report

    def text(self, entries: list[Entry]) -> str:
        """Answer the text of the checkpoint of a bundle."""
        return open_note(orjson.loads(self.bundle(entries, [])[0])["checkpoint"]).text


@pytest.fixture(scope="module")
def asking() -> Asking:
    """Give such a ledger."""
    return Asking()


def test_enough_named_witnesses_make_a_bundle_sound(asking: Asking) -> None:
    """Any two of the three, in any order, beside lines of others."""
    text = asking.text(asking.entries)
    for eyes in ((ONE, TWO), (THREE, STRANGER, ONE), (ONE, TWO, THREE)):
        report = asking.judged(asking.entries, [eye.sign(text) for eye in eyes])
        assert report.sound
        assert "Fewer" not in asking.remark
        named = [eye.key.name for eye in (ONE, TWO, THREE) if eye in eyes]
        assert list(report.quorum.signed) == named
    assert (report.quorum.count, report.quorum.witnesses) == (2, ("w1", "w2", "w3"))


def test_too_few_or_others_are_a_fault(asking: Asking) -> None:
    """None, one, one twice, a stranger, a forged line, an older head, and no time."""
    text = asking.text(asking.entries)
    older = asking.text(asking.entries[:-1])
    forged = Eye(9, "w2")
    forged.key = TWO.key
    impostor = Eye(9, "w2")
    cases: dict[str, list[str]] = {
        "nobody": [],
        "one": [ONE.sign(text)],
        "the same twice": [ONE.sign(text), ONE.sign(text, 1_700_000_001)],
        "who is not named": [ONE.sign(text), STRANGER.sign(text)],
        "the name of one with another key": [ONE.sign(text), impostor.sign(text)],
        "a signature of another key": [ONE.sign(text), forged.sign(text)],
        "an older head": [ONE.sign(text), TWO.sign(older)],
        "no time": [ONE.sign(text), cosign(text, TWO.key, TWO.pair.sign, 0)],
        "right and wrong": [ONE.sign(text), TWO.sign(text), TWO.sign(older)],
    }
    for name, lines in cases.items():
        report = asking.judged(asking.entries, lines)
        (fault,) = report.faults
        assert isinstance(fault, QuorumMissing), name
        assert fault.facts["required"] == 2
        assert "audit cosign" in fault.hint


def test_less_is_asked_only_by_a_person_and_told(asking: Asking) -> None:
    """Who signs that lowers it; an entry of nobody's, or one whose facts were changed, is a fault."""
    for policy in (FEWER, NOBODY):
        lowered = Asking(policy)
        lines = [ONE.sign(lowered.text(lowered.entries))]
        report = lowered.judged(lowered.entries, lines)
        assert report.sound
        (told,) = report.quorum.lowered
        assert (told.before[0], told.after[0]) == (2, policy.count)
        assert told.signed_by == lowered.pat.key
        place = told.place
        assert f"Fewer signatures were asked for from entry {place} on." in lowered.remark
    last = {name: asking.entries[-1][name] for name in ("v", "p", "t")}
    who = {"k": "human", "n": "pat"}
    unsigned = {**last, "a": "quorum.changed", "w": who, "f": NOBODY.to_facts()}
    changed = deepcopy(asking.entries)
    changed[-1]["f"] |= FEWER.to_facts()
    unnamed = deepcopy(asking.entries)
    del unnamed[-1]["f"]["quorum"]
    for entries in ([*asking.entries, unsigned], changed, unnamed):
        text = asking.text(entries)
        assert not asking.judged(entries, [ONE.sign(text), TWO.sign(text)]).sound


def test_a_person_who_signs_no_quorum_is_found(asking: Asking) -> None:
    """More than are named, a flag, one key under two names, another sort of key, or too many."""
    twice = Eye(1, "another").key.to_text()
    keys = [key.to_text() for key in ASKED.keys]
    many = [Eye(9, f"m{number}") for number in range(33)]
    for facts in (
        {"quorum": 4, "witnesses": keys},
        {"quorum": True, "witnesses": keys},
        {"quorum": -1, "witnesses": keys},
        {"quorum": 0, "witnesses": keys},
        {"quorum": 1, "witnesses": []},
        {"quorum": 2, "witnesses": [keys[0], twice]},
        {"quorum": 1, "witnesses": [asking.key.to_text()]},
        {"quorum": 1, "witnesses": ["w1"]},
        {"quorum": 1, "witnesses": [eye.key.to_text() for eye in many]},
    ):
        with pytest.raises(MalformedDocument):
            parse_policy(facts)
        entries = deepcopy(asking.entries)
        entries[-1]["f"] |= facts
        signed_anew(entries[-1], asking.pat, decision=facts)
        text = asking.text(entries)
        lines = [eye.sign(text) for eye in (ONE, TWO, THREE)]
        assert not asking.judged(entries, lines).sound, facts


def test_what_a_revoked_person_asked_for_is_changed_by_no_unsigned_one() -> None:
    """Otherwise whoever has the database would revoke nobody, and yet lower it once all keys are gone."""
    asking = Asking()
    revoke = asking.pat.unsigned.people.revocation(asking.pat.unsigned.people.get("pat"))
    asking.pat.does(revoke).people.revoke(asking.pat.key)
    ann = asking.studio.core("ann", kind="human")
    asking.studio.refuses(Forbidden, lambda: ann.witness_policies.require(NOBODY))


@pytest.mark.parametrize(
    ("before", "after", "is_less"),
    [
        (NOBODY, ASKED, False),
        (ASKED, FEWER, True),
        (ASKED, NOBODY, True),
        (ASKED, WitnessPolicy(count=2, keys=(ONE.key, TWO.key)), False),
        (ASKED, WitnessPolicy(count=3, keys=(*ASKED.keys, STRANGER.key)), False),
        (ASKED, WitnessPolicy(count=2, keys=(*ASKED.keys, STRANGER.key)), True),
        (ASKED, WitnessPolicy(count=2, keys=(ONE.key, STRANGER.key)), True),
    ],
)
def test_less_is_asked_if_others_than_before_would_do(
    before: WitnessPolicy, after: WitnessPolicy, *, is_less: bool
) -> None:
    """Also of as many, if somebody new may take the place of one who was named."""
    assert after.asks_less_than(before) is is_less


def test_what_a_person_signs_names_the_witnesses_and_what_was_before() -> None:
    """So that nobody lowers it without having read so."""
    asking = Asking()
    proposed = asking.pat.unsigned.witness_policies.proposed(FEWER)
    assert isinstance(proposed, ProposedAct)
    assert proposed.decision == FEWER.to_facts()
    assert "2 of w1, w2, w3 had to sign" in str(proposed.shown["less"])


@pytest.mark.parametrize("document", ["", "no note", "origin\n1\nhash\n"])
def test_nobody_has_signed_what_is_no_checkpoint(document: str) -> None:
    """Whatever is asked of witnesses."""
    assert signers_of(document, ASKED) == []
    assert signers_of(document, NOBODY) == []
