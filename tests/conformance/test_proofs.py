"""Our proofs and signed checkpoints, judged by the verifier that Sigstore ships for its own log."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from counterpoint.core.ledger.checkpoint import Checkpoint, seal
from counterpoint.core.ledger.merkle import inclusion_proof, leaf_hash, nodes_of, root_of
from counterpoint.core.ledger.note import VerifierKey

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(90),
]

JUDGE = Path(__file__).parent / "programs" / "proofs.cjs"
LARGEST = 64
ORIGIN = "counterpoint/demo"

Proof = dict[str, Any]
Judge = Callable[[list[Proof]], list[str]]


@pytest.fixture(scope="session")
def signer() -> Ed25519PrivateKey:
    """Give the private key of the log."""
    return Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


@pytest.fixture(scope="session")
def key(signer: Ed25519PrivateKey) -> VerifierKey:
    """Give the public key under the name of the log."""
    return VerifierKey(name=ORIGIN, public_key=signer.public_key().public_bytes_raw())


@pytest.fixture
def judge(
    ask: Callable[..., list[str]], programs: Path, signer: Ed25519PrivateKey, key: VerifierKey
) -> Judge:
    """Give what asks the other verifier."""
    pem = signer.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    log = {
        "package": str(programs / "@sigstore" / "verify"),
        "publicKey": pem.decode(),
        "keyId": key.key_id.hex(),
        "name": key.name,
    }

    return lambda proofs: ask(JUDGE, log | {"proofs": proofs})


@pytest.fixture(scope="session")
def proofs(signer: Ed25519PrivateKey, key: VerifierKey) -> list[Proof]:
    """Give the proof of each leaf of each tree up to a size, under a signed checkpoint."""
    entries = [json.dumps({"n": number}) for number in range(LARGEST)]
    leaves = [leaf_hash(entry.encode()) for entry in entries]
    read = nodes_of(leaves)
    made: list[Proof] = []
    for size in range(1, LARGEST + 1):
        signed = Checkpoint(origin=ORIGIN, size=size, root=root_of(leaves[:size]))
        note = seal(signed, signer.sign, key)
        made += [
            {
                "entry": entries[index],
                "index": index,
                "path": [part.hex() for part in inclusion_proof(index, size, read)],
                "checkpoint": note,
                "origin": ORIGIN,
            }
            for index in range(size)
        ]
    return made


def test_every_proof_and_checkpoint_of_ours_is_accepted(judge: Judge, proofs: list[Proof]) -> None:
    """Each index in each size up to 64, each checkpoint with its signature."""
    said = judge(proofs)
    assert len(said) == LARGEST * (LARGEST + 1) // 2
    assert set(said) == {""}


def test_a_wrong_proof_is_refused_by_it_too(judge: Judge, proofs: list[Proof]) -> None:
    """So that its yes means something."""
    sound = proofs[-3]
    wrong = [
        sound | {"index": sound["index"] + 1},
        sound | {"entry": "{}"},
        sound | {"path": sound["path"][1:]},
        sound | {"path": [sound["path"][1], sound["path"][0], *sound["path"][2:]]},
        sound | {"checkpoint": sound["checkpoint"].replace("\n64\n", "\n63\n")},
        sound | {"checkpoint": proofs[-LARGEST - 1]["checkpoint"]},
    ]
    said = judge([sound, *wrong])
    assert said[0] == ""
    assert all(said[1:])
