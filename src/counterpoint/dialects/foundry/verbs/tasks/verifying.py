"""Verifications: results are stored, and commands of nodes are run.

Rules: (1) a node's own command is run, and another only where the node has none. (2) It runs under the project's rules for
commands, without a shell, and leaves a signed receipt. (3) A node without a command is for people: it says `manual`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from counterpoint.core.model.evidence import Command
from counterpoint.core.model.journal import Receipt
from counterpoint.core.model.work import Item
from counterpoint.core.operations.gates import Gates
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.facets import attributes_of, set_attributes
from counterpoint.core.operations.recording.unit import joined, recording
from counterpoint.core.ports.evidence import Watch
from counterpoint.core.rules.planning.commands import command_of
from counterpoint.dialects.foundry.nouns.tasks import COMMAND
from counterpoint.dialects.foundry.places import SpecsPlaces
from counterpoint.dialects.foundry.rules.shape import items_of, quoted, text_of
from counterpoint.dialects.foundry.rules.working.keeping import newest
from counterpoint.dialects.foundry.verbs.performing import perform
from counterpoint.dialects.foundry.verbs.queries import Nodes, get_spec
from counterpoint.dialects.foundry.verbs.tasks.moving import type_in
from counterpoint.kernel.canonical import Json, text_digest
from counterpoint.kernel.errors import CounterpointError, InvalidInput

HISTORY: Final = "verification_history"
LAST_RESULT: Final = "last_result"
LAST_AT: Final = "last_verified_at"
_MAX_RESULTS: Final = 10
"""Results that a node keeps, if their texts are short."""
_OUTPUT_CHARS: Final = 10_000
"""Characters at the end of a run's output that are stored with a node; the receipt has all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """The result of a verification: PASSED, FAILED, PARTIAL, or `manual` where nothing could be run.

    command_hash: SHA-256 of the text of the command. receipt: None where nothing was run.
    """

    spec: str
    id: str
    result: str
    recorded: bool
    command: str = ""
    command_hash: str = ""
    receipt: Receipt | None = None
    said: Mapping[str, Json] = field(default_factory=dict[str, Json])


class Verifying:
    """Verbs for verification nodes."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def add(
        self,
        spec: str,
        verify: str,
        result: str,
        texts: Mapping[str, str],
        *,
        dry_run: bool = False,
    ) -> Verified:
        """Store a reported result; texts: fields beside it. NotFound, InvalidInput for a node that is no verification."""

        def act(context: Context) -> Verified:
            with recording(context, "verification.noted") as change:
                change.open_session()
                nodes, item = _get_verification(change, spec, verify)
                _store_result(change, item, result, texts)
                return Verified(
                    spec=nodes.spec,
                    id=nodes.id(item.id),
                    result=result,
                    recorded=not dry_run,
                    said=dict(texts),
                )

        return perform(self._context, act, dry_run=dry_run)

    def execute(
        self,
        spec: str,
        verify: str,
        watch: Watch,
        *,
        command: str = "",
        folder: str = "",
        record: bool = False,
    ) -> Verified:
        """Run the command of a node here, and store a signed receipt; record: store the result with the node too.

        command: only for a node that has none. folder: where it runs, below the caller's tree.
        Raises NotFound, InvalidInput, PathOutside, CommandNotAllowed, NotTrusted, ProgramMissing.
        """
        workdir = self._resolve_folder(folder)
        with self._context.reading() as view:
            nodes = Nodes(view, get_spec(view, spec))
            item = nodes.get(verify)
            name = nodes.id(item.id)
            _refuse_other_type(nodes, item)
            own = text_of(attributes_of(view, item.id).get(COMMAND))
        if own.strip() and command and command != own:
            raise InvalidInput(
                f"{name} has a command of its own: {quoted(own)}", hint="Leave `command` out."
            )
        line = own if own.strip() else command
        if not line.strip():
            return Verified(spec=nodes.spec, id=name, result="manual", recorded=False)
        argv, fault = command_of(line)
        if fault:
            raise InvalidInput(fault, hint="Mend the command of the node.")
        order = Command(argv=argv, folder=workdir)
        with joined(self._context):
            receipt = Gates(self._context).run(item.id, [order], watch)[0]
            if isinstance(receipt, CounterpointError):
                raise receipt
            result = "PASSED" if receipt.exit_code == 0 and not receipt.timed_out else "FAILED"
            if record:
                with recording(self._context, "verification.noted", item.id) as change:
                    texts = {
                        "command": line,
                        "output": receipt.output[-_OUTPUT_CHARS:],
                        "receipt": receipt.id,
                    }
                    _store_result(change, change.get(Item, item.id), result, texts)
        return Verified(
            spec=nodes.spec,
            id=name,
            result=result,
            recorded=record,
            command=line,
            command_hash=text_digest(line),
            receipt=receipt,
        )

    def _resolve_folder(self, folder: str) -> str:
        """Resolve a folder that a caller names relative to the tree, as every other tool takes it; the tree without one."""
        if not folder:
            return "."
        path = self._context.ports.get(SpecsPlaces).within(folder)
        return self._context.ports.evidence.contain(self._context.caller.root, str(path))


def _get_verification(change: Change, spec: str, verify: str) -> tuple[Nodes, Item]:
    nodes = Nodes(change.writing, get_spec(change.writing, spec))
    item = change.get(Item, nodes.get(verify).id)
    change.subject = item.id
    _refuse_other_type(nodes, item)
    return nodes, item


def _refuse_other_type(nodes: Nodes, item: Item) -> None:
    kind = type_in(nodes.view, item)
    if kind != "verify":
        raise InvalidInput(
            f"{nodes.id(item.id)} is a {kind}, and no verification",
            hint="Name a node of the type verify.",
        )


def _store_result(change: Change, item: Item, result: str, texts: Mapping[str, str]) -> None:
    now = str(change.now)
    entry: dict[str, Json] = {"timestamp": now, "result": result}
    entry.update((name, text) for name, text in texts.items() if text)
    history = items_of(attributes_of(change.writing, item.id).get(HISTORY))
    values: dict[str, Json] = {
        LAST_RESULT: result,
        LAST_AT: now,
        HISTORY: newest([*history, entry], _MAX_RESULTS),
    }
    set_attributes(change, item, values)
    change.add_facts(result=result)
