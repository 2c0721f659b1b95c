"""Tokens: made once, listed without their secret, revoked, met and counted.

What is taken of a month's calls is kept beside the ledger. Use is no state of the work: nobody plans by
it and nothing is proved by it. So it has no entry, is not replayed, and is counted some calls at a time:
whoever serves takes some calls ahead and spends them in memory. No month ever has more calls than it
may; a process that dies loses those it had taken.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Collection
from dataclasses import replace
from typing import Any, Final

from counterpoint.core.model.access import (
    MAINTAIN,
    SECRET_PREFIX,
    Actor,
    Bearer,
    CallIdentity,
    DraftToken,
    Issued,
    Principal,
    Token,
    TokenKind,
    TokenRequest,
    Usage,
)
from counterpoint.core.model.identity import (
    Attested,
    Connection,
    Key,
    Origin,
    Peer,
    ProposedAct,
)
from counterpoint.core.model.sessions import Session
from counterpoint.core.operations.recording.authority import (
    refuse_agent,
    refuse_unsigned_act,
    way_past_doubt,
    why_no_person,
)
from counterpoint.core.operations.recording.change import Change, missing
from counterpoint.core.operations.recording.connection_sessions import find_latest_session, seat_of
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.unallowed import refuse_elsewhere, why_elsewhere
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules import access
from counterpoint.core.rules.claims import principal_id_of
from counterpoint.core.rules.identity import (
    candidates,
    connection_of,
    doubt_of,
    principal_of,
    refresh_connection,
    unseen_caller,
)
from counterpoint.core.rules.sessions import may_write
from counterpoint.kernel.acts import Act
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp, elapsed_ms, later
from counterpoint.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from counterpoint.kernel.ids import Mint

_BYTES = 32
_PREFIXES: Final[dict[TokenKind, str]] = {"caller": "tok", "agent": "agt"}


class Identities(Verbs):
    """Verbs for finding out who calls."""

    def attest(self, peer: Peer, connected: Collection[str] = (), credential: str = "") -> Attested:
        """Return who stands behind the caller's connection, or why nothing attests anybody.

        connected: who was seen to connect without a credential, and may have written nothing. credential: the
        secret that the caller was given; Forbidden for one that is not in force, that an agent made for
        itself, or that comes from below a server. Nothing is written: a connection that only reads leaves no trace.
        """
        possible = tuple(candidates(peer))
        with self._context.reading() as view:
            token = self._credential(view, credential, peer) if credential else None
            signer = token.maker if token and view.find(Key, token.maker) else ""
            connections = view.select(Connection, id=possible) if possible else []
        process = principal_of(peer, {*connected, *(connection.id for connection in connections)})
        stored = next(
            (connection for connection in connections if process and connection.id == process.id),
            None,
        )
        connection = self._connection(peer, process, stored) if process else None
        doubt = None if process else doubt_of(peer)
        origin = Origin(
            boot=peer.boot,
            process=connection,
            doubt=doubt,
            unseen=self._unseen(peer) if peer.is_covered else None,
        )
        if token is None:
            return Attested(principal=process, connection=connection, origin=origin)
        if token.maker in possible and token.maker in connected:
            raise Forbidden(
                f"the credential {token.name!r} was made by the agent that brings it",
                hint="Have a person make it, or go on without COUNTERPOINT_CREDENTIAL.",
            )
        return Attested(
            principal=Principal(strength="credential", id=token.id),
            connection=connection,
            name=token.name,
            scopes=frozenset(token.scopes),
            origin=origin,
            vouched_by=signer,
        )

    def _connection(self, peer: Peer, process: Principal, stored: Connection | None) -> Connection:
        caller = self._context.caller
        seen = connection_of(
            peer,
            process,
            project=self._context.project,
            agent=caller.actor.name,
            client=caller.client,
            now=self._context.ports.clock.now(),
        )
        return refresh_connection(stored, seen) if stored else seen

    def _unseen(self, peer: Peer) -> Connection:
        now, project = self._context.ports.clock.now(), self._context.project
        return unseen_caller(peer.boot, project=project, now=now)

    def why_no_person(self) -> str:
        """Return why whoever sits at the command line counts as no person; empty if he does."""
        with self._context.reading() as view:
            return why_no_person(view, self._context)

    def way_past_doubt(self) -> str:
        """Return what helps whoever sits at the command line and counts as no person, as a hint with acts in it."""
        with self._context.reading() as view:
            return way_past_doubt(view, self._context)

    def _credential(self, view: Reading, secret: str, peer: Peer) -> Token:
        if peer.is_served:
            raise Forbidden(
                "what a server has started brings no credential",
                hint="Do it in a process of your own.",
            )
        now = self._context.ports.clock.now()
        token = _bearer(view, secret, now, "agent")
        if token is not None:
            refuse_elsewhere(self._context, view)
        if token is None and (ended := _token_of(view, secret, "agent")) and not ended.revoked_at:
            raise Forbidden(
                f"the credential {ended.name!r} ended at {ended.expires_at}",
                hint=f"A person renews it with `counterpoint agent renew {ended.name}`; the agent stays who it is.",
            )
        if token is None:
            raise Forbidden(
                "the credential in COUNTERPOINT_CREDENTIAL is not in force here",
                hint="Ask whoever started this agent for one of `counterpoint agent create NAME`.",
            )
        return token

    def recall(self, capability: str, fresh: str = "") -> tuple[str, str]:
        """Return where the connection of a capability writes, and the session with which it came.

        fresh: what both are where nothing is known of it, and the first after the end of its last session.
        """
        with self._context.reading() as view:
            session, seat = _place(view, capability)
            session = session or _unused(view, fresh, self._context.ports.mint)
            return session, seat or session


class Tokens(Verbs):
    """Verbs for what callers over the network and agents on this machine are given."""

    def draft(self, kind: TokenKind) -> DraftToken:
        """Return the id and the secret of a token that is still to be made."""
        secret = SECRET_PREFIX + secrets.token_hex(_BYTES)
        return DraftToken(id=self._context.ports.mint.mint(_PREFIXES[kind]), secret=secret)

    def proposed(self, request: TokenRequest, draft: DraftToken) -> ProposedAct:
        """Return what making a token decides, for a person to sign; InvalidInput."""
        scopes: list[Json] = [*access.normalize_request(request).scopes]
        digest = access.digest_of(draft.secret)
        decision: dict[str, Json] = {"name": request.name, "scopes": scopes, "digest": digest}
        return ProposedAct(action="token.created", subject=draft.id, decision=decision)

    def create(self, request: TokenRequest, draft: DraftToken | None = None) -> Issued:
        """Make a token; its secret is answered here and nowhere else. InvalidInput, Conflict.

        draft: the one that was signed. Forbidden for an agent: it would be two with it.
        """
        request = access.normalize_request(request)
        draft = draft or self.draft(request.kind)
        mint = self._context.ports.mint
        with recording(self._context, "token.created") as change:
            refuse = refuse_unsigned_act if MAINTAIN in request.scopes else refuse_agent
            refuse(change, "make a credential", "Leave it to whoever starts the agents")
            refuse_elsewhere(self._context, change.writing)
            change.open_session()
            _refuse_namesake(change, request.name, request.kind)
            ends = later(change.clock, request.lasts_seconds) if request.lasts_seconds else ""
            token = Token(
                project=self._context.project,
                id=draft.id,
                name=request.name,
                sha256=access.digest_of(draft.secret),
                surfaces=request.surfaces,
                scopes=request.scopes,
                tools=request.tools,
                addresses=request.addresses,
                calls_a_minute=request.calls_a_minute,
                session=mint.mint("ses"),
                created_at=change.now,
                expires_at=ends,
                revoked_at="",
                calls_a_month=request.calls_a_month,
                tool_limits=request.tool_limits,
                kind=request.kind,
                maker=principal_id_of(self._context.caller.actor),
            )
            change.subject = token.id
            change.put(token)
            change.add_facts(name=token.name, scopes=list(token.scopes))
            if self._context.caller.actor.is_signed:
                change.add_facts(digest=token.sha256)
        return Issued(token=token, secret=draft.secret)

    def list(self, kind: TokenKind = "caller") -> list[Token]:
        """Return every token of a kind that was ever made, the oldest first."""
        with self._context.reading() as view:
            tokens = view.select(Token, kind=kind)
        return sorted(tokens, key=lambda token: (token.created_at, token.id))

    def proposed_revocation(self, which: str, kind: TokenKind = "caller") -> ProposedAct:
        """Return what ending a token decides, for a person to sign; NotFound, InvalidInput, Conflict."""
        with self._context.reading() as view:
            token = _live(view.select(Token, **_named(which, kind)), which, kind)
        return ProposedAct(action="token.revoked", subject=token.id, decision={"name": token.name})

    def revoke(self, which: str, kind: TokenKind = "caller") -> Token:
        """End a token of a kind, named by its id or its name; NotFound, InvalidInput, Conflict, Forbidden."""
        with recording(self._context, "token.revoked") as change:
            refuse_agent(change, "end a credential", "Leave it to whoever starts the agents")
            change.open_session()
            stored = _live(change.select(Token, **_named(which, kind)), which, kind)
            token = replace(stored, revoked_at=change.now)
            change.subject = token.id
            change.put(token)
            change.add_facts(name=token.name)
            return token

    def proposed_renewal(
        self, which: str, kind: TokenKind = "caller", *, lasts_seconds: int
    ) -> ProposedAct:
        """Return what renewing a token decides, for a person to sign; NotFound, InvalidInput, Conflict."""
        with self._context.reading() as view:
            token = _live(view.select(Token, **_named(which, kind)), which, kind)
        scopes: list[Json] = [*token.scopes]
        decision: dict[str, Json] = {
            "name": token.name,
            "scopes": scopes,
            "digest": token.sha256,
            "seconds": lasts_seconds,
        }
        return ProposedAct(action="token.renewed", subject=token.id, decision=decision)

    def renew(self, which: str, kind: TokenKind = "caller", *, lasts_seconds: int) -> Token:
        """Let a token last from now on, with its secret and as the same principal; NotFound, InvalidInput, Conflict, Forbidden.

        lasts_seconds: 0 for no end.
        """
        with recording(self._context, "token.renewed") as change:
            refused = "renew a credential", "Leave it to whoever starts the agents"
            refuse_agent(change, *refused)
            refuse_elsewhere(self._context, change.writing)
            change.open_session()
            stored = _live(change.select(Token, **_named(which, kind)), which, kind)
            if MAINTAIN in stored.scopes:
                refuse_unsigned_act(change, *refused)
            _refuse_namesake(change, stored.name, kind, but=stored.id)
            ends = later(Timestamp(change.now), lasts_seconds) if lasts_seconds else ""
            if ends == stored.expires_at:
                raise Conflict(f"{stored.name!r} has no end already", hint="Nothing is left to do.")
            token = replace(stored, expires_at=ends)
            change.subject = token.id
            change.put(token)
            change.add_facts(name=token.name, scopes=list(token.scopes), seconds=lasts_seconds)
            if self._context.caller.actor.is_signed:
                change.add_facts(digest=token.sha256)
            return token

    def authenticate(self, secret: str, address: str) -> Token | None:
        """Return the token of a secret, or None, whatever the reason."""
        with self._context.reading() as view:
            token = _bearer(view, secret, self._context.ports.clock.now(), "caller")
            if token is None or why_elsewhere(self._context, view):
                return None
        return token if access.is_admitted(token, address) else None

    def identify(
        self, bearer: Bearer, *, agent: str = "", session: str = "", fresh: str = ""
    ) -> CallIdentity:
        """Return as whom and in which session the bearer of a key is heard.

        agent, wanted: the name and the session that the call asks for; a name is a label. fresh: an id that
        was answered before, and that nothing was written in yet. After a session has ended the next one
        follows it. Raises InvalidInput for what is no name, NotFound and Forbidden for a session that is not
        the bearer's.
        """
        if agent and not access.is_agent(agent):
            raise InvalidInput(
                "the agent's name is not a name",
                hint="Use up to 64 letters, digits, dots, hyphens, underscores and @.",
            )
        with self._context.reading() as view:
            own_name = bearer.name
            if bearer.spare_name and view.exists(Token, name=own_name):
                own_name = bearer.spare_name
            name = agent or own_name
            if name != own_name and view.exists(Token, name=name):
                raise Forbidden(
                    f"{name!r} is the name of another token",
                    hint="Speak under the name of your own token, or one that no token has.",
                )
            if session:
                stored = _own(view, session, bearer, name)
                return CallIdentity(agent=name, session=stored.id, seat=stored.seat)
            own_session, seat = _place(view, bearer.capability)
            if not own_session:
                own_session = "" if seat else bearer.session
                own_session = own_session or _unused(view, fresh, self._context.ports.mint)
            return CallIdentity(agent=name, session=own_session, seat=seat or own_session)

    def usage(self, subject: str) -> Usage:
        """Return what a subject has used of this month, with what was taken ahead."""
        now = self._context.ports.clock.now()
        with self._context.reading() as view:
            return _usage(view, subject, now)

    def take(self, subject: str, most: int) -> Usage:
        """Take some of a month's calls, or as many as are left of them.

        most: how many the month has. What is not used can be given back.
        """
        usage = self.usage(subject)
        # Most refusals are of a month that is used up: they need no turn among the writers.
        if usage.used >= most:
            return usage
        ports = self._context.ports
        with ports.store.writing(self._context.project) as writing:
            now = ports.clock.now()
            # Read again: another server may have taken some since.
            used = _usage(writing, subject, now).used
            granted = access.grant_calls(used, access.calls_ahead(most), most)
            writing.use(subject, _measure(access.month_of(now)), used + granted)
            return _usage(writing, subject, now, granted=granted)

    def give_back(self, subject: str, month: str, calls: int) -> None:
        """Put back calls that were taken from a month and not made."""
        with self._context.ports.store.writing(self._context.project) as writing:
            used = writing.meter(subject, _measure(month))
            writing.use(subject, _measure(month), max(0, used - calls))


def _refuse_namesake(change: Change, name: str, kind: TokenKind, but: str = "") -> None:
    """Raise Conflict if a token of a kind that is in force has a name. but: the id of one that may have it."""
    for token in change.select(Token, name=name, kind=kind):
        if token.id != but and access.is_in_force(token, change.clock):
            raise Conflict(
                f"the token {token.id} is named {name!r} already",
                hint="Use that one or another name, or revoke it first.",
            )


def _place(view: Reading, capability: str) -> tuple[str, str]:
    began = seat_of(view, capability)
    if began is None:
        return "", ""
    now = find_latest_session(view, began.id, capability) if began.has_ended else began
    return (now.id if now else ""), began.id


def _unused(view: Reading, session: str, mint: Mint) -> str:
    """Return an id of a session that nothing was written in: the one given, if it is such."""
    is_free = bool(session) and view.find(Session, session) is None
    return session if is_free else mint.mint("ses")


def _own(view: Reading, session_id: str, bearer: Bearer, name: str) -> Session:
    """Return the session that a call names, if it is the bearer's; NotFound, Forbidden."""
    session = view.find(Session, session_id)
    if session is None:
        raise missing(Session, session_id)
    caller = Actor(kind="agent", name=name, session=session_id, principal=bearer.principal)
    if not may_write(session, caller, bearer.capability):
        raise Forbidden(
            f"{session_id} is the session of somebody else",
            hint=f"Leave it out, or {Act.TAKE_OVER}.",
        )
    return session


def _usage(view: Reading, subject: str, now: Timestamp, granted: int = 0) -> Usage:
    month, resets_at = access.month_of(now), access.next_month(now)
    return Usage(
        month=month,
        used=view.meter(subject, _measure(month)),
        resets_at=resets_at,
        # Rounded up: whoever comes back a moment early is refused once more.
        resets_in=-(-elapsed_ms(now, resets_at) // 1000),
        granted=granted,
    )


def _measure(month: str) -> str:
    return f"calls {month}"


def _named(which: str, kind: TokenKind) -> dict[str, Any]:
    is_id = which.startswith(f"{_PREFIXES[kind]}_")
    return {"kind": kind, "id" if is_id else "name": which}


def _live(tokens: list[Token], which: str, kind: TokenKind) -> Token:
    """Return the one token of those with a name that is not revoked; NotFound, InvalidInput, Conflict."""
    live = [token for token in tokens if not token.revoked_at]
    # Only people end tokens, at the command line.
    what, command = ("credential", "agent") if kind == "agent" else ("token", "token")
    if not tokens:
        raise NotFound(
            f"there is no {what} {which[:60]!r} in this project",
            hint=f"`counterpoint {command} list` shows those that there are.",
        )
    if not live:
        raise Conflict(f"the {what} {which} is revoked already", hint="Nothing is left to do.")
    if len(live) > 1:
        raise InvalidInput(
            f"several tokens are named {which!r}", hint="Name the one you mean by its id."
        )
    return live[0]


def _bearer(view: Reading, secret: str, now: Timestamp, kind: TokenKind) -> Token | None:
    """Return the token of a kind that a secret is of, if it is in force."""
    token = _token_of(view, secret, kind)
    return token if token is not None and access.is_in_force(token, now) else None


def _token_of(view: Reading, secret: str, kind: TokenKind) -> Token | None:
    """Return the token of a kind that a secret is of, in force or not."""
    if not access.is_secret(secret):
        return None
    digest = access.digest_of(secret)
    for token in view.select(Token, sha256=digest):
        # In constant time, so that it cannot be measured how much of a digest is right.
        if hmac.compare_digest(token.sha256, digest) and token.kind == kind:
            return token
    return None
