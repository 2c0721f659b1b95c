"""Specs moved from folder to folder."""

from __future__ import annotations

from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import PHRASES, present
from counterpoint.dialects.foundry.nouns.nodes import Folder as FolderName
from counterpoint.dialects.foundry.nouns.specs import path_of
from counterpoint.dialects.foundry.rules.folders import MOVES, awaits_text, is_finished
from counterpoint.dialects.foundry.tools.sessions.words import LOCK
from counterpoint.dialects.foundry.verbs.lifecycle import Lifecycle
from counterpoint.dialects.foundry.verbs.specs import Specs
from counterpoint.dialects.foundry.words import PATH, Folder, Force, SpecId
from counterpoint.kernel.acts import Act
from counterpoint.kernel.canonical import Json
from counterpoint.protocol.actions import action, of_actions


def _moved(call: Call, spec: str, to: FolderName, *, force: bool = False) -> Json:
    moved = call.core.use(Lifecycle).move(spec, to, force=force)
    warnings = [f"{moved.spec} is {to} already"] if moved.before == to else []
    if moved.skipped:
        warnings.append(f"{moved.skipped} unfinished tasks were skipped")
    return present(
        {
            "spec_id": moved.spec,
            "from_folder": moved.before,
            "to_folder": moved.after,
            "old_path": path_of(moved.before, moved.spec),
            "new_path": path_of(moved.after, moved.spec),
        },
        warnings=warnings,
    )


@action(reads=False, plain=True)
def move(call: Call, spec_id: SpecId, to_folder: Folder) -> Json:
    """Bring a spec into a folder."""
    return _moved(call, spec_id, to_folder)


@action(reads=False, plain=True)
def activate(call: Call, spec_id: SpecId) -> Json:
    """Take a spec up: to active."""
    return _moved(call, spec_id, "active")


@action(reads=False)
def complete(call: Call, spec_id: SpecId, *, force: Force = False) -> Json:
    """All is done; force skips what is open."""
    return _moved(call, spec_id, "completed", force=force)


@action(reads=False)
def archive(call: Call, spec_id: SpecId) -> Json:
    """It will not be pursued."""
    return _moved(call, spec_id, "archived")


@action(reads=True)
def state(call: Call, spec_id: SpecId) -> Json:
    """Where it stands, and may go."""
    line = call.core.use(Specs).get(spec_id)
    tally, ways = line.tally, MOVES[line.folder]
    return present(
        {
            "spec_id": line.spec,
            "folder": line.folder,
            "status": line.status,
            "progress_percentage": round(100 * tally.completed / max(tally.total, 1), 2),
            "total_tasks": tally.total,
            "completed_tasks": tally.completed,
            "can_complete": is_finished(tally) and not line.awaiting and "completed" in ways,
            "can_archive": "archived" in ways,
        },
        warnings=[f"{awaits_text(line.awaiting)}; {PHRASES[Act.REVIEW]}"] if line.awaiting else (),
    )


lifecycle = of_actions(
    "lifecycle",
    "Move specs between folders.",
    (move, activate, complete, archive, state),
    beside={**PATH, **LOCK},
    aliases={"workspace": "path"},
)
