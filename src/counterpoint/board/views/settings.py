"""The pages of settings: what may run, who decides, who has keys, and what each role may call.

Rules: (1) What a sitting may change is a form, and an entry of whoever sits there; the core decides who that may be. (2) What takes a
terminal, a passphrase or a file of the tree is shown with the command. (3) A form names what its page showed, and changes nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, get_args

from counterpoint.board.forms import Form
from counterpoint.board.pages import Answer, ToolScopes
from counterpoint.core.coordinator import Core
from counterpoint.core.model.access import Independence, TokenKind
from counterpoint.core.model.journal import Profile
from counterpoint.core.model.trust.checking import Checking
from counterpoint.core.operations.reads import Reads
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.kernel.errors import InvalidInput, MalformedDocument, NotFound, StaleVersion

POLICIES: Final[Mapping[str, Independence]] = {name: name for name in get_args(Independence)}
KINDS: Final[Mapping[str, TokenKind]] = {name: name for name in get_args(TokenKind)}
POLICY_WORDS: Final[Mapping[str, str]] = {
    "self": "anybody, their own work too",
    "declared": "whoever has another name",
    "attested": "another principal that the kernel attests",
    "person": "a person with a key",
}


_OTHERS: Final = "Write"
_GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "Read": ("get", "list", "search", "query", "retrieve"),
    _OTHERS: (),
    "Phase": ("complete",),
    "Review": ("pr", "approve", "reject"),
    "System": ("configure", "verify"),
}
"""How a page groups tools: by a word of their names."""


@dataclass(frozen=True, slots=True)
class Role:
    """A role with what it may call. own: the tools that it can have. missing: critical ones that it has not."""

    name: str
    own: tuple[str, ...]
    tools: tuple[str, ...]
    missing: tuple[str, ...]
    changed_at: str


class SettingsReads(Verbs):
    """Reads of settings, each from one look at the store."""

    def checking(self) -> tuple[Checking | None, str]:
        """Return what the configuration says of checks; None with why, where it cannot be read."""
        if self._context.ports.checking is None:
            return Checking(), ""
        try:
            return self._context.ports.checking(), ""
        except MalformedDocument as fault:
            return None, fault.message

    def roles(self, scopes: ToolScopes) -> list[Role]:
        """Return the roles that there are, with the tools of each."""
        with self._context.reading() as view:
            profiles = {profile.name: profile for profile in view.select(Profile)}
        return [role_of(name, profiles.get(name), scopes) for name in scopes.types if name]


def role_of(name: str, profile: Profile | None, scopes: ToolScopes) -> Role:
    """Return a role as a profile leaves it."""
    own = scopes.types[name]
    allowed = (profile.allowed_tools if profile else ()) or own
    denied = profile.denied_tools if profile else ()
    tools = tuple(tool for tool in own if tool in allowed and tool not in denied)
    missing = tuple(tool for tool in scopes.critical.get(name, ()) if tool not in tools)
    return Role(name, own, tools, missing, profile.updated_at if profile else "")


def read_settings(answer: Answer) -> dict[str, Any]:
    """Return all settings, or the tools of the role that the path names."""
    core, scopes = answer.core, answer.facts.tools
    reads = core.use(SettingsReads)
    roles = reads.roles(scopes)
    if answer.subpath:
        role = next((role for role in roles if role.name == answer.subpath), None)
        if role is None:
            raise NotFound(
                f"there is no role {answer.subpath[:60]!r}",
                hint="The page of settings lists the roles: /settings",
            )
        groups: dict[str, list[str]] = {title: [] for title in _GROUPS}
        for tool in role.own:
            words = {*tool.split("_")}
            fitting = (title for title, marks in _GROUPS.items() if not words.isdisjoint(marks))
            groups[next(fitting, _OTHERS)].append(tool)
        return {"role": role, "groups": groups, "critical": scopes.critical.get(role.name, ())}
    checking, why = reads.checking()
    return {
        "role": None,
        "roles": roles,
        "checking": checking,
        "why": why or (core.projects.why_not_trusted(checking) if checking else ""),
        "lacking": core.permitted.lacking_now(),
        "stored": core.projects.find(),
        "policies": POLICY_WORDS,
        "witnesses": core.witness_policies.current(),
        "read_policy": core.use(Reads).policy(),
        "signers": core.joint_acts.state().threshold,
        "keys": core.keys.list(),
        "tokens": [(kind, token) for kind in KINDS.values() for token in core.tokens.list(kind)],
    }


def set_reviews(core: Core, form: Form, _scopes: ToolScopes) -> None:
    """Say who may judge."""
    stored = core.projects.find()
    policy = POLICIES.get(form.text("reviews"))
    if policy is None:
        raise InvalidInput("the form names no policy", hint="Load the page again.")
    if stored is not None and stored.reviews != form.text("before"):
        raise StaleVersion(
            "the policy was changed by others since the page was loaded",
            hint="Look at it again, then decide.",
        )
    core.projects.ask_of_reviews(policy, form.need("reason", "the reason"))


def set_tools(core: Core, form: Form, scopes: ToolScopes) -> None:
    """Let a role call the tools whose boxes are ticked, of those that it can have."""
    if form.subject not in scopes.types:
        raise NotFound("there is no role of this name", hint="Load the page again.")
    profile = core.projects.profile(form.subject)
    role = role_of(form.subject, profile, scopes)
    if role.changed_at != form.text("before"):
        raise StaleVersion(
            f"the tools of {role.name} were changed by others since the page was loaded",
            hint="Look at them again, then decide.",
        )
    core.projects.put_profile(
        role.name,
        title=profile.title if profile else "",
        instructions=profile.instructions if profile else "",
        denied_tools=tuple(tool for tool in role.own if not form.text(f"tool-{tool}")),
    )


def revoke_token(core: Core, form: Form, _scopes: ToolScopes) -> None:
    """End a token or a credential."""
    kind = KINDS.get(form.text("kind"))
    if kind is None:
        raise InvalidInput("the form does not say what it ends", hint="Load the page again.")
    core.tokens.revoke(form.subject, kind)


CHANGES: Final = {"reviews": set_reviews, "tools": set_tools, "revoke": revoke_token}
"""What the pages can change, by the first part of the path that their forms post to."""


def change_settings(core: Core, verb: str, form: Form, scopes: ToolScopes) -> None:
    """Do what a form of the settings asks for; NotFound for what there is not."""
    if verb not in CHANGES:
        raise NotFound("there is no such setting", hint="Load the page again.")
    CHANGES[verb](core, form, scopes)
