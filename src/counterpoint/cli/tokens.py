"""Tokens at the command line: made and shown once, listed, revoked."""

from __future__ import annotations

from typing import Final

import click

from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.grouping import Group, RenamedOption, examples
from counterpoint.cli.local_time import local_time, time_heading
from counterpoint.cli.trust.confirming import EXPIRES, confirm_act, create_token, renew_token
from counterpoint.core.model.access import SCOPES, WORKS, Token, TokenRequest
from counterpoint.core.rules.access import (
    MOST_CALLS_A_MONTH,
    is_in_force,
    parse_lifetime,
    tool_limits_of,
)
from counterpoint.dialects import registry
from counterpoint.evidence.trust.local_token import LocalToken, local_token
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import SystemClock
from counterpoint.kernel.errors import InvalidInput, NotFound

LOCAL: Final = "local"
"""What the token of this account goes by, which no ledger has."""
_LOCAL_HINT: Final = "`counterpoint token local` prints it, and makes it unless it is there."


@click.group("token", cls=Group)
def token_command() -> None:
    """Manage tokens for HTTP clients.

    Clients of `counterpoint up` need one.
    """


@token_command.command(
    "create", epilog=examples("counterpoint token create ci --scope read --expires 30d")
)
@click.argument("name")
@click.option(
    "--dialect",
    "surfaces",
    cls=RenamedOption,
    before="--surface",
    metavar="NAME",
    multiple=True,
    help="Only this dialect; repeatable.",
)
@click.option(
    "--scope",
    type=click.Choice(SCOPES),
    default="write",
    show_default=True,
    help="What the token allows: to read, to write, to run commands, to maintain.",
)
@click.option("--tool", "tools", metavar="NAME", multiple=True, help="Only this one; repeatable.")
@EXPIRES
@click.option(
    "--ip",
    "networks",
    metavar="CIDR",
    multiple=True,
    help="Accept it only from this network; repeatable.",
)
@click.option("--rate", type=click.IntRange(1), metavar="N", help="The most calls a minute.")
@click.option(
    "--calls-a-month",
    type=click.IntRange(1, MOST_CALLS_A_MONTH),
    metavar="N",
    help="The most tool calls in a calendar month (UTC).",
)
@click.option(
    "--tool-limit",
    "tool_limits",
    metavar="NAME=N",
    multiple=True,
    help="The most calls of this tool a minute; repeatable.",
)
@with_context
def create(
    context: CommandContext,
    name: str,
    *,
    surfaces: tuple[str, ...],
    scope: str,
    tools: tuple[str, ...],
    expires: str,
    networks: tuple[str, ...],
    rate: int | None,
    calls_a_month: int | None,
    tool_limits: tuple[str, ...],
) -> None:
    """Make a token and print it once; only its SHA-256 is kept."""
    if name == LOCAL:
        raise InvalidInput(f"{LOCAL!r} is the name of this account's own token", hint=_LOCAL_HINT)
    _check_names(surfaces, (*tools, *tool_limits_of(tool_limits)))
    request = TokenRequest(
        name=name,
        surfaces=surfaces,
        scopes=(scope,),
        tools=tools,
        addresses=networks,
        calls_a_minute=rate or 0,
        lasts_seconds=parse_lifetime(expires),
        calls_a_month=calls_a_month or 0,
        tool_limits=tool_limits,
    )
    created = create_token(context, request)
    context.out.result({**_shown(created.token), "token": created.secret}, created.secret)
    if not context.out.json:
        context.out.aside(
            f"{created.token.id} {name!r}: keep it now, it is not shown again."
            " Send it as `Authorization: Bearer …`, never in an address."
        )


def _check_names(surfaces: tuple[str, ...], tools: tuple[str, ...]) -> None:
    """Refuse a surface or a tool that there is not; InvalidInput, NotFound."""
    meant = [registry.surface(name) for name in surfaces or registry.names()]
    names = {tool.name for surface in meant for tool in surface.tools}
    strange = sorted(set(tools) - names)
    if strange:
        raise InvalidInput(
            f"there is no tool {', '.join(repr(name[:60]) for name in strange)}",
            hint="See `counterpoint tools` for those there are.",
        )


@token_command.command("local", epilog=examples("counterpoint token local"))
@with_context
def local(context: CommandContext) -> None:
    """Print the token that clients of this account use with `counterpoint up`.

    It allows reading and writing, on this machine only, and is stored in a file that only this account can read. The
    command makes it if it does not exist.
    """
    local_token = _local(context)
    token = local_token.make()
    context.out.result({"token": token, "file": str(local_token.path)}, token)


@token_command.command("list", epilog=examples("counterpoint token list"))
@with_context
def list_(context: CommandContext) -> None:
    """List all tokens, without the secrets, and the file of this account's own."""
    tokens = context.core.tokens.list()
    used = {token.id: context.core.tokens.usage(token.id).used for token in tokens}
    rows, own = [_row(token) for token in tokens], _local(context)
    tokens_shown: list[Json] = [
        {**_shown(token), "calls_this_month": used[token.id]} for token in tokens
    ]
    if own.read():
        scopes: list[Json] = [*WORKS]
        own_fields = {"id": LOCAL, "name": LOCAL, "state": "live", "scopes": scopes}
        tokens_shown.append({**own_fields, "file": str(own.path)})
        rows.append((LOCAL, LOCAL, "live", " ".join(WORKS), "this machine and account", "", ""))
    context.out.rows(
        tokens_shown,
        ("id", "name", "state", "may", "only", "calls", time_heading("until")),
        rows,
        aside="There is no token. Make one with `counterpoint token create NAME`.",
    )


def _local(context: CommandContext) -> LocalToken:
    app = context.app
    return local_token(app.environ, app.place, app.project)


@token_command.command("renew", epilog=examples("counterpoint token renew ci"))
@click.argument("which", metavar="ID|NAME")
@EXPIRES
@with_context
def renew(context: CommandContext, which: str, *, expires: str) -> None:
    """Let a token last longer, or set when it ends.

    It keeps its secret, and whoever uses it stays the same for the ledger. One that has ended is good again; one that was revoked stays revoked.
    """
    token = renew_token(context, which, "caller", parse_lifetime(expires))
    ends = f"lasts until {local_time(token.expires_at)}" if token.expires_at else "has no end"
    context.out.result(_shown(token), f"{token.id} {token.name!r} {ends}.")


@token_command.command("revoke", epilog=examples("counterpoint token revoke ci"))
@click.argument("which", metavar="ID|NAME")
@with_context
def revoke(context: CommandContext, which: str) -> None:
    """Revoke a token; the next call with it is refused.

    The next start of `up`, or `token local`, makes a new `local` token.
    """
    tokens = context.core.tokens
    if which == LOCAL:
        if not _local(context).remove():
            raise NotFound("this account has no token here", hint=_LOCAL_HINT)
        context.out.result({"name": LOCAL, "state": "revoked"}, f"{LOCAL} is revoked.")
        return
    core = confirm_act(
        context,
        lambda: tokens.proposed_revocation(which),
        lambda core: core.tokens.revoke(which),
        offers=False,
    )
    token = core.tokens.revoke(which)
    context.out.result(_shown(token), f"{token.id} {token.name!r} is revoked.")


def _state(token: Token) -> str:
    if token.revoked_at:
        return "revoked"
    return "live" if is_in_force(token, SystemClock().now()) else "expired"


def _row(token: Token) -> tuple[str, ...]:
    limits = (*token.surfaces, *token.tools, *token.addresses, *token.tool_limits)
    minute = f"{token.calls_a_minute} a minute" if token.calls_a_minute else ""
    month = f"{token.calls_a_month} a month" if token.calls_a_month else ""
    rate = ", ".join(filter(None, (minute, month)))
    ends = local_time(token.revoked_at or token.expires_at)
    scopes = " ".join(token.scopes)
    return token.id, token.name, _state(token), scopes, " ".join(limits), rate, ends


def _shown(token: Token) -> dict[str, Json]:
    """Return what may be shown of a token; not even the digest of its secret."""
    return {
        "id": token.id,
        "name": token.name,
        "state": _state(token),
        "scopes": list(token.scopes),
        "surfaces": list(token.surfaces),
        "tools": list(token.tools),
        "addresses": list(token.addresses),
        "calls_a_minute": token.calls_a_minute,
        "calls_a_month": token.calls_a_month,
        "tool_limits": list(token.tool_limits),
        "session": token.session,
        "created_at": token.created_at,
        "expires_at": token.expires_at,
        "revoked_at": token.revoked_at,
    }
