"""Credentials of agents at the command line: made and shown once, listed, revoked."""

from __future__ import annotations

import click

from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.grouping import Group, examples
from counterpoint.cli.local_time import local_time, time_heading
from counterpoint.cli.trust.confirming import EXPIRES, confirm_act, create_token, renew_token
from counterpoint.core.model.access import MAINTAIN, RUN, WORKS, Token, TokenRequest
from counterpoint.core.rules.access import is_in_force, parse_lifetime
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.client_session import CREDENTIAL
from counterpoint.kernel.clock import SystemClock


@click.group("agent", cls=Group)
def agent_command() -> None:
    """Manage credentials that identify agents.

    Make, list and revoke secrets that identify the agents of this machine.
    """


@agent_command.command("create", epilog=examples("counterpoint agent create ada --expires 30d"))
@click.argument("name")
@click.option(
    "--maintain", is_flag=True, help="Also allow it to waive gates and drop checks of others' work."
)
@click.option(
    "--run",
    "runs",
    is_flag=True,
    help="Also allow it to run commands that are not listed, if the project allows that.",
)
@EXPIRES
@with_context
def create(context: CommandContext, name: str, *, maintain: bool, runs: bool, expires: str) -> None:
    """Make a credential and print it once; only its SHA-256 is kept.

    Start one agent with it in the variable COUNTERPOINT_CREDENTIAL. It identifies that agent and every process that the
    agent starts, also in containers and below a common launcher.
    """
    request = TokenRequest(
        name=name,
        kind="agent",
        scopes=(*WORKS, *((RUN,) if runs else ()), *((MAINTAIN,) if maintain else ())),
        lasts_seconds=parse_lifetime(expires),
    )
    created = create_token(context, request)
    context.out.result({**_shown(created.token), "credential": created.secret}, created.secret)
    if not context.out.json:
        context.out.aside(
            f"{created.token.id} {name!r}: keep it now, it is not shown again."
            f" Give it to one agent, as {CREDENTIAL}, and never on a command line."
        )


@agent_command.command("list", epilog=examples("counterpoint agent list"))
@with_context
def list_(context: CommandContext) -> None:
    """List all credentials, without the secrets."""
    tokens = context.core.tokens.list("agent")
    context.out.rows(
        [_shown(token) for token in tokens],
        ("id", "name", "state", "may", time_heading("until")),
        [
            (
                token.id,
                token.name,
                _state(token),
                " ".join(token.scopes),
                local_time(token.revoked_at or token.expires_at),
            )
            for token in tokens
        ],
        aside="There is no credential. Make one with `counterpoint agent create NAME`.",
    )


@agent_command.command("renew", epilog=examples("counterpoint agent renew ada"))
@click.argument("which", metavar="ID|NAME")
@EXPIRES
@with_context
def renew(context: CommandContext, which: str, *, expires: str) -> None:
    """Let a credential last longer, or set when it ends.

    It keeps its secret, and the agent stays the same for the ledger. One that has ended is good again; one that was revoked stays revoked.
    """
    token = renew_token(context, which, "agent", parse_lifetime(expires))
    ends = f"lasts until {local_time(token.expires_at)}" if token.expires_at else "has no end"
    context.out.result(_shown(token), f"{token.id} {token.name!r} {ends}.")


@agent_command.command("revoke", epilog=examples("counterpoint agent revoke ada"))
@click.argument("which", metavar="ID|NAME")
@with_context
def revoke(context: CommandContext, which: str) -> None:
    """Revoke a credential; the next call with it is refused."""
    tokens = context.core.tokens
    core = confirm_act(
        context,
        lambda: tokens.proposed_revocation(which, "agent"),
        lambda core: core.tokens.revoke(which, "agent"),
        offers=False,
    )
    token = core.tokens.revoke(which, "agent")
    context.out.result(_shown(token), f"{token.id} {token.name!r} is revoked.")


def _state(token: Token) -> str:
    if token.revoked_at:
        return "revoked"
    return "live" if is_in_force(token, SystemClock().now()) else "expired"


def _shown(token: Token) -> dict[str, Json]:
    """Return what may be shown of a credential; not even the digest of its secret."""
    return {
        "id": token.id,
        "name": token.name,
        "state": _state(token),
        "scopes": list(token.scopes),
        "created_at": token.created_at,
        "expires_at": token.expires_at,
        "revoked_at": token.revoked_at,
    }
