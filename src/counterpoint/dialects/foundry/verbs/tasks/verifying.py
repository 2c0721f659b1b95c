"""Verifications: what was found is kept, and what a node asks for is run.

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
from counterpoint.dialects.foundry.verbs.queries import Nodes, spec_named
from counterpoint.dialects.foundry.verbs.tasks.moving import type_in
from counterpoint.kernel.canonical import Json, text_digest
from counterpoint.kernel.errors import CounterpointError, InvalidInput

HISTORY: Final = "verification_history"
LAST_RESULT: Final = "last_result"
LAST_AT: Final = "last_verified_at"
_KEPT: Final = 10
"""How many results a node keeps, if their texts are short."""
_OUTPUT: Final = 10_000
"""Characters of the output of a run that are kept with a node, its end: all of it is in the receipt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What a verification found: PASSED, FAILED, PARTIAL, or `manual` where nothing could be run.

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
        said: Mapping[str, str],
        *,
        dry_run: bool = False,
    ) -> Verified:
        """Keep what somebody found; said: texts beside it. NotFound, InvalidInput for what is no verification."""

        def act(context: Context) -> Verified:
            with recording(context, "verification.noted") as change:
                change.open_session()
                known, item = _verification(change, spec, verify)
                _keep(change, item, result, said)
                return Verified(
                    spec=known.spec,
                    id=known.id(item.id),
                    result=result,
                    recorded=not dry_run,
                    said=dict(said),
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
        """Run the command of a node here, and keep a signed receipt; record: keep what it found with the node too.

        command: only for a node that has none. folder: where it runs, below the caller's tree.
        Raises NotFound, InvalidInput, PathOutside, CommandNotAllowed, NotTrusted, ProgramMissing.
        """
        place = self._folder(folder)
        with self._context.reading() as view:
            known = Nodes(view, spec_named(view, spec))
            item = known.named(verify)
            name = known.id(item.id)
            _refuse_other_type(known, item)
            own = text_of(attributes_of(view, item.id).get(COMMAND))
        if own.strip() and command and command != own:
            raise InvalidInput(
                f"{name} has a command of its own: {quoted(own)}", hint="Leave `command` out."
            )
        line = own if own.strip() else command
        if not line.strip():
            return Verified(spec=known.spec, id=name, result="manual", recorded=False)
        argv, fault = command_of(line)
        if fault:
            raise InvalidInput(fault, hint="Mend the command of the node.")
        order = Command(argv=argv, folder=place)
        with joined(self._context):
            found = Gates(self._context).run(item.id, [order], watch)[0]
            if isinstance(found, CounterpointError):
                raise found
            result = "PASSED" if found.exit_code == 0 and not found.timed_out else "FAILED"
            if record:
                with recording(self._context, "verification.noted", item.id) as change:
                    said = {
                        "command": line,
                        "output": found.output[-_OUTPUT:],
                        "receipt": found.id,
                    }
                    _keep(change, change.get(Item, item.id), result, said)
        return Verified(
            spec=known.spec,
            id=name,
            result=result,
            recorded=record,
            command=line,
            command_hash=text_digest(line),
            receipt=found,
        )

    def _folder(self, said: str) -> str:
        """Return a folder that a caller names from the tree on, as every other tool takes it; the tree without one."""
        if not said:
            return "."
        found = self._context.ports.get(SpecsPlaces).within(said)
        return self._context.ports.evidence.contain(self._context.caller.root, str(found))


def _verification(change: Change, spec: str, verify: str) -> tuple[Nodes, Item]:
    known = Nodes(change.writing, spec_named(change.writing, spec))
    item = change.get(Item, known.named(verify).id)
    change.subject = item.id
    _refuse_other_type(known, item)
    return known, item


def _refuse_other_type(known: Nodes, item: Item) -> None:
    kind = type_in(known.view, item)
    if kind != "verify":
        raise InvalidInput(
            f"{known.id(item.id)} is a {kind}, and no verification",
            hint="Name a node of the type verify.",
        )


def _keep(change: Change, item: Item, result: str, said: Mapping[str, str]) -> None:
    now = str(change.now)
    entry: dict[str, Json] = {"timestamp": now, "result": result}
    entry.update((name, text) for name, text in said.items() if text)
    kept = items_of(attributes_of(change.writing, item.id).get(HISTORY))
    values: dict[str, Json] = {
        LAST_RESULT: result,
        LAST_AT: now,
        HISTORY: newest([*kept, entry], _KEPT),
    }
    set_attributes(change, item, values)
    change.add_facts(result=result)
