"""Trees that work is done in, each with a marker of what it is for.

A marker is a JSON object with `issue_id`, `identifier`, `project_id`, `path`, `branch` and `base`. A tree
is the right one if and only if (1) its marker can be read, (2) it names this project, (3) the item, if
one is asked for, (4) the path of this tree, and (5) the branch that the tree is on.
"""

from __future__ import annotations

from dataclasses import replace
from os.path import normpath
from pathlib import Path
from typing import Any, Final, cast

from counterpoint.core.ledger.entry import Entry
from counterpoint.core.model.work import Item
from counterpoint.core.operations.recording.change import missing
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.handover import tree_of
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.rules.wording import spoken_of
from counterpoint.dialects.symphony.nouns import Workspace
from counterpoint.kernel import canonical
from counterpoint.kernel.errors import Conflict, InvalidInput, NotFound, PathOutside

_LIMIT: Final = 20_000
_OPENED: Final = "workspace.opened"


class Workspaces(Verbs):
    """Verbs for the trees that work is done in."""

    def open(self, item: str, marker: str, base: str = "", run: str = "") -> Workspace:
        """Mark the caller's tree as the one for an item, on the branch it is on; NotFound.

        marker: the name of the file. base: the branch the work goes back to; empty: the usual one.
        """
        root = self._context.caller.root
        evidence = self._context.ports.evidence
        snapshot = evidence.snapshot(root)
        evidence.keep_out(root, marker)
        with recording(self._context, _OPENED, item) as change:
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
            change.add_facts(branch=opened.branch, run=run, tree=tree_of(self._context.caller))
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
        tree, back = str(root), self._opened_for(item)
        try:
            content = self._context.ports.evidence.load(root, marker, _LIMIT)
            parsed: Any = canonical.load(content)
        except (NotFound, PathOutside) as fault:
            raise _wrong_tree(f"there is no marker {marker} in {tree}", tree, back) from fault
        except InvalidInput as fault:
            raise _wrong_tree(
                f"the marker {marker} in {tree} cannot be read", tree, back
            ) from fault
        if not isinstance(parsed, dict):
            raise _wrong_tree(f"the marker {marker} in {tree} is no JSON object", tree, back)
        words = cast("dict[str, Any]", parsed)
        workspace = Workspace(
            path=str(words.get("path", "")),
            item=str(words.get("issue_id", "")),
            identifier=str(words.get("identifier", "")),
            branch=str(words.get("branch", "")),
            base=str(words.get("base", "")),
        )
        self._refuse_other(workspace, str(words.get("project_id", "")), item, back)
        return replace(workspace, path=tree)

    def _opened_for(self, item: str) -> str:
        """Return the tree that was opened last for an item; empty if none was, or no item is named."""
        with self._context.reading() as view:
            sequences = view.sequences(subject=item, action=_OPENED, limit=1) if item else ()
            for sequence in sequences:
                entry = Entry.from_bytes(next(view.entries(sequence, sequence + 1)))
                return normpath(self._context.caller.main_tree / str(entry.facts.get("tree", "")))
        return ""

    def _refuse_other(self, workspace: Workspace, project: str, item: str, back: str) -> None:
        root = self._context.caller.root
        tree = str(root)
        if project != self._context.project:
            raise _wrong_tree(f"{tree} was opened for the project {project!r}", tree, back)
        if item and workspace.item != item:
            raise _wrong_tree(
                f"{tree} was opened for {workspace.identifier}, not {spoken_of(item)}", tree, back
            )
        if Path(workspace.path) != root:
            raise _wrong_tree(
                f"the marker in {tree} is that of {workspace.path}", tree, back or workspace.path
            )
        branch = self._context.ports.evidence.snapshot(root).branch
        if branch != workspace.branch:
            raise _wrong_tree(
                f"{tree} is on the branch {branch or '(none)'}, not {workspace.branch}",
                tree,
                tree,
                how=f"run `git switch {workspace.branch}`",
            )


def _wrong_tree(problem: str, tree: str, back: str, how: str = "") -> Conflict:
    """Return the refusal of a wrong tree, with the way to the right one; `back` is empty if there is none."""
    again = "have whoever started you mark the tree: `counterpoint workspace open`"
    if not how and back and back != tree:
        how = f"run `cd {back}`"
    return Conflict(
        problem,
        hint=f"Recovery: {f'{how} to return to your worktree. If that does not help, ' if how else ''}{again}.",
        workspace=back or tree,
    )
