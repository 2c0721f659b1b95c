"""Running commands here and keeping signed receipts: what opens a check gate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from counterpoint.core.model.answers import Checked
from counterpoint.core.model.evidence import Command, Execution, Snapshot
from counterpoint.core.model.filters import Check
from counterpoint.core.model.journal import Receipt
from counterpoint.core.model.rows import Keep, Prose, Proses, image_of
from counterpoint.core.model.work import Area, Gate, Item
from counterpoint.core.operations.claims import held, refuse_strangers
from counterpoint.core.operations.recording.change import Change, missing
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.links import shift
from counterpoint.core.operations.recording.moves import settle
from counterpoint.core.operations.recording.unit import joined, recording
from counterpoint.core.operations.trust.signing import Signing
from counterpoint.core.ports.evidence import Watch
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.areas import covers
from counterpoint.core.rules.evidence import files_text, snapshot_of
from counterpoint.kernel import canonical
from counterpoint.kernel.acts import Act
from counterpoint.kernel.errors import (
    CounterpointError,
    GateClosed,
    InvalidInput,
    NotFound,
    ProgramMissing,
    Unavailable,
)


class Gates:
    """Verbs for checks."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def verify(self, check: Check, token: int | None = None, watch: Watch | None = None) -> Checked:
        """Run commands and keep a signed receipt of each; a gate's own command moves the gate.

        All of them run before anything is written: nobody waits to write while a command runs.
        Raises NotFound for an item or gate, ProgramMissing, PathOutside, ClaimLost.
        """
        root = self._context.caller.root
        ran: list[tuple[str, Command, Execution, Snapshot]] = []
        for gate, command in self._orders(check, token):
            ran.append((gate, command, *self._execute(root, command, watch)))
        with joined(self._context):
            receipts = tuple(self._keep(check.item, token, *one) for one in ran)
        return Checked(receipts=receipts, passed=all(_passed(receipt) for receipt in receipts))

    def run(
        self, item: str, commands: Sequence[Command], watch: Watch | None = None
    ) -> list[Receipt | CounterpointError]:
        """Run commands that are no gate of the item; answer a signed receipt of each, or why it could not.

        All of them run before anything is written, as above.
        """
        root = self._context.caller.root
        ran: list[tuple[str, Command, Execution, Snapshot] | CounterpointError] = []
        for command in commands:
            try:
                ran.append(("", command, *self._execute(root, command, watch)))
            except (InvalidInput, ProgramMissing) as fault:
                ran.append(fault)
        with joined(self._context):
            return [
                one if isinstance(one, CounterpointError) else self._keep(item, None, *one)
                for one in ran
            ]

    def _execute(
        self, root: Path, command: Command, watch: Watch | None
    ) -> tuple[Execution, Snapshot]:
        if watch is not None:
            watch(f"running {' '.join(command.argv)}")
        execution = self._context.ports.evidence.run(root, command, watch)
        # The tree after the command: that content is what the receipt vouches for.
        return execution, self._context.ports.evidence.snapshot(root)

    def _orders(self, check: Check, token: int | None) -> list[tuple[str, Command]]:
        with self._context.reading() as view:
            if (check.item or check.command is None) and view.find(Item, check.item) is None:
                raise missing(Item, check.item)
            if token is not None:
                held(view, self._context.caller.actor.session, check.item, token)
            if check.command is not None:
                return [("", check.command)]
            gates = view.select(Gate, item=check.item, kind="check", order="name")
        unknown = set(check.gates) - {gate.name for gate in gates}
        if unknown:
            known = ", ".join(gate.name for gate in gates) or "none"
            raise NotFound(
                f"{check.item} has no check gate {', '.join(sorted(unknown))}",
                hint=f"Its check gates are: {known}.",
            )
        if not gates:
            raise InvalidInput(
                f"{check.item} has no check gate",
                hint=f"{Act.GIVE_COMMAND}.",
            )
        wanted = [gate for gate in gates if not check.gates or gate.name in check.gates]
        return [(gate.name, Command(argv=gate.argv)) for gate in wanted]

    def _keep(
        self,
        item: str,
        token: int | None,
        gate: str,
        command: Command,
        execution: Execution,
        snapshot: Snapshot,
    ) -> Receipt:
        with recording(self._context, "check.ran", item) as change:
            session = change.open_session()
            # Asked again: the claim may have been lost while the command ran.
            refuse_strangers(change, item, token)
            draft = self._receipt(change, item, gate, command, execution, snapshot)
            receipt = self._signed(change, change.masked(replace(draft, session=session)))
            change.put(receipt)
            change.action = "check.passed" if _passed(receipt) else "check.failed"
            change.add_facts(receipt=receipt.id, exit_code=receipt.exit_code, gate=gate)
            if gate:
                _move_gate(change, item, gate, receipt)
            return receipt

    def _receipt(
        self,
        change: Change,
        item: str,
        gate: str,
        command: Command,
        execution: Execution,
        snapshot: Snapshot,
    ) -> Receipt:
        number, its_id = change.next_id(Receipt)
        return Receipt(
            project=self._context.project,
            id=its_id,
            number=number,
            item=item,
            gate=gate,
            session="",
            agent=self._context.caller.actor.name,
            argv=Proses(command.argv),
            folder=command.folder,
            command_sha256=Prose(canonical.sha256(canonical.dump([command.folder, *command.argv]))),
            exit_code=execution.exit_code,
            timed_out=execution.timed_out,
            output=Prose(execution.output),
            output_sha256=Prose(execution.output_sha256),
            output_bytes=execution.output_bytes,
            method=snapshot.method,
            commit=snapshot.commit,
            files=Prose(files_text(snapshot)),
            started_at=execution.started_at,
            ended_at=execution.ended_at,
            signature="",
        )

    def _signed(self, change: Change, receipt: Receipt) -> Receipt:
        try:
            signature = Signing(self._context).statement(signed_bytes(receipt, change.commit))
        except Unavailable:
            # The signature of the ledger's end, which comes later, covers the receipt too.
            return receipt
        return replace(receipt, signature=signature.hex())


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedChecks:
    """The areas of an item, and the receipts with which its checks are met, by the names of those."""

    areas: tuple[str, ...]
    receipts: tuple[tuple[str, Receipt], ...]


def passed_checks(view: Reading, item: str) -> PassedChecks:
    """Return the checks of an item that have passed, and what they are to watch."""
    gates = view.select(Gate, item=item, kind="check", status="met")
    found = [(gate.name, view.find(Receipt, gate.proof)) for gate in gates]
    return PassedChecks(
        areas=tuple(area.pattern for area in view.select(Area, item=item)),
        receipts=tuple((name, receipt) for name, receipt in found if receipt is not None),
    )


def refuse_stale_word(context: Context, item: str, status: str) -> None:
    """Raise GateClosed if a status would hand in or end work that was edited after its checks passed.

    Every verb that takes such a word asks it before its transaction: nobody waits to write while git is asked.
    """
    with context.reading() as view:
        found = view.find(Item, item)
        if found is None or found.category in {"review", "done"}:
            return
        goal = found.states.named(status)
        category = found.states.categories.get(goal)
        if category not in {"review", "done"} or goal in found.states.skips:
            return
        passed = passed_checks(view, item)
    refuse_stale(context, item, passed)


def refuse_stale(context: Context, item: str, passed: PassedChecks) -> None:
    """Raise GateClosed for a check that passed before the last edit inside the item's areas.

    Without areas others' edits in the same tree could not be told from the caller's own.
    """
    evidence, root = context.ports.evidence, context.caller.root
    for name, receipt in passed.receipts if passed.areas else ():
        edited = [
            change.path
            for change in evidence.compare(root, snapshot_of(receipt)).changes
            if any(covers(area, change.path) for area in passed.areas)
        ]
        if edited:
            raise GateClosed(
                f"gate {name} of {item} passed before the last edit of {edited[0]}",
                hint=f"{Act.VERIFY} on the tree as it is now.",
                edited=edited[:20],
            )


def signed_bytes(receipt: Receipt, commit: Keep) -> bytes:
    """Return what a receipt's signature is over: its row image without the signature (docs/proofs.md).

    commit: answers the commitment of each of its texts.
    """
    image = image_of(receipt, commit)
    del image["signature"]
    # With a name before it, so that what is signed here is nothing else that the key signs.
    return b"counterpoint receipt v1\n" + canonical.dump(image)


def _passed(receipt: Receipt) -> bool:
    return receipt.exit_code == 0 and not receipt.timed_out


def _move_gate(change: Change, item: str, name: str, receipt: Receipt) -> None:
    """Open or close a gate by what its command has just said."""
    gate = change.find(Gate, item, name)
    # Somebody may have changed the gate while its command ran.
    if gate is None or gate.argv != receipt.argv or gate.status == "waived":
        return
    status = "met" if _passed(receipt) else "closed"
    change.put(gate.moved(status, change.now, proof=receipt.id))
    if gate.holds == "start" and status != gate.status:
        shift(change, change.get(Item, item), -1 if status == "met" else 1)
    if status == "met":
        settle(change, item)
