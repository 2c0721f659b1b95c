"""Verifications: what was found is kept, and commands are run."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from builders import Agent
from counterpoint.core.model.trust.checking import Checking
from counterpoint.core.operations.recording.context import Context
from counterpoint.dialects.foundry.envelope import PHRASES
from counterpoint.dialects.foundry.models.specs import Node
from counterpoint.dialects.foundry.models.tasks import NodeDraft
from counterpoint.dialects.foundry.tasks.editing import Shaping
from counterpoint.dialects.foundry.tasks.moving import Verifying
from counterpoint.kernel.errors import CommandNotAllowed, InvalidInput, PathOutside, ProgramMissing

SPEC = "export-2026-01-02-001"
Look = Callable[[str], Node]
TOLD: list[str] = []


@pytest.fixture
def verify(ada: Agent, node: Look) -> Callable[..., str]:
    """Answer what makes a verification with some values, and answers its id."""
    assert node("task-1-1").status == "pending"

    def make(**kept: str) -> str:
        asked = NodeDraft(parent="phase-1", title="Verify", type="verify", kept=kept)
        return ada.core.use(Shaping).add(SPEC, asked).id

    return make


def test_the_last_ten_results_are_kept(ada: Agent, verify: Callable[..., str], node: Look) -> None:
    """With what was said of each; a dry run keeps nothing, and only a verification has results."""
    name, verifying = verify(), ada.core.use(Verifying)
    assert not verifying.add(SPEC, name, "PASSED", {}, dry_run=True).recorded
    assert "last_result" not in node(name).metadata
    for number in range(12):
        result = "PASSED" if number % 2 else "FAILED"
        verifying.add(SPEC, name, result, {"notes": str(number), "output": ""})
    kept = node(name).metadata
    assert (kept["last_result"], len(kept["verification_history"])) == ("PASSED", 10)
    assert [one["notes"] for one in kept["verification_history"]][::9] == ["2", "11"]
    assert kept["last_verified_at"] == kept["verification_history"][-1]["timestamp"]
    for act in (
        lambda: verifying.add(SPEC, "task-1-1", "PASSED", {}),
        lambda: verifying.execute(SPEC, "task-1-1", TOLD.append),
    ):
        with pytest.raises(InvalidInput, match="no verification"):
            act()


def test_of_long_results_as_many_are_kept_as_fit(
    ada: Agent, verify: Callable[..., str], node: Look
) -> None:
    """The last one whole in any case."""
    name = verify()
    for number in range(9):
        said = {"output": f"{number}" * 10_000}
        ada.core.use(Verifying).add(SPEC, name, "PARTIAL", said)
    kept = node(name).metadata["verification_history"]
    assert [one["output"][0] for one in kept] == ["4", "5", "6", "7", "8"]
    assert kept[-1]["output"] == "8" * 10_000


def test_a_node_runs_its_own_command_and_leaves_a_receipt(
    ada: Agent, verify: Callable[..., str], node: Look
) -> None:
    name = verify(command="echo well")
    told: list[str] = []
    found = ada.core.use(Verifying).execute(SPEC, name, told.append)
    assert (found.result, found.recorded, found.command) == ("PASSED", False, "echo well")
    assert found.command_hash == hashlib.sha256(b"echo well").hexdigest()
    assert found.receipt is not None
    assert (found.receipt.exit_code, found.receipt.output.strip()) == (0, "well")
    assert found.receipt.item == node(name).item.id
    assert told[0] == "running echo well"
    assert "last_result" not in node(name).metadata
    again = ada.core.use(Verifying).execute(SPEC, name, told.append, command="echo well")
    assert again.result == "PASSED"
    failing = verify(command="false")
    kept = ada.core.use(Verifying).execute(SPEC, failing, told.append, record=True)
    assert (kept.result, kept.recorded) == ("FAILED", True)
    assert kept.receipt is not None
    (entry,) = node(failing).metadata["verification_history"]
    assert (entry["result"], entry["receipt"]) == ("FAILED", kept.receipt.id)


def test_a_command_runs_in_a_folder_of_the_worktree_however_it_is_named(
    ada: Agent, verify: Callable[..., str], repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Absolute, through a link or from a home that lies in it; the receipt has its path in the worktree."""
    (repository / "own/sub").mkdir(parents=True)
    (repository / "link").symlink_to("own/sub")
    monkeypatch.setenv("HOME", str(repository / "own"))
    name = verify(command="pwd")
    for said in ("own/sub", str(repository / "own/sub"), "link", "~/sub", "./own/./sub"):
        found = ada.core.use(Verifying).execute(SPEC, name, TOLD.append, folder=said)
        assert found.receipt is not None
        assert found.receipt.folder == "own/sub"
        assert found.receipt.output.strip() == str((repository / "own/sub").resolve())
    for said in ("..", "~root", "~there-is-nobody-of-this-name"):
        with pytest.raises((PathOutside, InvalidInput)):
            ada.core.use(Verifying).execute(SPEC, verify(), TOLD.append, folder=said)


def test_a_command_is_taken_only_where_a_node_has_none(
    ada: Agent, verify: Callable[..., str]
) -> None:
    """Without one it is for people; what only a shell understands is refused, as is a program that is not there."""
    verifying = ada.core.use(Verifying)
    own, free = verify(command="echo well"), verify()
    with pytest.raises(InvalidInput, match="a command of its own"):
        verifying.execute(SPEC, own, TOLD.append, command="echo other")
    assert verifying.execute(SPEC, free, TOLD.append, command="echo other").result == "PASSED"
    manual = verifying.execute(SPEC, free, TOLD.append, record=True)
    assert (manual.result, manual.recorded, manual.receipt) == ("manual", False, None)
    with pytest.raises(InvalidInput, match="needs a shell"):
        verifying.execute(SPEC, free, TOLD.append, command="echo a && echo b")
    with pytest.raises(ProgramMissing):
        verifying.execute(SPEC, free, TOLD.append, command="no-such-program")


def test_a_command_that_nobody_trusts_is_not_run(ada: Agent, verify: Callable[..., str]) -> None:
    """The refusal names what a person does."""
    name = verify(command="echo well")

    def strict(context: Context) -> Verifying:
        return Verifying(replace(context, ports=replace(context.ports, checking=Checking)))

    with pytest.raises(CommandNotAllowed, match="`echo well`") as refusal:
        ada.core.use(strict).execute(SPEC, name, TOLD.append)
    assert "counterpoint trust --allow" in refusal.value.hint_in(PHRASES)
