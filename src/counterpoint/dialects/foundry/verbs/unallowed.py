"""Commands of nodes that nobody has allowed."""

from __future__ import annotations

from collections.abc import Mapping

from counterpoint.core.model.trust.checking import Lacking
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.facets import attributes_of
from counterpoint.core.operations.recording.unallowed import find_unallowed_checks
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.planning.commands import command_of
from counterpoint.dialects.foundry.nouns.nodes import NodeType
from counterpoint.dialects.foundry.nouns.tasks import COMMAND
from counterpoint.dialects.foundry.rules.shape import text_of


def lacking_of_node(context: Context, view: Reading, item: str, kind: NodeType) -> Lacking | None:
    """Return the commands of a node that would be refused; None if none would, or it has none."""
    attributes = attributes_of(view, item) if kind == "verify" else {}
    return lacking_of_line(context, view, item, text_of(attributes.get(COMMAND)))


def lacking_of_line(context: Context, view: Reading, item: str, line: str) -> Lacking | None:
    """Return the same for the command line of a verification; empty without one."""
    argv, fault = command_of(line) if line.strip() else ((), "")
    own: Mapping[str, tuple[str, ...]] = {item: argv} if argv and not fault else {}
    return find_unallowed_checks(context, view, [item], own).get(item)
