"""Receipts and verdicts, verified by libraries of others and by none of ours."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict
from in_toto_attestation.predicates.test_result.v0 import test_result_pb2
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement
from obsigna import did
from obsigna.receipt import signing
from obsigna.receipt.chain import verify_chain
from obsigna.receipt.types import AgentReceipt
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey

from counterpoint.core.model.evidence import Command
from counterpoint.core.model.filters import Check, Judgment, Note, Report
from counterpoint.core.model.journal import Receipt, Verdict
from counterpoint.core.operations.recording.unit import recording
from counterpoint.kernel.errors import ForkRefused, NotFound, ProofMismatch
from fakes.people import Person
from fakes.studio import FixedKey, Studio

PLAN = "# Plan\n- [ ] A\n  - review: yes\n"
ITEM = "demo-2"


@pytest.fixture
def studio() -> Studio:
    """A project with a receipt of each outcome, and work that waits for a verdict."""
    made = Studio()
    ada = made.core("ada")
    ada.plans.create(ada.plans.read(PLAN))
    token = ada.claims.start(ITEM).claim.token
    ada.gates.verify(Check(item=ITEM, command=Command(argv=("make", "test"))), token)
    ada.tasks.finish(ITEM, token, Report(outcome="done", summary="it works"))
    return made


def opened(document: Any, public: bytes) -> dict[str, Any]:
    """Answer the statement in an envelope that securesystemslib verifies, and in-toto reads."""
    key = SSlibKey("project", "ed25519", "ed25519", {"public": public.hex()})
    for one in document["signatures"]:
        one["keyid"] = "project"
    envelope = Envelope.from_dict(json.loads(json.dumps(document)))
    assert envelope.verify([key], 1)
    assert envelope.payload_type == "application/vnd.in-toto+json"
    other = Envelope(envelope.payload + b" ", envelope.payload_type, envelope.signatures)
    with pytest.raises(VerificationError):
        other.verify([key], 1)
    statement = json.loads(envelope.payload)
    Statement.copy_from_pb(
        ParseDict(
            {"type" if name == "_type" else name: value for name, value in statement.items()},
            statement_pb2.Statement(),
        )
    ).validate()
    return statement


def test_a_receipt_is_an_in_toto_test_result(studio: Studio) -> None:
    """Verified by securesystemslib, valid for in-toto-attestation, of the commit and the output."""
    with studio.view() as view:
        (receipt,) = view.select(Receipt)
    document = studio.system.exports.receipt(receipt.id, "in-toto")
    assert document["signatures"][0]["keyid"] == studio.system.audit.key.to_text()
    statement = opened(document, FixedKey().public_key)
    assert statement["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
    result = ParseDict(statement["predicate"], test_result_pb2.TestResult())
    assert result.result == ("PASSED" if receipt.exit_code == 0 else "FAILED")
    assert len(result.configuration) == 1
    told = dict(result.configuration[0].annotations)
    assert told["receipt"] == receipt.id
    assert statement["subject"][-1]["digest"] == {"sha256": receipt.output_sha256}
    place = statement["predicate"]["configuration"][0]["annotations"]["entry"]
    studio.system.signing.renew()
    assert studio.system.audit.inclusion(place["sequence"]).leaf == place["leaf"]


def test_a_receipt_is_an_agent_receipt(studio: Studio) -> None:
    """Obsigna verifies it with the key that its issuer names; another key, or another byte, and not."""
    with studio.view() as view:
        (receipt,) = view.select(Receipt)
    document = studio.system.exports.receipt(receipt.id, "agent-receipt")
    raw = json.dumps(document)
    parsed = AgentReceipt.model_validate_json(raw)
    assert parsed.issuer.id == did.from_public_key(FixedKey().public_key)
    method = did.resolve(parsed.issuer.id).assertion_method
    assert method == [parsed.proof.verificationMethod]
    public = signing.public_key_to_pem(FixedKey().public_key)
    assert signing.verify_receipt(parsed, public)
    assert signing.verify_raw(raw, public)
    assert verify_chain([parsed], public).valid
    stranger = signing.public_key_to_pem(FixedKey(bytes([1]) * 32).public_key)
    assert not signing.verify_raw(raw, stranger)
    assert not signing.verify_raw(raw.replace("system.command", "system.commend"), public)
    assert studio.system.exports.receipt(receipt.id, "agent-receipt") == document


def test_a_verdict_carries_the_signature_of_the_person(studio: Studio) -> None:
    """Whoever has the person's key can check it without the ledger; one that nobody signed has none."""
    bob = studio.core("bob")
    bob.reviews.review(ITEM, Judgment(approves=False, reason="no", fixes=("mend it",)))
    ada = studio.core("ada")
    token = ada.claims.start(ITEM).claim.token
    ada.tasks.finish(ITEM, token, Report(outcome="done", summary="again"))
    pat = Person(studio=studio)
    pat.enrol()
    pat.judge(ITEM, Judgment(approves=True, reason="well done"))
    with studio.view() as view:
        rejected, approved = view.select(Verdict, order="number")
    plain = opened(studio.system.exports.verdict(rejected.id), FixedKey().public_key)
    assert plain["predicate"]["fixes"] == ["mend it"]
    assert "confirmation" not in plain["predicate"]
    statement = opened(studio.system.exports.verdict(approved.id), FixedKey().public_key)
    assert statement["predicateType"] == "urn:counterpoint:predicate:review:v1"
    predicate = statement["predicate"]
    assert (predicate["decision"], predicate["reason"]) == ("approve", "well done")
    assert predicate["independence"] == "person"
    told = predicate["confirmation"]
    assert told["publicKey"] == pat.public_key
    assert json.loads(told["statement"])["act"] == "item.approved"
    blob = base64.b64decode(told["signature"])
    assert blob.startswith(b"SSHSIG")


def test_what_is_not_there_cannot_be_exported(studio: Studio) -> None:
    """No receipt and no verdict of that id."""
    with pytest.raises(NotFound):
        studio.system.exports.receipt("demo-c9", "in-toto")
    with pytest.raises(NotFound):
        studio.system.exports.verdict("demo-v9")


def test_what_was_handed_in_is_named_and_what_was_taken_away_is_left_out(studio: Studio) -> None:
    """The submission is the subject; the reason is not in the document any more."""
    bob = studio.core("bob")
    bob.reviews.review(ITEM, Judgment(approves=False, reason="no"))
    ada = studio.core("ada")
    token = ada.claims.start(ITEM).claim.token
    ada.reviews.submit(ITEM, "", "look", token)
    ada.tasks.finish(ITEM, token, Report(outcome="done", summary="again"))
    bob.reviews.review(ITEM, Judgment(approves=True, reason="private thoughts"))
    studio.core("pat", kind="human").erasing.of_row(Verdict, "demo-v2", reason="private")
    predicate = opened(studio.system.exports.verdict("demo-v2"), FixedKey().public_key)["predicate"]
    assert predicate["submission"] == "demo-s1"
    assert "reason" not in predicate


def test_a_receipt_that_no_entry_tells_of_is_not_exported(studio: Studio) -> None:
    """Somebody put it into the table: nothing is signed for it."""
    with studio.view() as view:
        (receipt,) = view.select(Receipt)
    with recording(studio.context(studio.system), "rows.written", ITEM) as change:
        change.put(replace(receipt, id="demo-c7"))
    with pytest.raises(NotFound):
        studio.system.exports.receipt("demo-c7", "in-toto")


def test_a_checkpoint_beside_tiles_counts_if_the_ledger_begins_with_it():
    """One of another history with the same key does not, nor one that nobody signed."""
    studio, other = Studio(), Studio()
    studio.system.journal.append(Note(kind="comment", body="one"))
    studio.system.signing.renew()
    note = studio.system.exports.head()[1].note
    other.system.journal.append(Note(kind="comment", body="two"))
    assert studio.system.exports.size_of(note) == 3
    with pytest.raises(ForkRefused, match="does not begin with its 3 entries"):
        other.system.exports.size_of(note)
    with pytest.raises(ProofMismatch, match="no checkpoint of this ledger"):
        studio.system.exports.size_of(note.replace("\n3\n", "\n1\n"))
