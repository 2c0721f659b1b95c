"""Signed notes: those of other programs are read, and no other spelling is."""

from __future__ import annotations

import base64
from hashlib import sha256
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.core.ledger.note import (
    Signature,
    VerifierKey,
    from_base64,
    open_note,
    seal_note,
    to_base64,
    verify_note,
)
from counterpoint.kernel.errors import MalformedDocument, ProofMismatch

# The example of the package that first defined the format (golang.org/x/mod/sumdb/note).
PETER = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
PETERS_NOTE = (
    "If you think cryptography is the answer to your problem,\n"
    "then you don't know what your problem is.\n"
    "\n"
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6K"
    "E6RyyBwJnAM=\n"
)
ENOCH = "EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop"
ENOCHS_LINE = (
    "— EnochRoot rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWLox33WW"
    "d1RvMc+QQ=\n"
)


def test_a_note_of_another_program_verifies() -> None:
    """The published example opens, alone and with a second signature."""
    for document in (PETERS_NOTE, PETERS_NOTE + ENOCHS_LINE):
        verify_note(open_note(document), VerifierKey.from_text(PETER))
    verify_note(open_note(PETERS_NOTE + ENOCHS_LINE), VerifierKey.from_text(ENOCH))


def test_a_verifier_key_is_written_as_it_was_read() -> None:
    for text in (PETER, ENOCH):
        assert VerifierKey.from_text(text).to_text() == text


def test_a_note_without_our_key_is_refused() -> None:
    """Other signatures, however good, do not count."""
    with pytest.raises(ProofMismatch, match="EnochRoot"):
        verify_note(open_note(PETERS_NOTE), VerifierKey.from_text(ENOCH))


def test_a_changed_text_is_refused() -> None:
    """One letter more and the signature does not fit."""
    changed = open_note(PETERS_NOTE.replace("answer", "answers"))
    with pytest.raises(ProofMismatch, match="does not fit"):
        verify_note(changed, VerifierKey.from_text(PETER))


def test_a_good_signature_does_not_excuse_a_false_one() -> None:
    """Two signatures of one key must both be right."""
    raw = base64.b64decode(PETERS_NOTE.rsplit(maxsplit=1)[-1])
    forged = base64.b64encode(raw[:4] + bytes(64)).decode()
    note = open_note(f"{PETERS_NOTE}— PeterNeumann {forged}\n")
    with pytest.raises(ProofMismatch):
        verify_note(note, VerifierKey.from_text(PETER))


def test_another_key_of_the_same_name_does_not_disturb(key: VerifierKey, stranger: Any) -> None:
    ours = seal_note("text\n", key.private.sign, key.public)
    theirs = seal_note("text\n", stranger.private.sign, stranger.public)
    both = open_note(ours + theirs.splitlines(keepends=True)[-1])
    verify_note(both, key.public)
    verify_note(both, stranger.public)
    with pytest.raises(ProofMismatch, match="not signed"):
        verify_note(open_note(theirs), key.public)


def test_a_signature_of_the_wrong_length_is_refused() -> None:
    """Too few bytes are no signature and no crash."""
    raw = base64.b64decode(PETERS_NOTE.rsplit(maxsplit=1)[-1])
    short = base64.b64encode(raw[:-1]).decode()
    note = open_note(PETERS_NOTE.replace(PETERS_NOTE.rsplit(maxsplit=1)[-1], short))
    with pytest.raises(ProofMismatch):
        verify_note(note, VerifierKey.from_text(PETER))


def test_what_we_seal_others_can_check(key: VerifierKey) -> None:
    """Written from the specification alone, another checker accepts our note."""
    document = seal_note("one\n\ntwo — größe\n", key.private.sign, key.public)
    text, line = document[: document.rindex("\n\n") + 1], document.splitlines()[-1]
    dash, name, encoded = line.split(" ")
    raw = base64.standard_b64decode(encoded)
    public = key.private.public_key().public_bytes_raw()
    assert (dash, name) == ("\u2014", key.public.name)
    assert raw[:4] == sha256(name.encode() + b"\x0a\x01" + public).digest()[:4]
    key.private.public_key().verify(raw[4:], text.encode())
    with pytest.raises(InvalidSignature):
        key.private.public_key().verify(raw[4:], text.encode() + b"\n")


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
def test_every_text_that_can_be_sealed_opens_as_it_was(key: VerifierKey, text: str) -> None:
    """What goes in comes out, and its signature is right."""
    note = open_note(seal_note(text + "\n", key.private.sign, key.public))
    assert note.text == text + "\n"
    verify_note(note, key.public)


@pytest.mark.parametrize(
    "document",
    [
        "",
        "\n\n",
        "text\n",
        "text\n\n",
        "text\n— PeterNeumann AAAAAAA=\n",
        PETERS_NOTE[:-1],
        PETERS_NOTE + "\n",
        "\n\n— PeterNeumann AAAAAAA=\n",
        "\n" + "— PeterNeumann AAAAAAA=\n",
        PETERS_NOTE.replace("your", "yo\tur"),
        PETERS_NOTE.replace("\n", "\r\n"),
        PETERS_NOTE.replace("your", "\ud800"),
        PETERS_NOTE.replace("— Peter", "- Peter"),
        PETERS_NOTE.replace("— Peter", "—  Peter"),
        PETERS_NOTE.replace("PeterNeumann ", "Peter+Neumann "),
        PETERS_NOTE.replace("PeterNeumann ", "Peter\u00a0Neumann "),
        PETERS_NOTE.replace("PeterNeumann ", "PeterNeumann  "),
        PETERS_NOTE.replace("JnAM=", "JnAM"),
        PETERS_NOTE.replace("JnAM=", "JnAN="),
        PETERS_NOTE.replace("JnAM=", "Jn\u00e4M="),
        "text\n\n— PeterNeumann AAAAAA==\n",
        "text\n\n" + "— PeterNeumann AAAAAAA=\n" * 101,
    ],
)
def test_a_document_that_is_no_note_is_refused(document: str) -> None:
    """Each departure from the layout is an unreadable document, not a wrong proof."""
    with pytest.raises(MalformedDocument):
        open_note(document)


def test_signatures_are_read_but_not_trusted_by_opening() -> None:
    """Opening answers the parts; the last empty line is the border."""
    note = open_note("one\n\ntwo\n\n— A AAAAAAA=\n")
    assert note.text == "one\n\ntwo\n"
    assert note.signatures == (Signature(name="A", key_id=bytes(4), signature=bytes(1)),)


@pytest.mark.parametrize("text", ["", "no line feed", "\n", "a\x00b\n", "\ud800\n"])
def test_a_text_that_no_note_can_hold_is_not_sealed(key: VerifierKey, text: str) -> None:
    """What could not be opened again is never signed."""
    with pytest.raises(MalformedDocument):
        seal_note(text, key.private.sign, key.public)


@pytest.mark.parametrize(
    "text",
    [
        "PeterNeumann",
        "PeterNeumann+c74f20a3",
        PETER.replace("+c74f20a3+", "+c74f20a4+"),
        PETER.replace("+c74f20a3+", "+C74F20A3+"),
        PETER.replace("PeterNeumann", "PeterNewman"),
        PETER.replace("+ARpc", "+AhpcX"),
        PETER.replace("+ARpc", "+Ahpc"),
        PETER + "AAAA",
        PETER.replace("PeterNeumann", ""),
        PETER.replace("PeterNeumann", "Peter Neumann"),
    ],
)
def test_a_text_that_is_no_verifier_key_is_refused(text: str) -> None:
    """Name, id and key bytes must fit one another."""
    with pytest.raises(MalformedDocument):
        VerifierKey.from_text(text)


@pytest.mark.parametrize("text", ["AA", "AAA", "AB==", "AA==\n", "A A=", "-_8=", "ä", "AAA=="])
def test_only_one_spelling_of_base64_is_read(text: str) -> None:
    """Missing padding, stray bits, spaces and the other alphabet are refused."""
    with pytest.raises(MalformedDocument):
        from_base64(text)


@given(st.binary())
def test_every_bytes_come_back_from_base64(raw: bytes) -> None:
    """What is written is read again."""
    assert from_base64(to_base64(raw)) == raw
