"""Which commands of checks may be run: shown, allowed and trusted by people.

Rule 1: nobody trusts what he did not see: all of the file is shown, with what differs from what was trusted last, and then asked
about; where nobody can be asked it is only shown, and `--yes` is the answer. Rule 2: one more command is let be run at once, and nothing
else with it: the rest of the file must be what was trusted last, or loosen nothing. Rule 3: where any command may be run, no client's
settings let an agent have one run unasked: `init` wrote that for the commands that were allowed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from counterpoint.cli.checks.configured import (
    differences,
    lines_of_ledger,
    lines_of_models,
    lines_of_web,
    search_path,
    told,
    trust_text,
)
from counterpoint.cli.clients.approvals import settings_changes
from counterpoint.cli.clients.files import write
from counterpoint.cli.clients.toml import set_table
from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.grouping import examples
from counterpoint.cli.trust.confirming import confirm_act, refuse_undecidable
from counterpoint.cli.trust.signing import has_terminal
from counterpoint.core.coordinator import Core
from counterpoint.core.model.trust.checking import Checking
from counterpoint.core.model.work import Project
from counterpoint.core.rules.planning.attributes import command_of
from counterpoint.core.rules.trust.commands import ELSEWHERE
from counterpoint.evidence.replacing import replace_file
from counterpoint.evidence.running.configuration import NAME, TABLE, load_checking, read_text
from counterpoint.kernel.errors import Conflict, InvalidInput


@click.command(
    "trust", epilog=examples("counterpoint trust", "counterpoint trust --allow 'pytest *'")
)
@click.option(
    "--allow",
    "allowed",
    metavar="COMMAND",
    multiple=True,
    help="Also allow this command; repeatable.",
)
@click.option("--free/--no-free", default=None, help="Allow agents to run any command, or not.")
@click.option("--yes", is_flag=True, help="Trust the whole file as it is, without asking.")
@with_context
def trust_command(
    context: CommandContext, *, allowed: tuple[str, ...], free: bool | None, yes: bool
) -> int:
    """Review counterpoint.toml and allow what it says to run.

    The file takes effect only after a person trusts it.

    Until then, and after every change, Counterpoint runs no command that the file lists. Programs are found on the PATH of
    whoever trusted the file. A `*` at the end of a command matches any words. To take a command back, take it out of
    the file and run this again.
    """
    context.core.projects.refuse_older()
    home, project = context.app.places.home, context.core.items.project()
    before = read_text(home)
    more = [_words_of(one) for one in allowed]
    after = _edited(before, load_checking(before), more, free)
    checking, ledger = load_checking(after), lines_of_ledger(context.core)
    if allowed or free is not None:
        _refuse_unseen(context, load_checking(before), project, ledger)
    proposed = context.core.projects.proposed_trust(checking, search_path(context.app))
    is_same = (
        project.trusted == proposed.decision["digest"]
        and not ledger
        and not context.core.projects.why_not_trusted(checking)
    )
    signed = replace(
        proposed, shown={"says": "; ".join([*told(checking), *map(str.strip, ledger[1:])])}
    )

    def decide(core: Core) -> None:
        core.projects.trust(checking, search_path(context.app))

    if not (is_same or allowed or free is not None or yes):
        refuse_undecidable(context, lambda: signed, decide)
        if not _asked(context, checking, project, ledger):
            return 1
    core = context.core if is_same else confirm_act(context, lambda: signed, decide)
    trusted_project = trust_text(context.app, core, after)
    if after != before:
        replace_file(home / NAME, after.encode(), mode=0o644)
    lines = [*told(checking), *ledger, "It is trusted."]
    context.out.result(_shown(checking, trusted_project, ledger, counts=True), "\n".join(lines))
    if checking.free or free is not None:
        _settle_approvals(context, is_free=checking.free)
    return 0


def _settle_approvals(context: CommandContext, *, is_free: bool) -> None:
    """Take the approvals of tools that run checks out of the clients' settings, or put them back, and say so."""
    places = context.app.places
    for tree in dict.fromkeys((places.home, places.tree)):
        for edit in settings_changes(tree, is_free=is_free):
            name = edit.path.relative_to(tree)
            if edit.fault:
                context.out.aside(f"{name}: {edit.fault}. See by hand that it has {edit.by_hand}.")
            elif edit.after != edit.before:
                write(edit.path, edit.after)
                context.out.aside(
                    f"Took the approval of checks out of {name}: agents are asked before they have a command run."
                    if is_free
                    else f"Put the approval of checks back into {name}: agents have allowed commands run unasked."
                )


def _asked(
    context: CommandContext, checking: Checking, project: Project, ledger: list[str]
) -> bool:
    """Show what would count and what is other than before, and return whether a person says that it is to count."""
    changed_lines, out = differences(context.app, checking, project), context.out
    if out.json:
        counts = not context.core.projects.why_not_trusted(checking)
        out.answer(_shown(checking, project, ledger, counts=counts) | {"differs": changed_lines})
    else:
        for line in [*told(checking), *ledger]:
            out.line(line)
        if changed_lines:
            out.line()
            out.line("What differs from what was trusted last:")
            for line in changed_lines:
                out.line(f"  {line}")
    if out.json or not has_terminal():
        out.aside("Nothing was trusted. If all of this is to count: `counterpoint trust --yes`.")
        return False
    if click.confirm("Is all of this to count?", default=False, err=True):
        return True
    out.aside("Nothing was trusted.")
    return False


def _shown(
    checking: Checking, project: Project, ledger: list[str], *, counts: bool
) -> dict[str, Any]:
    return {
        "commands": [[*words] for words in checking.commands],
        "free": checking.free,
        "sandbox": checking.sandbox,
        "network": checking.network,
        "home": [*checking.home],
        "sockets": [*checking.sockets],
        "models": lines_of_models(checking.models),
        "web": lines_of_web(checking.web),
        "trusted": project.trusted,
        "ledger": ledger,
        "counts": counts,
    }


def _refuse_unseen(
    context: CommandContext, checking: Checking, project: Project, ledger: list[str]
) -> None:
    """Raise Conflict if more than this command asks for would come to count."""
    why = ELSEWHERE if ledger else context.core.projects.why_not_trusted(checking)
    if why:
        changes = "; ".join(
            [*differences(context.app, checking, project), *map(str.strip, ledger[1:])]
        )
        raise Conflict(
            f"{why}, and this would let all of it count: {changes}",
            hint="Look at it with `counterpoint trust`, which asks about the whole file; then repeat this.",
        )


def _words_of(text: str) -> tuple[str, ...]:
    """Return the words of a command; InvalidInput."""
    words, problem = command_of(text)
    if problem:
        raise InvalidInput(
            f"--allow {text!r}: {problem}",
            hint="Give a command as it is typed, in one pair of quotation marks.",
        )
    return words


def _edited(text: str, checking: Checking, more: list[tuple[str, ...]], free: bool | None) -> str:
    """Return the text of the file with further commands in it; MalformedDocument."""
    values: dict[str, Any] = {}
    if fresh := [words for words in more if words not in checking.commands]:
        values["commands"] = [[*words] for words in (*checking.commands, *fresh)]
    if free is not None and free != checking.free:
        values["free"] = free
    return set_table(text, (TABLE,), values) if values else text
