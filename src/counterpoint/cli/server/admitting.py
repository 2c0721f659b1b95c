"""Who may connect over HTTP, and by which names: decided once, at the start."""

from __future__ import annotations

from ipaddress import ip_address

import click

from counterpoint.app import App
from counterpoint.core.rules import access
from counterpoint.evidence.trust.local_token import LocalToken, local_token
from counterpoint.kernel.errors import Unavailable
from counterpoint.protocol.http.guards import LOOPBACK
from counterpoint.protocol.http.oauth import Issuer, KeySet


def open_issuer(issuer: str | None, audience: str | None, jwks: str | None) -> Issuer | None:
    """Return the OAuth server that options name, if they name one; wrong usage."""
    options = (issuer, audience, jwks)
    if not any(options):
        return None
    if not (issuer and audience and jwks):
        raise click.UsageError("--oauth-issuer, --oauth-audience and --jwks go together.")
    keys = KeySet(jwks)
    return Issuer(name=issuer, audience=audience, keys=keys)


def has_tokens(app: App) -> bool:
    """Return whether the ledger has a token that somebody can use now."""
    now, core = app.clock.now(), app.itself()
    return core.projects.is_trusted_here() and any(
        access.is_in_force(token, now) for token in core.tokens.list()
    )


def refuse_open_doors(host: str, names: tuple[str, ...], *, is_open: bool) -> None:
    """Refuse to be reached from elsewhere while nobody there could come in; wrong usage."""
    if is_open or (_is_near(host) and not names):
        return
    how = f"{host} can be reached" if not names else f"under the name {names[0]} it can be reached"
    raise click.UsageError(
        f"{how} from other machines, and nothing says who may come in."
        " Make a token with `counterpoint token create NAME`, or name an OAuth server with"
        " --oauth-issuer, --oauth-audience and --jwks."
    )


def open_local(app: App, *, is_needed: bool) -> LocalToken | None:
    """Return the token of this account, made unless it is there; Unavailable where nobody else could come in."""
    token = local_token(app.environ, app.place, app.project)
    try:
        token.make()
    except Unavailable:
        if is_needed:
            raise
        return None
    return token


def _is_near(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def own_names(host: str) -> tuple[str, ...]:
    """Return the names this server goes by: this machine's, and the address it was given."""
    try:
        address = ip_address(host)
    except ValueError:
        own = [host]
    else:
        name = f"[{address}]" if address.version == 6 else str(address)  # noqa: PLR2004 -- the version of the protocol
        own = [] if address.is_unspecified else [name]
    return tuple(dict.fromkeys([*LOOPBACK, *own]))
