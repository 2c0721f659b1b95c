"""Receipts and verdicts as in-toto statements, in signed DSSE envelopes.

A statement (in-toto Statement v1) says of subjects, which it names by digest, what a predicate says:

    {"_type": "https://in-toto.io/Statement/v1", "subject": [{"name", "digest"}, …], "predicateType", "predicate"}

An envelope (DSSE v1) is {"payload": base64 of the statement, "payloadType": "application/vnd.in-toto+json", "signatures":
[{"keyid", "sig": base64}]}. The Ed25519 signature is over "DSSEv1 " || length || " " || payload type || " " || length || " " || payload, with
lengths in decimal; the key id is the project's verifier key, which contains the public key. docs/exports.md says what stands where.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from counterpoint.core.ledger.note import Sign, VerifierKey, to_base64
from counterpoint.core.model.access import Principal
from counterpoint.core.model.identity import Confirmation, Key
from counterpoint.core.model.journal import Receipt, Verdict
from counterpoint.core.model.rows import REDACTED
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json

STATEMENT: Final = "https://in-toto.io/Statement/v1"
TEST_RESULT: Final = "https://in-toto.io/attestation/test-result/v0.1"
REVIEW: Final = "urn:counterpoint:predicate:review:v1"
PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
_DIGESTS: Final[Mapping[int, str]] = {40: "gitCommit", 64: "sha256"}


def sign_statement(statement: Json, sign: Sign, key: VerifierKey) -> Json:
    """Return a statement in an envelope that the key has signed."""
    payload, kind = canonical.dump(statement), PAYLOAD_TYPE.encode()
    signed_bytes = b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)
    return {
        "payload": to_base64(payload),
        "payloadType": PAYLOAD_TYPE,
        "signatures": [{"keyid": key.to_text(), "sig": to_base64(sign(signed_bytes))}],
    }


def of_receipt(receipt: Receipt, entry: Json, principal: Principal | None) -> Json:
    """Return the statement of a command that was run.

    entry: where in the ledger that stands. principal: who is attested to have had it run.
    """
    passed = receipt.exit_code == 0 and not receipt.timed_out
    name = receipt.gate or " ".join(receipt.argv)
    subjects = (
        [_subject(f"the tree of {receipt.project}", receipt.commit)] if receipt.commit else []
    )
    subjects.append({"name": "output", "digest": {"sha256": receipt.output_sha256}})
    return {
        "_type": STATEMENT,
        "subject": subjects,
        "predicateType": TEST_RESULT,
        "predicate": {
            "result": "PASSED" if passed else "FAILED",
            "configuration": [
                {
                    "name": " ".join(receipt.argv),
                    "digest": {"sha256": receipt.command_sha256},
                    "annotations": {
                        "argv": list(receipt.argv),
                        "folder": receipt.folder,
                        "exitCode": receipt.exit_code,
                        "timedOut": receipt.timed_out,
                        "program": receipt.program,
                        "programSha256": receipt.program_sha256,
                        "sandbox": receipt.sandbox,
                        "terms": list(receipt.terms),
                        "startedAt": receipt.started_at,
                        "endedAt": receipt.ended_at,
                        "agent": receipt.agent,
                        "principal": _principal(principal),
                        "item": receipt.item,
                        "receipt": receipt.id,
                        "entry": entry,
                    },
                }
            ],
            "passedTests": [name] if passed else [],
            "warnedTests": [],
            "failedTests": [] if passed else [name],
        },
    }


def of_verdict(
    verdict: Verdict,
    entry: Json,
    principal: Principal | None,
    confirmation: Confirmation | None,
    key: Key | None,
) -> Json:
    """Return the statement of a verdict, with the signature of the person who gave it if there is one.

    principal: who is attested to have given it.
    """
    predicate: dict[str, Json] = {
        "verdict": verdict.id,
        "item": verdict.item,
        "decision": verdict.decision,
        "reviewer": verdict.agent,
        "principal": _principal(principal),
        "independence": verdict.independence,
        "reviewedAt": verdict.created_at,
        "entry": entry,
    }
    if verdict.submission:
        predicate["submission"] = verdict.submission
    if verdict.reason and verdict.reason != REDACTED:
        predicate["reason"] = verdict.reason
    if verdict.fixes and REDACTED not in verdict.fixes:
        predicate["fixes"] = list(verdict.fixes)
    if confirmation is not None and key is not None:
        predicate["confirmation"] = {
            "statement": confirmation.statement,
            "signature": confirmation.signature,
            "keyId": key.id,
            "publicKey": key.public_key,
            "owner": key.owner,
        }
    # What was looked at has no digest where there was neither a file nor a commit: then it is the entry.
    subject = verdict.subject or entry["leaf"]
    return {
        "_type": STATEMENT,
        "subject": [_subject(verdict.submission or verdict.item, subject)],
        "predicateType": REVIEW,
        "predicate": predicate,
    }


def _principal(principal: Principal | None) -> Json:
    return {"strength": principal.strength, "id": principal.id} if principal else None


def _subject(name: str, digest: str) -> Json:
    # A commit may be given shortened: then there is nothing to call its algorithm.
    return {"name": name, "digest": {_DIGESTS.get(len(digest), "gitCommit"): digest}}
