"""Ledgers and a key for the tests of the proofs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from counterpoint.core.ledger.checkpoint import Checkpoint, seal
from counterpoint.core.ledger.entry import GENESIS, Entry, RowImage, refer
from counterpoint.core.ledger.merkle import leaf_hash, root_of
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.core.model.access import Actor
from counterpoint.kernel.clock import Timestamp
from fakes.texts import committed

PROJECT = "prj_test"

Chain = Callable[..., list[bytes]]


class SigningKey:
    """An Ed25519 key pair with a name, and what it can seal."""

    def __init__(self, name: str, seed: bytes) -> None:
        self.private = Ed25519PrivateKey.from_private_bytes(seed)
        raw = self.private.public_key().public_bytes_raw()
        self.public = VerifierKey(name=name, public_key=raw)

    def seal(self, entries: Sequence[bytes]) -> str:
        """Answer a signed checkpoint of these entries."""
        root = root_of(leaf_hash(data) for data in entries)
        checkpoint = Checkpoint(origin=self.public.name, size=len(entries), root=root)
        return seal(checkpoint, self.private.sign, self.public)


def make_entry(sequence: int, previous: str, *, text: str = "", project: str = PROJECT) -> Entry:
    """Answer one entry as the product would write it."""
    return Entry(
        project=project,
        sequence=sequence,
        time=Timestamp(f"2026-11-20T10:00:{sequence % 60:02d}.000Z"),
        actor=Actor(kind="agent", name="ada", profile="coder", session="ses_1"),
        action="task.started",
        subject=f"cp-{sequence}",
        facts={"note": refer(committed(text))} if text else {"lease": 600},
        rows=(RowImage(table="items", key={"id": f"cp-{sequence}"}, values={"status": "running"}),),
        previous=previous,
    )


def make_chain(size: int, texts: Sequence[str] = (), project: str = PROJECT) -> list[bytes]:
    """Answer the bytes of a sound ledger; entry i refers to text i."""
    chain: list[bytes] = []
    previous = GENESIS
    for sequence in range(size):
        text = texts[sequence] if sequence < len(texts) else ""
        chain.append(make_entry(sequence, previous, text=text, project=project).to_bytes())
        previous = leaf_hash(chain[-1]).hex()
    return chain


@pytest.fixture(scope="session")
def chain_of() -> Chain:
    """Answer what makes the bytes of a sound ledger."""
    return make_chain


@pytest.fixture(scope="session")
def entry() -> Entry:
    """Answer one entry."""
    return make_entry(0, GENESIS)


@pytest.fixture(scope="session")
def key() -> SigningKey:
    """Answer the key of the project."""
    return SigningKey("counterpoint.test/prj_test", bytes(range(32)))


@pytest.fixture(scope="session")
def stranger() -> SigningKey:
    """Answer another key under the same name."""
    return SigningKey("counterpoint.test/prj_test", bytes(range(1, 33)))
