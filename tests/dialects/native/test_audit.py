"""The tool `prove`: the ledger verified and proved."""

from __future__ import annotations

from typing import Any

import pytest

from builders import Agent
from counterpoint.core.ledger import checkpoint, merkle
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.core.operations import audit
from fakes.plans import Plan


@pytest.fixture
def plan(ada: Agent, plan: Plan) -> Plan:
    """Answer the plan, of which every entry is signed."""
    ada.core.signing.renew()
    return plan


def test_a_sound_ledger_is_sound(ada: Agent, plan: Plan) -> None:
    """Size, root, and the last hash."""
    answer = ada.does("prove", what="verify")
    assert answer["sound"] is True
    assert answer["size"] == ada.ledger_size
    assert "faults" not in answer
    assert answer["not_looked_at"] == ["witnesses elsewhere"]


def test_what_was_not_looked_at_is_said(
    ada: Agent, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a long ledger only the entries are read while somebody waits."""
    monkeypatch.setattr(audit, "_WAITED_FOR", 1)
    answer = ada.does("prove", what="verify")
    assert answer["not_looked_at"] == [
        *("tables", "texts", "search", "schema", "file"),
        "witnesses elsewhere",
    ]
    assert "rows" not in answer


def test_a_checkpoint_verifies_offline(ada: Agent, plan: Plan) -> None:
    """With the key that comes with it, and nothing else."""
    answer = ada.does("prove", what="checkpoint")
    sealed = checkpoint.verify(answer["checkpoint"], VerifierKey.from_text(answer["key"]))
    assert sealed.size == ada.ledger_size


@pytest.mark.parametrize("sequence", [0, 1])
def test_an_entry_is_proved_to_be_in_the_ledger(ada: Agent, plan: Plan, sequence: int) -> None:
    """The entry, read in pages, hashes to the leaf; the leaf leads to the root."""
    for number in range(5):
        ada.does("note", kind="comment", text=f"{number}")
    ada.does("plan", markdown="# Large\n" + "".join(f"- [ ] {n}\n" for n in range(80)))
    last = ada.ledger_size - 1
    assert ada.is_refused("prove", what="inclusion", sequence=last)["error"] == "signer_away"
    ada.core.signing.renew()
    for place in (sequence, last):
        proof = ada.does("prove", what="inclusion", sequence=place)
        entry, page = proof["entry"], proof
        while "cursor" in page:
            page = ada.does("prove", what="inclusion", sequence=place, cursor=page["cursor"])
            entry += page["entry"]
        assert merkle.leaf_hash(entry.encode()).hex() == proof["leaf"]
        merkle.verify_inclusion(
            place,
            proof["size"],
            bytes.fromhex(proof["leaf"]),
            [bytes.fromhex(part) for part in proof["path"]],
            bytes.fromhex(proof["root"]),
        )


def test_an_earlier_ledger_is_proved_to_be_its_beginning(ada: Agent, plan: Plan) -> None:
    """Nothing before was written anew."""
    before = ada.does("prove", what="verify")
    ada.does("note", kind="comment", text="more")
    ada.core.signing.renew()
    proof = ada.does("prove", what="consistency", first_size=before["size"])
    assert proof["first_root"] == before["root"]
    merkle.verify_consistency(
        before["size"],
        proof["size"],
        bytes.fromhex(proof["first_root"]),
        bytes.fromhex(proof["root"]),
        [bytes.fromhex(part) for part in proof["path"]],
    )


@pytest.mark.parametrize("what", ["verify", "checkpoint"])
def test_proving_writes_no_entry(ada: Agent, plan: Plan, what: str) -> None:
    """It only looks, and has nothing signed either."""
    ada.does("note", kind="comment", text="more")
    before, signed = ada.ledger_size, ada.core.signing.last()
    ada.does("prove", what=what)
    assert (ada.ledger_size, ada.core.signing.last()) == (before, signed)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"what": "everything"},
        {"what": "verify", "size": 1},
        {"what": "checkpoint", "sequence": 0},
        {"what": "inclusion"},
        {"what": "inclusion", "sequence": 99},
        {"what": "inclusion", "sequence": 0, "size": 99},
        {"what": "inclusion", "sequence": -1},
        {"what": "inclusion", "sequence": 2**60},
        {"what": "inclusion", "sequence": 0, "first_size": 1},
        {"what": "inclusion", "sequence": 0, "cursor": "x"},
        {"what": "consistency"},
        {"what": "consistency", "first_size": 99},
        {"what": "consistency", "first_size": 2, "size": 1},
    ],
)
def test_what_cannot_be_proved_is_refused(
    ada: Agent, plan: Plan, arguments: dict[str, Any]
) -> None:
    """Sizes the ledger does not have, parts that are missing or have no meaning."""
    assert ada.is_refused("prove", **arguments)["kind"] == "invalid"
