"""Checkpoints: a public log's is read, ours is bound to its log, and reading is strict."""

from __future__ import annotations

from typing import Any

import pytest

from counterpoint.core.ledger.checkpoint import Checkpoint, open_checkpoint, seal, verify
from counterpoint.core.ledger.note import VerifierKey, seal_note
from counterpoint.kernel.errors import MalformedDocument, ProofMismatch

# A tree head that Go's public checksum log once signed, and the key of that log.
PUBLIC_KEY = "sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8"
PUBLIC_ORIGIN = "go.sum database tree"
PUBLIC_NOTE = (
    "go.sum database tree\n"
    "20852163\n"
    "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"
    "\n"
    "— sum.golang.org Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zy"
    "WE+xeMcTOAYQ8=\n"
)
ROOT_TEXT = "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I="
ROOT = bytes(range(32))


def test_the_checkpoint_of_a_public_log_verifies() -> None:
    """A real signature of a real log over this format is accepted."""
    found = verify(PUBLIC_NOTE, VerifierKey.from_text(PUBLIC_KEY), PUBLIC_ORIGIN)
    assert found.size == 20852163
    assert found.to_text() + "\n" == PUBLIC_NOTE[: PUBLIC_NOTE.index("—")]


def test_a_sealed_checkpoint_verifies_as_it_was(key: VerifierKey) -> None:
    """Origin, size, root and extensions come back."""
    for size, extensions in [(0, ()), (2**63 - 1, ("one", "two words"))]:
        made = Checkpoint(origin=key.public.name, size=size, root=ROOT, extensions=extensions)
        document = seal(made, key.private.sign, key.public)
        assert verify(document, key.public) == open_checkpoint(document) == made


def test_the_text_of_a_checkpoint_is_as_specified() -> None:
    """Origin, decimal size, base64 root, extensions: one line each."""
    made = Checkpoint(origin="example.com/log", size=12, root=bytes(32), extensions=("more",))
    assert made.to_text() == f"example.com/log\n12\n{'A' * 43}=\nmore\n"


def test_a_checkpoint_of_another_log_is_refused(key: VerifierKey) -> None:
    """A right signature over another origin proves nothing about this log."""
    made = Checkpoint(origin="another.test/log", size=1, root=ROOT)
    document = seal(made, key.private.sign, key.public)
    assert verify(document, key.public, "another.test/log") == made
    with pytest.raises(ProofMismatch, match=r"another\.test/log"):
        verify(document, key.public)


def test_a_checkpoint_signed_by_a_stranger_is_refused(key: VerifierKey, stranger: Any) -> None:
    """The name of the key is not enough."""
    made = Checkpoint(origin=key.public.name, size=1, root=ROOT)
    document = seal(made, stranger.private.sign, stranger.public)
    with pytest.raises(ProofMismatch, match="not signed"):
        verify(document, key.public)


def test_a_checkpoint_that_was_edited_is_refused(key: VerifierKey) -> None:
    """Another size under the same signature does not verify."""
    made = Checkpoint(origin=key.public.name, size=12, root=ROOT)
    document = seal(made, key.private.sign, key.public)
    with pytest.raises(ProofMismatch, match="does not fit"):
        verify(document.replace("\n12\n", "\n13\n"), key.public)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "origin\n",
        "origin\n1\n",
        f"origin\n1\n{ROOT_TEXT}",
        f"\n1\n{ROOT_TEXT}\n",
        f"origin\n01\n{ROOT_TEXT}\n",
        f"origin\n+1\n{ROOT_TEXT}\n",
        f"origin\n-1\n{ROOT_TEXT}\n",
        f"origin\n1 \n{ROOT_TEXT}\n",
        f"origin\n\u0661\n{ROOT_TEXT}\n",
        f"origin\n9223372036854775808\n{ROOT_TEXT}\n",
        f"origin\n10000000000000000000\n{ROOT_TEXT}\n",
        f"origin\n1\n{ROOT_TEXT[:-1]}\n",
        f"origin\n1\n{ROOT_TEXT[:-2]}J=\n",
        "origin\n1\nAAAA\n",
        f"origin\n1\n{ROOT_TEXT}\n\n",
        f"origin\n1\n{ROOT_TEXT}\n\nmore\n",
        f"origin\r\n1\r\n{ROOT_TEXT}\r\n",
        f"ori\tgin\n1\n{ROOT_TEXT}\n",
    ],
)
def test_a_text_that_is_no_checkpoint_is_refused(text: str) -> None:
    with pytest.raises(MalformedDocument):
        Checkpoint.from_text(text)


def test_a_signed_text_that_is_no_checkpoint_is_refused(key: VerifierKey) -> None:
    with pytest.raises(MalformedDocument):
        verify(seal_note("hello\n", key.private.sign, key.public), key.public)


@pytest.mark.parametrize(
    "fields",
    [
        {"origin": ""},
        {"origin": "two\nlines"},
        {"size": -1},
        {"size": 2**63},
        {"root": b""},
        {"extensions": ("",)},
    ],
)
def test_a_checkpoint_that_cannot_be_written_is_not_made(fields: dict[str, Any]) -> None:
    """What the text could not carry is refused at once."""
    with pytest.raises(MalformedDocument):
        Checkpoint(**({"origin": "log", "size": 1, "root": ROOT} | fields))
