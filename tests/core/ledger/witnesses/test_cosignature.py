"""Cosignatures, computed again by hand from the specification."""

from __future__ import annotations

import base64
from hashlib import sha256

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from counterpoint.core.ledger.note import VerifierKey, open_note, seal_note, signature_line
from counterpoint.core.ledger.witnesses.cosignature import CosignerKey, cosign, cosignature_time
from counterpoint.kernel.errors import MalformedDocument, ProofMismatch

TEXT = "example.com/log\n4\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"
NAME = "witness.example.com/w1"
SECONDS = 1679315147

PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
RAW = PRIVATE.public_key().public_bytes_raw()
KEY = CosignerKey(name=NAME, public_key=RAW)
LOG = VerifierKey(name="example.com/log", public_key=RAW)
NOTE = seal_note(TEXT, PRIVATE.sign, LOG)


def test_a_cosignature_is_what_the_specification_says():
    """Name, key id of the type 4, time in 8 bytes, and a signature over header, time and text."""
    line = cosign(TEXT, KEY, PRIVATE.sign, SECONDS)
    dash, name, encoded = line.removesuffix("\n").split(" ")
    raw = base64.b64decode(encoded)
    assert (dash, name) == ("—", NAME)
    assert raw[:4] == sha256(NAME.encode() + b"\n\x04" + RAW).digest()[:4]
    assert int.from_bytes(raw[4:12], "big") == SECONDS
    message = f"cosignature/v1\ntime {SECONDS}\n{TEXT}".encode()
    PRIVATE.public_key().verify(raw[12:], message)
    assert cosignature_time(open_note(NOTE + line), KEY) == SECONDS


def test_the_key_of_a_witness_is_another_vkey_than_that_of_a_log():
    """The same bytes under the same name sign two things, and are never taken for each other."""
    text = KEY.to_text()
    assert text == f"{NAME}+{KEY.key_id.hex()}+{base64.b64encode(bytes([4]) + RAW).decode()}"
    assert CosignerKey.from_text(text) == KEY
    with pytest.raises(MalformedDocument, match="type 01"):
        VerifierKey.from_text(text)
    with pytest.raises(MalformedDocument, match="type 04"):
        CosignerKey.from_text(LOG.to_text())


def test_of_several_cosignatures_the_latest_counts_and_all_must_be_right():
    """A witness may cosign the same head again; one wrong line is a forgery."""
    lines = [cosign(TEXT, KEY, PRIVATE.sign, SECONDS + more) for more in (0, 60, 30)]
    assert cosignature_time(open_note(NOTE + "".join(lines)), KEY) == SECONDS + 60
    other = cosign(TEXT.replace("\n4\n", "\n5\n"), KEY, PRIVATE.sign, SECONDS)
    with pytest.raises(ProofMismatch, match="does not fit"):
        cosignature_time(open_note(NOTE + lines[0] + other), KEY)


@pytest.mark.parametrize(
    "signature",
    [
        SECONDS.to_bytes(8, "big") + bytes(63),
        bytes(8) + PRIVATE.sign(f"cosignature/v1\ntime 0\n{TEXT}".encode()),
        (2**63).to_bytes(8, "big") + PRIVATE.sign(f"cosignature/v1\ntime {2**63}\n{TEXT}".encode()),
        (SECONDS + 1).to_bytes(8, "big")
        + PRIVATE.sign(f"cosignature/v1\ntime {SECONDS}\n{TEXT}".encode()),
        SECONDS.to_bytes(8, "big") + PRIVATE.sign(TEXT.encode()),
    ],
    ids=["too short", "time 0", "time too large", "another time", "a plain signature"],
)
def test_a_line_of_the_witness_that_is_not_right_is_refused(signature):
    """Nothing is let go of the layout, the time or the message."""
    with pytest.raises(ProofMismatch, match="does not fit"):
        cosignature_time(open_note(NOTE + signature_line(KEY, signature)), KEY)


def test_a_note_without_its_line_is_not_cosigned():
    """The signature of the log, and that of another witness, say nothing of it."""
    other = CosignerKey(name="witness.example.com/w2", public_key=RAW)
    with pytest.raises(ProofMismatch, match="not cosigned"):
        cosignature_time(open_note(NOTE + cosign(TEXT, other, PRIVATE.sign, SECONDS)), KEY)
