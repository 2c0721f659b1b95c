"""Trees that work is done in, each with a marker of what it is for.

A marker is a JSON object with `issue_id`, `identifier`, `project_id`, `path`, `branch` and `base`. A tree
is the right one if and only if (1) its marker can be read, (2) it names this project, (3) the item, if
one is asked for, (4) the path of this tree, and (5) the branch that the tree is on.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final, cast

from counterpoint.core.model.work import Item
from counterpoint.core.operations.recording.change import missing
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.rules.wording import spoken_of
from counterpoint.dialects.symphony.nouns.phases import Workspace
from counterpoint.kernel import canonical
from counterpoint.kernel.errors import Conflict, InvalidInput, NotFound, PathOutside

_LIMIT: Final = 20_000


class Workspaces:
    """Verbs for the trees that work is done in."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def open(self, item: str, marker: str, base: str = "", run: str = "") -> Workspace:
        """Mark the caller's tree as the one for an item, on the branch it is on; NotFound.

        marker: the name of the file. base: the branch the work goes back to; empty: the usual one.
        """
        root = self._context.caller.root
        evidence = self._context.ports.evidence
        snapshot = evidence.snapshot(root)
        with recording(self._context, "workspace.opened", item) as change:
            change.open_session()
            if change.find(Item, item) is None:
                raise missing(Item, item)
            opened = Workspace(
                path=str(root),
                item=item,
                identifier=spoken_of(item),
                branch=snapshot.branch,
                base=base,
            )
            change.add_facts(branch=opened.branch, run=run)
            written = {
                "issue_id": item,
                "identifier": opened.identifier,
                "project_id": self._context.project,
                "path": opened.path,
                "branch": opened.branch,
                "base": base,
                "run_id": run,
                "created_at": change.now,
            }
            evidence.save(root, marker, canonical.dump_any(written).encode() + b"\n")
        return opened

    def verify(self, marker: str, item: str = "") -> Workspace:
        """Return what the marker of the caller's tree says; Conflict if it is the wrong tree.

        The refusal carries the fact `workspace` and says how to get back.
        """
        root = self._context.caller.root
        here = str(root)
        try:
            content = self._context.ports.evidence.load(root, marker, _LIMIT)
            parsed: Any = canonical.load(content)
        except (NotFound, PathOutside) as fault:
            raise _lost(f"there is no marker {marker} in {here}", here) from fault
        except InvalidInput as fault:
            raise _lost(f"the marker {marker} in {here} cannot be read", here) from fault
        if not isinstance(parsed, dict):
            raise _lost(f"the marker {marker} in {here} is no JSON object", here)
        words = cast("dict[str, Any]", parsed)
        found = Workspace(
            path=str(words.get("path", "")),
            item=str(words.get("issue_id", "")),
            identifier=str(words.get("identifier", "")),
            branch=str(words.get("branch", "")),
            base=str(words.get("base", "")),
        )
        self._refuse_other(found, str(words.get("project_id", "")), item)
        return replace(found, path=here)

    def _refuse_other(self, found: Workspace, project: str, item: str) -> None:
        root = self._context.caller.root
        here = str(root)
        if project != self._context.project:
            raise _lost(f"{here} was opened for the project {project!r}", here)
        if item and found.item != item:
            raise _lost(f"{here} was opened for {found.identifier}, not {spoken_of(item)}", here)
        if Path(found.path) != root:
            raise _lost(f"the marker in {here} is that of {found.path}", found.path)
        branch = self._context.ports.evidence.snapshot(root).branch
        if branch != found.branch:
            raise _lost(
                f"{here} is on the branch {branch or '(none)'}, not {found.branch}",
                here,
                how=f"`git switch {found.branch}`",
            )


def _lost(problem: str, back: str, how: str = "") -> Conflict:
    """Return the refusal of a wrong tree, with the way back."""
    return Conflict(
        problem,
        hint=f"Recovery: run {how or f'`cd {back}`'} to return to your worktree. If that does not help,"
        " ask whoever started you to open the workspace again.",
        workspace=back,
    )
