"""Running commands here and keeping signed receipts: what opens a check gate."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from counterpoint.core.model.answers import Checked
from counterpoint.core.model.evidence import Command, Execution, Snapshot
from counterpoint.core.model.filters import Check
from counterpoint.core.model.journal import Receipt
from counterpoint.core.model.rows import Keep, Prose, Proses, image_of
from counterpoint.core.model.trust.checking import Lacking
from counterpoint.core.model.work import Area, Gate, Item, Project
from counterpoint.core.operations.claims import prove_claim, refuse_strangers, refuse_uncounted
from counterpoint.core.operations.recording.change import Change, mask_row, missing
from counterpoint.core.operations.recording.context import Context, Verbs
from counterpoint.core.operations.recording.links import shift
from counterpoint.core.operations.recording.moves import settle
from counterpoint.core.operations.recording.unallowed import refuse_untrusted, way_to_run
from counterpoint.core.operations.recording.unit import recording, transaction
from counterpoint.core.operations.trust.signing import LedgerSigning
from counterpoint.core.ports.evidence import CommandCancelled, Watch
from counterpoint.core.ports.store import Reading, Salted
from counterpoint.core.rules.areas import covers
from counterpoint.core.rules.evidence import files_text, snapshot_of, terms_of
from counterpoint.core.rules.trust.commands import is_listed, may_be_free
from counterpoint.kernel import canonical
from counterpoint.kernel.acts import Act
from counterpoint.kernel.errors import (
    CommandNotAllowed,
    CounterpointError,
    Forbidden,
    GateClosed,
    InvalidInput,
    NotFound,
    ProgramMissing,
    Unavailable,
)
from counterpoint.kernel.frozen import frozen

_SHOWN: Final = 300
_ATTEMPTS: Final = 3
"""How often a receipt is signed anew before it is kept without a signature of its own."""

_Run = tuple[str, Command, Execution, Snapshot]
"""What was run, for which gate, how it ended, and on which tree."""


class _Overtaken(Exception):
    """Ends a transaction whose receipts were signed under numbers or texts that are others by now."""


@frozen
class _Signed:
    """A receipt that was signed before its transaction, with the commitments of its texts.

    losses: how often texts had been taken away until then (recording/commitment_cache.py).
    """

    gate: str
    receipt: Receipt
    texts: Mapping[str, tuple[str, Salted]]
    losses: int


class Gates(Verbs):
    """Verbs for checks."""

    def verify(self, check: Check, token: int | None = None, watch: Watch | None = None) -> Checked:
        """Run commands and keep a signed receipt of each; a gate's own command moves the gate.

        All of them run before anything is written: nobody waits to write while a command runs.
        Raises NotFound for an item or gate, ProgramMissing, PathOutside, ClaimLost.
        """
        root = self._context.caller.root
        ran: list[_Run] = []
        orders = [(gate, self._allowed(order)) for gate, order in self._orders(check, token)]
        for gate, command in orders:
            ran.append((gate, command, *self._execute(root, command, watch, check.item)))
        receipts = tuple(self._land(check.item, token, ran))
        return Checked(receipts=receipts, passed=all(_passed(receipt) for receipt in receipts))

    def run(
        self, item: str, commands: Sequence[Command], watch: Watch | None = None
    ) -> list[Receipt | CounterpointError]:
        """Run commands that are no gate of the item; answer a signed receipt of each, or why it could not.

        All of them run before anything is written, as above.
        """
        root = self._context.caller.root
        ran: list[_Run | CounterpointError] = []
        for command in commands:
            try:
                ran.append(("", command, *self._execute(root, self._allowed(command), watch, item)))
            except (InvalidInput, ProgramMissing, Forbidden) as fault:
                ran.append(fault)
        done = [outcome for outcome in ran if not isinstance(outcome, CounterpointError)]
        receipts = iter(self._land(item, None, done))
        return [
            outcome if isinstance(outcome, CounterpointError) else next(receipts) for outcome in ran
        ]

    def _allowed(self, command: Command) -> Command:
        """Return a command as it is to be run; CommandNotAllowed, NotTrusted."""
        ports, caller = self._context.ports, self._context.caller
        if ports.checking is None:
            return command
        checking = ports.checking()
        with self._context.reading() as view:
            path = refuse_untrusted(self._context, view, checking, str(Act.SET_ASIDE))
        is_free = may_be_free(checking, caller.actor.principal, caller.scopes)
        if not (is_free or is_listed(checking, command.argv)):
            words = shlex.join(command.argv)[:_SHOWN]
            lacks = ", and this credential has no scope `run`" if checking.free else ""
            raise CommandNotAllowed(
                f"this project does not list the command `{words}`{lacks}",
                hint=way_to_run(Lacking(commands=(command.argv,))),
                command=words,
            )
        return replace(command, search_path=path)

    def _execute(
        self, root: Path, command: Command, watch: Watch | None, item: str
    ) -> tuple[Execution, Snapshot]:
        if watch is not None:
            watch(f"running {' '.join(command.argv)}")
        try:
            execution = self._context.ports.evidence.run(root, command, watch)
        except BaseException as fault:
            if isinstance(fault.__cause__, CommandCancelled):
                self._keep_cancelled(root, command, fault.__cause__.execution, item)
            raise
        # The tree after the command: that content is what the receipt vouches for.
        return execution, self._context.ports.evidence.snapshot(root)

    def _keep_cancelled(
        self, root: Path, command: Command, execution: Execution, item: str
    ) -> None:
        """Keep a receipt of a cancelled command that left something: nobody hears an answer, and no gate moves."""
        if execution.put_aside or execution.leftovers or execution.protected:
            snapshot = self._context.ports.evidence.snapshot(root)
            # What the caller hears is that it was cancelled, also where the claim was lost meanwhile.
            with suppress(CounterpointError):
                self._land(item, None, [("", command, execution, snapshot)])

    def _orders(self, check: Check, token: int | None) -> list[tuple[str, Command]]:
        with self._context.reading() as view:
            if (check.item or check.command is None) and view.find(Item, check.item) is None:
                raise missing(Item, check.item)
            if check.command is not None:
                if token is not None:
                    prove_claim(view, self._context.caller, check.item, token)
                return [("", check.command)]
            refuse_uncounted(view, self._context.caller, check.item, token)
            gates = view.select(Gate, item=check.item, kind="check", order="name")
        unknown = set(check.gates) - {gate.name for gate in gates}
        if unknown:
            names = ", ".join(gate.name for gate in gates) or "none"
            raise NotFound(
                f"{check.item} has no check gate {', '.join(sorted(unknown))}",
                hint=f"Its check gates are: {names}.",
            )
        if not gates:
            raise InvalidInput(
                f"{check.item} has no check",
                hint=f"{Act.GIVE_COMMAND}.",
            )
        chosen = [gate for gate in gates if not check.gates or gate.name in check.gates]
        return [(gate.name, Command(argv=gate.argv)) for gate in chosen]

    def _land(self, item: str, token: int | None, ran: Sequence[_Run]) -> list[Receipt]:
        """Sign receipts and keep them in one transaction; sign them anew if others took their numbers meanwhile."""
        # Nobody waits to write while a signer takes its time, so it is not asked again where the call has a transaction already.
        attempts = 0 if self._context.unit is not None else _ATTEMPTS
        while True:
            signed = self._signed(item, ran)
            with suppress(_Overtaken), transaction(self._context):
                return [
                    self._keep(item, token, signed_receipt, must=not attempts)
                    for signed_receipt in signed
                ]
            attempts -= 1

    def _keep(self, item: str, token: int | None, signed: _Signed, *, must: bool) -> Receipt:
        """Keep a receipt; one that is signed under another number is kept without, or raises _Overtaken."""
        with recording(self._context, "check.ran", item) as change:
            number, its_id = change.next_id(Receipt)
            is_good = (signed.receipt.id, signed.losses) == (
                its_id,
                self._context.ports.sharing.losses,
            )
            # Looked at before anything is written, so that the call can go on.
            if not (is_good or must):
                raise _Overtaken
            change.open_session()
            # Asked again: the claim may have been lost while the command ran.
            if signed.gate:
                refuse_uncounted(change.writing, self._context.caller, item, token)
            else:
                refuse_strangers(change, item, token)
            receipt = signed.receipt
            if is_good:
                change.adopt(signed.texts)
            else:
                receipt = replace(receipt, id=its_id, number=number, signature="")
            change.put(receipt)
            change.action = "check.passed" if _passed(receipt) else "check.failed"
            change.add_facts(receipt=receipt.id, exit_code=receipt.exit_code, gate=signed.gate)
            if signed.gate:
                _move_gate(change, item, signed.gate, receipt)
            return receipt

    def _signed(self, item: str, ran: Sequence[_Run]) -> list[_Signed]:
        """Return receipts as they will be if nobody is faster, each signed if it can be."""
        ports = self._context.ports
        with self._context.reading() as view:
            ports.sharing.follow(view, view.head().leaf)
            project, number = view.find(Project), view.last_number(Receipt)
        prefix = project.prefix if project else ""
        receipts: list[_Signed] = []
        for receipt_number, run in enumerate(ran, number + 1):
            texts: dict[str, tuple[str, Salted]] = {}
            losses = ports.sharing.losses

            def commit(text: str, texts: dict[str, tuple[str, Salted]] = texts) -> str:
                commitment = texts.get(text) or ports.sharing.commit(text, ports.mint)
                texts[text] = commitment
                return commitment[0]

            drafted = mask_row(self._receipt(receipt_number, prefix, item, *run), ports.secrets)
            receipt = self._sealed(drafted, commit)
            receipts.append(_Signed(gate=run[0], receipt=receipt, texts=texts, losses=losses))
        return receipts

    def _receipt(
        self,
        number: int,
        prefix: str,
        item: str,
        gate: str,
        command: Command,
        execution: Execution,
        snapshot: Snapshot,
    ) -> Receipt:
        return Receipt(
            project=self._context.project,
            id=f"{prefix}-{Receipt.letter}{number}",
            number=number,
            item=item,
            gate=gate,
            session=self._context.caller.actor.session,
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
            program=Prose(execution.program),
            program_sha256=execution.program_sha256,
            sandbox=execution.sandbox,
            terms=terms_of(command, execution),
            signature="",
        )

    def _sealed(self, receipt: Receipt, commit: Keep) -> Receipt:
        signed = signed_bytes(receipt, commit)
        try:
            signature = LedgerSigning(self._context).statement(signed)
        except Unavailable:
            # The signature of the ledger's end, which comes later, covers the receipt too.
            return receipt
        return replace(receipt, signature=signature.hex())


@frozen
class PassedChecks:
    """The receipts with which the checks of an item are met, by the names of those, and with any of them its areas."""

    areas: tuple[str, ...]
    receipts: tuple[tuple[str, Receipt], ...]


def passed_checks(view: Reading, item: str) -> PassedChecks:
    """Return the checks of an item that have passed, and what they are to watch."""
    gates = view.select(Gate, item=item, kind="check", status="met")
    if not gates:
        return PassedChecks(areas=(), receipts=())
    proofs = [(gate.name, view.find(Receipt, gate.proof)) for gate in gates]
    return PassedChecks(
        areas=tuple(area.pattern for area in view.select(Area, item=item)),
        receipts=tuple((name, receipt) for name, receipt in proofs if receipt is not None),
    )


def refuse_stale_word(context: Context, item: str, status: str) -> None:
    """Raise GateClosed if a status would hand in or end work that was edited after its checks passed.

    Every verb that takes such a word asks it before its transaction: nobody waits to write while git is asked.
    """
    with context.reading() as view:
        current = view.find(Item, item)
        if current is None or current.category in {"review", "done"}:
            return
        goal = current.states.named(status)
        category = current.states.categories.get(goal)
        if category not in {"review", "done"} or goal in current.states.skips:
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
