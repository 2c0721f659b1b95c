"""Checks: commands that the server runs, receipts that it signs, gates that they move."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from counterpoint.core.coordinator import Core
from counterpoint.core.model.evidence import Command
from counterpoint.core.model.filters import Check, Edit
from counterpoint.core.model.journal import Receipt
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import Gate, Item
from counterpoint.core.operations.gates import signed_bytes
from counterpoint.core.operations.recording.links import shift
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.evidence import CommandCancelled
from counterpoint.kernel import canonical
from counterpoint.kernel.errors import (
    ClaimLost,
    Conflict,
    InvalidInput,
    NotClaimHolder,
    NotFound,
    ProgramMissing,
)
from fakes.texts import kept_as

PAGE = (Path(__file__).parents[3] / "docs" / "proofs.md").read_text("utf-8")


@pytest.fixture
def task(ada):
    """Give a task with two check gates."""
    text = "# P\n- [ ] A\n  - verify: make test\n  - verify: lint\n"
    return ada.plans.create(ada.plans.read(text)).items[1].id


def gates(core, item):
    """Answer the state of each gate."""
    return {gate.name: gate.status for gate in core.overview.facets(item).gates}


def test_the_columns_that_a_receipt_is_signed_over_are_those_of_the_page(studio, ada, task):
    """A new column is signed too, so whoever verifies has to know of it: docs/proofs.md lists them."""
    check = Check(item=task, gates=("check-1",))
    studio.tree.outputs["make"] = "1 passed"
    (receipt,) = ada.gates.verify(check).receipts
    with studio.view() as view:
        output = kept_as(view, "1 passed")
        first, image = signed_bytes(receipt, partial(kept_as, view)).split(b"\n", 1)
    assert first == b"counterpoint receipt v1"
    listed = PAGE.split("but `signature`:\n\n")[1].split("\n\n")[0]
    assert sorted(re.findall(r"`(\w+)`", listed)) == sorted(canonical.load(image))
    assert canonical.load(image)["output"] == output


def test_a_run_leaves_a_signed_receipt_and_moves_its_gate(studio, ada, task):
    """What ran, how it ended, on which tree; checked with the public key of the project."""
    studio.tree.write("src/a", "1")
    studio.tree.outputs["make"] = "1 passed"
    heard = []
    found = ada.gates.verify(Check(item=task, gates=("check-1",)), watch=heard.append)
    (receipt,) = found.receipts
    assert found.passed
    assert heard == ["running make test", "make runs"]
    assert gates(ada, task) == {"check-1": "met", "check-2": "closed"}
    assert ada.overview.find(Gate, task, "check-1").proof == receipt.id
    assert (receipt.argv, receipt.output, receipt.agent) == (("make", "test"), "1 passed", "ada")
    kept = ada.overview.find(Receipt, receipt.id)
    assert kept == receipt
    key = Ed25519PublicKey.from_public_bytes(studio.system.signing.key.public_key)
    with studio.view() as view:
        signed = signed_bytes(kept, partial(kept_as, view))
    key.verify(bytes.fromhex(kept.signature), signed)
    with pytest.raises(InvalidSignature):
        key.verify(bytes.fromhex(kept.signature), signed + b" ")
    entry = studio.last()
    assert (entry.action, entry.subject) == ("check.passed", task)
    assert entry.facts == {"receipt": "demo-c1", "exit_code": 0, "gate": "check-1"}


@pytest.mark.parametrize("code", [1, -9])
def test_a_failed_run_closes_the_gate_again(studio, ada, task, code):
    """Each check is judged by its last run; minus nine here stands for a run out of time."""
    ada.gates.verify(Check(item=task))
    studio.tree.exits["lint"] = code
    found = ada.gates.verify(Check(item=task))
    assert not found.passed
    assert gates(ada, task) == {"check-1": "met", "check-2": "closed"}
    assert [e.action for e in studio.system.audit.log(limit=2)] == ["check.failed", "check.passed"]


@pytest.mark.parametrize(
    ("ending", "words"),
    [
        ("memory", "it took too much memory (8589934592 bytes at most)"),
        ("processes", "it had too many processes at once (2000 at most)"),
        ("output", "it wrote too much output (1073741824 bytes at most)"),
        ("time", "it ran too long (600 seconds at most)"),
        ("", ""),
    ],
)
def test_a_receipt_says_which_limit_ended_its_command(studio, ada, ending, words):
    studio.tree.exits["make"], studio.tree.endings["make"] = -9, ending
    found = ada.gates.verify(Check(command=Command(argv=("make",))))
    assert (found.receipts[0].exit_code, found.receipts[0].ended_for) == (-9, words)


def test_a_free_command_moves_no_gate(studio, ada, task):
    """It leaves a receipt, with an item or without; not with one that is not there."""
    command = Command(argv=("make", "test"))
    ada.gates.verify(Check(item=task, command=command))
    ada.gates.verify(Check(command=command))
    assert gates(ada, task) == {"check-1": "closed", "check-2": "closed"}
    assert [r.item for r in ada.overview.rows(Receipt)] == [task, ""]
    wrong = Check(item="demo-99", command=command)
    studio.refuses(NotFound, lambda: ada.gates.verify(wrong))
    assert len(studio.tree.ran) == 2


def test_what_cannot_be_checked_is_refused_before_anything_runs(studio, ada, task):
    """No such gate, no gate at all, no item."""
    wrong = Check(item=task, gates=("check-1", "check-7"))
    fault = studio.refuses(NotFound, lambda: ada.gates.verify(wrong))
    assert "check-1, check-2" in fault.hint
    ada.items.edit(task, Edit(checks=()))
    studio.refuses(InvalidInput, lambda: ada.gates.verify(Check(item=task)))
    studio.refuses(NotFound, lambda: ada.gates.verify(Check(item=task, gates=("check-1",))))
    studio.refuses(NotFound, lambda: ada.gates.verify(Check()))
    assert studio.tree.ran == []


def test_a_run_that_breaks_off_keeps_nothing(studio, ada, task):
    """The second program is missing: the whole call failed, the first receipt included."""
    studio.tree.missing.add("lint")
    studio.refuses(ProgramMissing, lambda: ada.gates.verify(Check(item=task)))


@pytest.mark.parametrize("leftovers", [(), ("~/.netrc stays: it is read-only",)])
def test_a_run_that_is_cancelled_keeps_a_receipt_of_what_it_left_alone(
    studio, ada, task, leftovers
):
    """Nobody hears an answer, and no gate moves."""

    def cancel() -> None:
        studio.tree.during = None
        left = studio.tree.run(Path(), Command(argv=("make", "test")))
        cause = CommandCancelled(replace(left, ended_for="cancelled", leftovers=leftovers))
        raise KeyboardInterrupt from cause

    studio.tree.during = cancel
    with pytest.raises(KeyboardInterrupt):
        ada.gates.verify(Check(item=task))
    kept = [receipt.ended_for for receipt in ada.overview.rows(Receipt)]
    assert kept == (["its call was cancelled"] if leftovers else [])
    assert set(gates(ada, task).values()) == {"closed"}


def test_others_can_write_while_a_command_runs(studio, ada, bob, task):
    """Even under a key, between two commands, no transaction is open."""
    studio.tree.during = lambda: bob.memory.put("project", "seen", len(studio.tree.ran))

    def verify():
        return len(ada.gates.verify(Check(item=task)).receipts)

    assert ada.once("key", ["verify", task], verify) == 2
    assert bob.memory.get("project", "seen").value == "1"


def test_a_gate_that_was_changed_while_its_command_ran_stays(studio, ada, bob, task):
    change = [Edit(checks=(("make", "all"), ("lint",))), Edit(checks=(("make", "all"),))]
    studio.tree.during = lambda: change and bob.items.edit(task, change.pop(0))
    ada.gates.verify(Check(item=task))
    assert gates(ada, task) == {"check-1": "closed"}
    assert len(ada.overview.rows(Receipt)) == 2


def test_a_gate_that_holds_the_start_frees_the_item(studio, ada, task):
    """The counter of what is in the way follows the gate both ways."""
    with recording(studio.context(ada), "gate.added", task) as change:
        gate = change.get(Gate, task, "check-1")
        change.put(replace(gate, holds="start"))
        shift(change, change.get(Item, task), 1)
    item = ada.items.get(task)
    assert ada.ready.judge(item).reasons == ("gate check-1 (check) is closed",)
    ada.gates.verify(Check(item=task))
    assert ada.ready.judge(ada.items.get(task)).is_ready
    studio.tree.exits["make"] = 1
    ada.gates.verify(Check(item=task))
    assert ada.items.get(task).blockers == 1
    ada.items.edit(task, Edit(waive=("check-1",), reason="so"))
    assert ada.items.get(task).blockers == 0


def test_a_check_counts_for_a_claim_with_its_token_in_its_tree_alone(
    studio, ada, bob, task, tmp_path
):
    """Whoever held the item before neither meets nor closes a gate of its new holder, nor does who never held it."""
    check = Check(item=task, gates=("check-1",))
    late = ada.claims.start(task, 1).claim.token
    studio.refuses(NotClaimHolder, lambda: ada.gates.verify(check))
    studio.clock.pass_by(minutes=2)
    token = bob.claims.start(task).claim.token
    assert bob.gates.verify(check, token).passed
    studio.tree.exits["make"] = 1
    fault = studio.refuses(NotClaimHolder, lambda: ada.gates.verify(check))
    assert "held by bob" in fault.message
    studio.refuses(ClaimLost, lambda: ada.gates.verify(check, late))
    context = studio.context(bob)
    elsewhere = replace(context.caller, root=tmp_path, home=context.caller.main_tree)
    other = Core(context.ports, elsewhere)
    fault = studio.refuses(Conflict, lambda: other.gates.verify(check, token))
    assert "begun in the tree" in fault.message
    assert gates(ada, task)["check-1"] == "met"


def test_a_check_that_was_begun_before_a_claim_does_not_count_for_it(studio, ada, bob, task):
    """Somebody takes the item up while it runs."""
    check = Check(item=task, gates=("check-1",))

    def take_up(_words):
        if not bob.overview.find(Claim, task):
            bob.claims.start(task)

    with pytest.raises(NotClaimHolder):
        ada.gates.verify(check, watch=take_up)
    assert gates(ada, task)["check-1"] == "closed"


@dataclass
class Slow:
    """A signer during whose answer others do something."""

    inner: Any
    during: Callable[[], object]

    def sign(self, ledger: str, statement: bytes) -> bytes:
        """Let them, and sign."""
        self.during()
        return self.inner.sign(ledger, statement)

    def __getattr__(self, name: str) -> Any:
        """Do all else."""
        return getattr(self.inner, name)


def meanwhile(studio, ada, during):
    """Answer the core of somebody during whose signatures others do something."""
    return Core(replace(studio.ports, signer=Slow(studio.ports.signer, during)), ada.caller)


def is_sound(studio, receipt):
    """Tell whether a receipt is signed over what is kept of it."""
    key = Ed25519PublicKey.from_public_bytes(studio.ports.signer.public_key("led_demo"))
    with studio.view() as view:
        kept = view.find(Receipt, receipt.id)
        signed = signed_bytes(kept, partial(kept_as, view))
    key.verify(bytes.fromhex(kept.signature), signed)
    return kept == receipt


def test_a_receipt_is_signed_anew_when_its_number_was_taken_meanwhile(studio, ada, bob, task):
    """Both are sound; under a key the second is left without, so that no signer is asked in a transaction."""
    todo = [Check(item=task, gates=("check-2",))]
    mine = meanwhile(studio, ada, lambda: todo and bob.gates.verify(todo.pop()))
    check = Check(item=task, gates=("check-1",))
    (receipt,) = mine.gates.verify(check).receipts
    assert receipt.id == "demo-c2"
    assert is_sound(studio, receipt)
    todo.append(Check(item=task, gates=("check-2",)))
    mine.once("key", ["verify"], lambda: len(mine.gates.verify(check).receipts))
    assert [(one.id, bool(one.signature)) for one in ada.overview.rows(Receipt)][2:] == [
        ("demo-c3", True),
        ("demo-c4", False),
    ]
    studio.check()


def test_a_receipt_keeps_no_commitment_of_a_text_that_was_taken_away_meanwhile(studio, ada, task):
    """It is signed anew, with a salt that nothing of the text had before."""
    studio.tree.outputs["make"] = "a private word"
    check = Check(item=task, gates=("check-1",))
    (first,) = ada.gates.verify(check).receipts
    with studio.view() as view:
        before = kept_as(view, "a private word")
    person, todo = studio.core("pat", kind="human"), [first.id]
    mine = meanwhile(
        studio, ada, lambda: todo and person.erasing.of_row(Receipt, todo.pop(), reason="private")
    )
    (receipt,) = mine.gates.verify(check).receipts
    with studio.view() as view:
        assert kept_as(view, "a private word") != before
    assert is_sound(studio, receipt)


def test_whoever_is_overtaken_again_and_again_keeps_a_receipt_without_a_signature(
    studio, ada, bob, task
):
    """The signature of the ledger's end covers it."""
    asked = []

    def overtake():
        asked.append(bob.gates.verify(Check(item=task, gates=("check-2",))))

    (receipt,) = (
        meanwhile(studio, ada, overtake).gates.verify(Check(item=task, gates=("check-1",))).receipts
    )
    assert (receipt.signature, receipt.number) == ("", len(asked) + 1)
    assert 2 <= len(asked) <= 4
    studio.check()
