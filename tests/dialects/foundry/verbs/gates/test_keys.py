"""The key that proves evidence of gates."""

from __future__ import annotations

from dataclasses import replace

import pytest

from counterpoint.core.operations.recording.context import Context
from counterpoint.dialects.foundry.runs.gates import EvidenceKeys
from counterpoint.kernel.errors import Unavailable
from fakes.studio import Studio, fixed_signer


def key_of(studio: Studio, keys: EvidenceKeys | None = None) -> bytes:
    """Return the key as a process works it out."""
    context: Context = studio.context(studio.core("ada"))
    return (keys or EvidenceKeys()).of(context)


def test_every_process_of_a_project_has_the_same_key() -> None:
    """And each signer, and each ledger, another one."""
    studio = Studio()
    assert len(key_of(studio)) == 32
    assert key_of(studio) == key_of(studio)
    other = Studio(signer=fixed_signer(studio.clock, b"s" * 32))
    assert key_of(other) != key_of(studio)


def test_a_key_follows_its_signer(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is worked out once, until the signer has another one."""
    studio, keys = Studio(), EvidenceKeys()
    first = key_of(studio, keys)
    asked: list[bytes] = []
    signer = studio.ports.signer
    sign = signer.sign
    monkeypatch.setattr(
        signer, "sign", lambda ledger, statement: asked.append(statement) or sign(ledger, statement)
    )
    assert key_of(studio, keys) == first
    assert asked == []
    studio.ports = replace(studio.ports, signer=fixed_signer(studio.clock, b"t" * 32))
    assert key_of(studio, keys) != first


def test_a_signer_that_signs_otherwise_each_time_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else evidence would be none after the next start."""
    studio = Studio()
    signatures = iter(range(1, 9))
    monkeypatch.setattr(studio.ports.signer, "sign", lambda *_: bytes([next(signatures)]) * 64)
    with pytest.raises(Unavailable, match="twice alike"):
        key_of(studio)
