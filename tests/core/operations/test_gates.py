"""Checks: commands that the server runs, receipts that it signs, gates that they move."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from counterpoint.core.model.evidence import Command
from counterpoint.core.model.filters import Check, Edit
from counterpoint.core.model.journal import Receipt
from counterpoint.core.model.work import Gate, Item
from counterpoint.core.operations.gates import signed_bytes
from counterpoint.core.operations.recording.links import shift
from counterpoint.core.operations.recording.unit import recording
from counterpoint.kernel import canonical
from counterpoint.kernel.errors import InvalidInput, NotFound, ProgramMissing
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
    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(ada.projects.find().public_key))
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


def test_others_can_write_while_a_command_runs(studio, ada, bob, task):
    """Even under a key, between two commands, no transaction is open."""
    studio.tree.during = lambda: bob.memory.put("project", "seen", len(studio.tree.ran))

    def verify():
        return len(ada.gates.verify(Check(item=task)).receipts)

    assert ada.once("key", ["verify", task], verify) == 2
    assert bob.memory.get("project", "seen").value == "1"


def test_a_gate_that_was_changed_while_its_command_ran_stays(studio, ada, bob, task):
    """The receipt is kept, but it is of another command, or of a gate that is gone."""
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
