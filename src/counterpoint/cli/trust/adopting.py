"""Which repository a project belongs to: said by a person where the commits do not tell."""

from __future__ import annotations

import click

from counterpoint.cli.context import open_context, project_options
from counterpoint.cli.grouping import Group, examples
from counterpoint.cli.trust.confirming import confirm_act
from counterpoint.kernel.errors import InvalidInput


@click.group("project", cls=Group)
def project_command() -> None:
    """Say which repository a project belongs to."""


@project_command.command("adopt", epilog=examples("counterpoint project adopt --project api"))
@click.option("--json", "as_json", is_flag=True, help="Answer as JSON.")
@project_options
def adopt_command(as_json: bool, db: str | None, project: str | None) -> None:
    """Let the project belong to the repository you are in, too.

    For a person, after a history was rewritten, or where one project is that of several repositories. A project remembers
    the first commits of its repository, and refuses others in a shared database.
    """
    with open_context(as_json=as_json, db=db, project=project, from_anywhere=True) as context:
        sighting = context.app.sighting
        if sighting.why:
            raise InvalidInput(
                f"which repository this is is not known: {sighting.why}",
                hint="Repeat it in a full clone that has commits.",
            )
        before = context.core.projects.root_commits()
        proposed = context.core.projects.proposed_adoption(sighting.roots)
        is_same = set(sighting.roots) <= set(before)
        core = (
            context.core
            if is_same
            else confirm_act(
                context,
                lambda: proposed,
                lambda core: core.projects.adopt(sighting.roots),
            )
        )
        roots = core.projects.adopt(sighting.roots)
        name = context.app.project
        text = f"The project {name} belongs to this repository{' already' if is_same else ' now'}."
        context.out.result({"project": name, "roots": [*roots]}, text)
