"""What a witness judges of what is submitted, in the order of the specification."""

from __future__ import annotations

import base64
from hashlib import sha256

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.core.ledger.checkpoint import Checkpoint, seal
from counterpoint.core.ledger.merkle import consistency_proof, leaf_hash, nodes_of, root_of
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.core.ledger.witnesses.submission import (
    Cosigned,
    Submission,
    check_submission,
    load_size,
    open_submitted,
)
from counterpoint.kernel.errors import (
    CounterpointError,
    Forbidden,
    ForkRefused,
    InvalidInput,
    MalformedDocument,
    NotFound,
    ProofMismatch,
    StaleVersion,
)

PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
KEY = VerifierKey(name="example.com/log", public_key=PRIVATE.public_key().public_bytes_raw())
LEAVES = [leaf_hash(f"entry {number}".encode()) for number in range(12)]
FORKED = [*LEAVES[:3], leaf_hash(b"another"), *LEAVES[4:]]


def submit(old: int, size: int, leaves: list[bytes] = LEAVES) -> Submission:
    """Answer what a log submits."""
    head = Checkpoint(origin=KEY.name, size=size, root=root_of(leaves[:size]))
    proof = consistency_proof(old, size, nodes_of(leaves)) if old <= size else []
    return Submission(old=old, proof=tuple(proof), note=seal(head, PRIVATE.sign, KEY))


def last(size: int) -> Cosigned | None:
    """Answer what a witness has cosigned."""
    return Cosigned(size=size, root=root_of(LEAVES[:size])) if size else None


@given(old=st.integers(0, 12), more=st.integers(0, 12))
def test_what_extends_the_last_head_passes(old, more):
    """From any size to any other, over the bytes of the request."""
    asked = submit(old, min(12, old + more))
    again = Submission.from_bytes(asked.to_bytes())
    assert again == asked
    _, found = open_submitted(again.note, [KEY])
    check_submission(again, found, last(old))


def test_the_request_has_the_layout_of_the_specification():
    """Old size, proof, an empty line, the checkpoint; every line is ended."""
    asked = submit(3, 12)
    top, _, note = asked.to_bytes().decode().partition("\n\n")
    first, *hashes = top.split("\n")
    assert first == "old 3"
    assert [base64.b64decode(line) for line in hashes] == list(asked.proof)
    assert note == asked.note
    assert submit(0, 4).to_bytes().startswith(b"old 0\n\nexample.com/log\n4\n")
    assert Submission.from_bytes(submit(2, 4).to_bytes()) == submit(2, 4)


GOOD = submit(0, 4).note


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"old 0\n",
        b"old 01\n\n" + GOOD.encode(),
        b"old -1\n\n" + GOOD.encode(),
        b"OLD 1\n\n" + GOOD.encode(),
        b"old 1\nAAAA\n\n" + GOOD.encode(),
        b"old 1\nno base64\n\n" + GOOD.encode(),
        b"old 1\n" + 64 * (base64.b64encode(bytes(32)) + b"\n") + b"\n" + GOOD.encode(),
        b"\xff\n\n",
    ],
)
def test_what_is_no_request_is_malformed(body):
    """Nothing of it is read further."""
    with pytest.raises(MalformedDocument):
        Submission.from_bytes(body)


OTHER = Ed25519PrivateKey.from_private_bytes(bytes(32))
STRANGER = VerifierKey(name=KEY.name, public_key=OTHER.public_key().public_bytes_raw())


@pytest.mark.parametrize(
    ("note", "keys", "error"),
    [
        (GOOD, [], NotFound),
        (GOOD, [VerifierKey(name="example.com/other", public_key=KEY.public_key)], NotFound),
        (GOOD, [STRANGER], Forbidden),
        (GOOD.replace("\n4\n", "\n5\n"), [KEY], Forbidden),
        (GOOD[:-1], [KEY], MalformedDocument),
    ],
)
def test_only_a_head_signed_by_a_key_of_its_origin_is_looked_at(note, keys, error):
    """An unknown log, an unknown key, a signature that does not fit."""
    with pytest.raises(error):
        open_submitted(note, keys)


def test_signatures_of_strangers_are_ignored_and_a_second_key_of_a_log_counts():
    """After an epoch with a new key the witness may know both."""
    _, found = open_submitted(GOOD, [STRANGER, KEY])
    assert found.size == 4
    lines = seal(found, OTHER.sign, STRANGER).splitlines(keepends=True)
    assert open_submitted(GOOD + lines[-1], [KEY])[1] == found


@pytest.mark.parametrize(
    ("asked", "has", "error"),
    [
        (Submission(old=5, proof=(), note=GOOD), 5, InvalidInput),
        (submit(3, 8), 4, StaleVersion),
        (submit(0, 8), 4, StaleVersion),
        (submit(3, 8), 0, StaleVersion),
        (submit(4, 4, FORKED), 4, ForkRefused),
        (submit(4, 9, FORKED), 4, ProofMismatch),
        (submit(8, 9, FORKED), 8, ProofMismatch),
        (Submission(old=0, proof=(bytes(32),), note=GOOD), 0, ProofMismatch),
    ],
)
def test_what_does_not_extend_the_last_head_is_refused(asked, has, error):
    """Each for a reason of its own, and in this order."""
    _, found = open_submitted(asked.note, [KEY])
    with pytest.raises(CounterpointError) as refused:
        check_submission(asked, found, last(has))
    assert type(refused.value) is error
    if error is StaleVersion:
        assert refused.value.facts["size"] == has


def test_a_fork_passes_only_where_it_agrees_with_what_was_seen():
    """Two histories that begin alike can be told apart only where they part."""
    asked = submit(3, 8, FORKED)
    check_submission(asked, open_submitted(asked.note, [KEY])[1], last(3))


def test_an_empty_log_has_the_root_of_nothing():
    """The first head of all may be of no entries."""
    empty = Checkpoint(origin=KEY.name, size=0, root=sha256(b"").digest())
    asked = Submission(old=0, proof=(), note=seal(empty, PRIVATE.sign, KEY))
    check_submission(asked, empty, None)
    wrong = Checkpoint(origin=KEY.name, size=0, root=bytes(32))
    with pytest.raises(ForkRefused):
        check_submission(asked, wrong, None)


def test_a_size_is_decimal_and_ends_its_line():
    """Anything else says nothing, and above all not that there is another history."""
    assert load_size(b"20852014\n") == 20852014
    for body in (b"", b"5", b"05\n", b"5\n\n", b"-5\n", b"another root\n"):
        assert load_size(body) is None
