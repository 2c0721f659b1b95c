"""Receipts as Agent Receipts (version 0.6.0 of that format).

An Agent Receipt is a W3C Verifiable Credential about one action. It is signed over the canonical JSON (RFC 8785) of everything
but `proof`, by Ed25519; `proofValue` is `u` and the signature in base64url without padding. The issuer is the key of the project as
`did:key`: `did:key:z` and base58 (Bitcoin's alphabet) of 0xED 0x01 || the 32 bytes of the public key; so whoever has the receipt has the key
that it names, and must know from elsewhere that it is the project's.
"""

from __future__ import annotations

import base64
from typing import Final
from uuid import UUID, uuid5

from counterpoint.core.ledger.note import Sign
from counterpoint.core.model.journal import Receipt
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json

VERSION: Final = "0.6.0"
_CONTEXT: Final = ["https://www.w3.org/ns/credentials/v2", "https://agentreceipts.ai/context/v3"]
_BASE58: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_ED25519: Final = b"\xed\x01"
_SPACE: Final = UUID("5f0c1a3e-0b52-5d0e-9a3b-6f6f2f6c1c7a")
"""Of the ids that are made from our own, so that a receipt that is exported twice is the same one."""


def did_of(public_key: bytes) -> str:
    """Return an Ed25519 public key as did:key."""
    number, spelled = int.from_bytes(_ED25519 + public_key), ""
    while number:
        number, digit = divmod(number, len(_BASE58))
        spelled = _BASE58[digit] + spelled
    return f"did:key:z{spelled}"


def of_receipt(receipt: Receipt, principal: str, leaf: str) -> Json:
    """Return the unsigned Agent Receipt of a command; principal: who stood behind it. leaf: hash of its entry."""
    name = f"{receipt.project}/{receipt.id}/{leaf}"
    passed = receipt.exit_code == 0 and not receipt.timed_out
    why = receipt.ended_for or f"exit code {receipt.exit_code}"
    return {
        "@context": _CONTEXT,
        "id": f"urn:receipt:{uuid5(_SPACE, name)}",
        "type": ["VerifiableCredential", "AgentReceipt"],
        "version": VERSION,
        "issuanceDate": receipt.ended_at,
        "credentialSubject": {
            "principal": {"id": principal or receipt.agent},
            "action": {
                "id": f"act_{uuid5(_SPACE, 'act/' + name)}",
                "type": "system.command.execute",
                "tool_name": "verify",
                "risk_level": "high",
                "target": {
                    "system": "counterpoint",
                    "resource": f"{receipt.project}/{receipt.item}"
                    if receipt.item
                    else receipt.project,
                },
                "parameters_hash": f"sha256:{receipt.command_sha256}",
                "timestamp": receipt.started_at,
            },
            "outcome": {
                "status": "success" if passed else "failure",
                **({} if passed else {"error": why}),
                "response_hash": f"sha256:{receipt.output_sha256}",
            },
            # Each stands alone: the ledger is the chain, and the leaf is its place there.
            "chain": {
                "sequence": 1,
                "previous_receipt_hash": None,
                "chain_id": f"counterpoint:{leaf}",
            },
        },
    }


def sign_receipt(receipt: Json, sign: Sign, public_key: bytes) -> Json:
    """Return an Agent Receipt with the proof of the key."""
    did = did_of(public_key)
    whole = {**receipt, "issuer": {"id": did, "type": "Service", "name": "counterpoint"}}
    proof = base64.urlsafe_b64encode(sign(canonical.dump(whole))).decode().rstrip("=")
    return {
        **whole,
        "proof": {
            "type": "Ed25519Signature2020",
            "created": receipt["issuanceDate"],
            "verificationMethod": f"{did}#{did.removeprefix('did:key:')}",
            "proofPurpose": "assertionMethod",
            "proofValue": f"u{proof}",
        },
    }
