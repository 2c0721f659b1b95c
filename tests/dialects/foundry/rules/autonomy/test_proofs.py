"""Proofs of steps: the same for whoever has the key, and for nobody else."""

from __future__ import annotations

import re

import pytest

from counterpoint.dialects.foundry.runs.rules.results import proof_of

KEY = b"a key of the project"
PROOF = proof_of(KEY, "ses_1", "step_1")


def test_a_proof_is_told_again_by_whoever_has_the_key():
    """64 hex digits, each time the same."""
    assert re.fullmatch(r"[0-9a-f]{64}", PROOF)
    assert proof_of(KEY, "ses_1", "step_1") == PROOF


@pytest.mark.parametrize(
    "given",
    [
        (b"another key", "ses_1", "step_1"),
        (KEY, "ses_2", "step_1"),
        (KEY, "ses_1", "step_2"),
        (KEY, "ses_1", "step_1", "2026-02-03T04:00:00.000Z"),
        (KEY, "ses_1step_1", ""),
    ],
)
def test_all_that_a_step_is_known_by_is_in_its_proof(given):
    """One that is issued again has another."""
    assert proof_of(*given) != PROOF
