"""What a project asks of work, kept where no agent's memory reaches."""

from __future__ import annotations

from typing import Final

from counterpoint.core.model.journal import StateEntry
from counterpoint.core.model.rows import Prose, load_object
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.contributions import relax_project
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.symphony.nouns import (
    GATES_LIMIT,
    INSTRUCTIONS_LIMIT,
    GateCommand,
    Policy,
    PolicyEdit,
)
from counterpoint.dialects.symphony.rules.risk import argv_of, list_relaxed_parts, thresholds_of
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput

_SCOPE: Final = "settings"
_NAME: Final = "policy"


class Policies(Verbs):
    """Verbs for what a project asks of work."""

    def get(self) -> Policy:
        """Return what the project asks; what nobody has set is the default."""
        with self._context.reading() as view:
            return policy_of(view)

    def edit(self, edit: PolicyEdit) -> Policy:
        """Change the parts that are named; InvalidInput if none is, or one cannot be so.

        Forbidden to lessen what is asked once work has begun, but for a person or a maintainer.
        """
        parts = _parts(edit)
        if not parts and not edit.instructions:
            raise InvalidInput("nothing is to be changed", hint="Name at least one setting.")
        _refuse_faults(edit)
        with recording(self._context, "policy.changed") as change:
            change.open_session()
            before = change.find(StateEntry, _SCOPE, _NAME)
            stored = load_object(before.value) if before else {}
            current = policy_of(change.writing)
            if less := list_relaxed_parts(current, edit):
                relax_project(change, f"lessen the {' and '.join(less)} of")
                change.add_facts(loosened=less)
            if edit.instructions:
                parts["instructions"] = {**stored.get("instructions", {}), **edit.instructions}
            entry = StateEntry(
                project=self._context.project,
                scope=_SCOPE,
                name=_NAME,
                value=Prose(canonical.dump_any({**stored, **parts})),
                version=before.version + 1 if before else 1,
                agent=self._context.caller.actor.name,
                updated_at=change.now,
                category=_SCOPE,
                description=Prose(""),
            )
            change.put(entry)
            change.add_facts(parts=sorted(parts))
            return policy_of(change.writing)


def policy_of(view: Reading) -> Policy:
    """Return what a project asks of work."""
    entry = view.find(StateEntry, _SCOPE, _NAME)
    stored = load_object(entry.value) if entry else {}
    plain = Policy()
    return Policy(
        gates=tuple(GateCommand(**gate) for gate in stored.get("gates", ())),
        sensitive_paths=tuple(stored.get("sensitive_paths", ())),
        thresholds=stored.get("thresholds", {}),
        instructions=stored.get("instructions", {}),
        phases=tuple(stored.get("phases", plain.phases)),
    )


def _parts(edit: PolicyEdit) -> dict[str, Json]:
    parts: dict[str, Json] = {}
    if edit.gates is not None:
        parts["gates"] = [
            {"command": gate.command, "label": gate.label, "required": gate.required}
            for gate in edit.gates
        ]
    if edit.sensitive_paths is not None:
        parts["sensitive_paths"] = list(edit.sensitive_paths)
    if edit.thresholds is not None:
        parts["thresholds"] = dict(edit.thresholds)
    if edit.phases is not None:
        parts["phases"] = list(edit.phases)
    return parts


def _command_fault(gate: GateCommand) -> str:
    """Return why a command could not be run; empty if it could."""
    try:
        argv_of(gate.command)
    except InvalidInput as fault:
        return f"gate {gate.label!r}: {fault.message}"
    return ""


def _refuse_faults(edit: PolicyEdit) -> None:
    faults: list[str] = []
    if len(edit.gates or ()) > GATES_LIMIT:
        faults.append(f"there are more than {GATES_LIMIT} gates")
    faults += [fault for gate in edit.gates or () if (fault := _command_fault(gate))]
    faults += [
        f"the instructions for the {role} have more than {INSTRUCTIONS_LIMIT} characters"
        for role, text in edit.instructions.items()
        if len(text) > INSTRUCTIONS_LIMIT
    ]
    if edit.phases is not None and (not edit.phases or len(set(edit.phases)) < len(edit.phases)):
        faults.append("phases are at least one, and each once")
    if faults:
        raise InvalidInput("; ".join(faults), faults=faults)
    if edit.thresholds is not None:
        thresholds_of(edit.thresholds)
