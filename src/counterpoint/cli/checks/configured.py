"""What a person has trusted of counterpoint.toml, and what differs from it.

Rule 1: what counts is the digest that the ledger keeps. Rule 2: the text that was trusted last is kept beside the ledger, only to be compared
with: it is believed where it has that digest, so that whoever edits it hides nothing of what loosens. Rule 3: where it is not there,
that is said, and all of the file counts as unknown.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from counterpoint.app import App
from counterpoint.core.coordinator import Core
from counterpoint.core.model.models import DAY_LIMIT_MICROS, Modelling
from counterpoint.core.model.trust.checking import Checking
from counterpoint.core.model.web import STUDY_LIMIT_MICROS, Browsing
from counterpoint.core.model.work import Project
from counterpoint.core.rules.models.providers import dollars
from counterpoint.core.rules.trust.commands import ELSEWHERE, loosened, takes_any
from counterpoint.evidence.replacing import replace_file
from counterpoint.evidence.running.configuration import NAME, load_checking, read_text
from counterpoint.kernel.errors import MalformedDocument, Unavailable

_KEPT: Final = "trusted"
_MOST_SHOWN: Final = 20


def trust_text(app: App, core: Core, text: str) -> Project:
    """Let what a text says of commands count, and keep the text to compare others with."""
    found = core.projects.trust(load_checking(text), search_path(app))
    # Rule 3: what cannot be kept is only not compared.
    with suppress(Unavailable):
        replace_file(_kept(app) / NAME, text.encode())
    return found


def search_path(app: App) -> str:
    """Return the folders that programs are looked for in by whoever sits here."""
    return app.environ.get("PATH", "")


def lines_of_ledger(core: Core) -> list[str]:
    """Return in words what counts with a ledger that this account does not trust here yet; none for one that it does."""
    if core.projects.why_elsewhere() != ELSEWHERE:
        return []
    lines = ["This account trusts nothing of this ledger here yet. With it would count:"]
    tokens = [*core.tokens.list(), *core.tokens.list("agent")]
    counted = [
        f"the {'credential' if token.kind == 'agent' else 'token'} {token.name} ({', '.join(token.scopes)}), made {token.created_at}"
        for token in tokens
        if not token.revoked_at
    ]
    counted += [
        f"the key of {key.owner} ({key.id})" for key in core.people.list() if key.is_in_force
    ]
    if len(counted) > _MOST_SHOWN:
        counted[_MOST_SHOWN:] = [f"and {len(counted) - _MOST_SHOWN} more"]
    return [
        *lines,
        *(f"  {line}" for line in counted),
        f"  Reviews: {core.items.project().reviews}",
    ]


def told(said: Checking) -> list[str]:
    """Return in words what a configuration says."""
    lines = _lines_of_commands(said.commands)
    lines += ["Runs whatever agents ask for."] if said.free else []
    held = [f"Sandbox: {said.sandbox}", f"Network: {_switch(said.network)}"]
    held += _lines_of_exposed(said)
    return [*lines, *held, *lines_of_models(said.models), *lines_of_web(said.web)]


def lines_of_models(said: Modelling) -> list[str]:
    """Return in words what takes trust of what a configuration says of models."""
    lines = [
        f"Asks {one.name} for models at {one.address}" for one in said.providers if one.address
    ]
    lines += [
        f"Asks {one.name} for models by running: {shlex.join(one.command)}"
        for one in said.providers
        if one.command
    ]
    lines += [
        f"A million tokens of {one.model} cost {dollars(one.input)} ({dollars(one.cached)} kept), of its answers {dollars(one.output)}"
        for one in said.prices
    ]
    if said.embedding is not None:
        far = said.embedding
        lines.append(
            f"Sends every text of the ledger to {far.provider}, to be found by {far.model}"
        )
    if lines or said.day_limit > DAY_LIMIT_MICROS:
        ever = f", and {dollars(said.limit)} in all" if said.limit else ""
        lines.append(f"Models may cost {dollars(said.day_limit)} a day{ever}")
    return lines


def lines_of_web(said: Browsing) -> list[str]:
    """Return in words what takes trust of what a configuration says of the web."""
    lines = [
        f"Asks {one.name} for searches at {one.address}" for one in said.searchers if one.address
    ]
    lines += [
        f"A thousand searches of {one.name} cost {dollars(one.price * 1000)}"
        for one in said.searchers
        if one.price is not None
    ]
    lines += ["Fetches public pages of the web"] if said.fetches else []
    lines += [f"Fetches pages from {one}, which need not be public" for one in said.hosts]
    if lines or said.study_limit > STUDY_LIMIT_MICROS:
        lines.append(f"One deep research may cost {dollars(said.study_limit)}")
    return lines


def differences(app: App, said: Checking, project: Project) -> list[str]:
    """Return in words what differs from what was trusted last, and from the PATH it was trusted with."""
    moved = project.trusted and project.search_path != search_path(app)
    path = [f"PATH: {search_path(app)} (it was {project.search_path})"] if moved else []
    before = _before(app, project)
    if before is None:
        unknown = "What was trusted last is not kept here, so that all of it may be new."
        return [unknown, *path]
    return [*_changed(before, said), *path]


def _before(app: App, project: Project) -> Checking | None:
    """Return what was trusted last, nothing if nothing was; None where that is not known by its words."""
    if not project.trusted:
        return Checking()
    try:
        kept = load_checking(read_text(_kept(app)))
    except MalformedDocument:
        return None
    return kept if loosened(kept, project.search_path) == project.trusted else None


def _changed(before: Checking, said: Checking) -> list[str]:
    lines = [f"New: {line}" for line in _without(said.commands, before.commands)]
    lines += [f"Gone: {line}" for line in _without(before.commands, said.commands)]
    were, are = (
        [*_lines_of_exposed(one), *lines_of_models(one.models), *lines_of_web(one.web)]
        for one in (before, said)
    )
    lines += [f"New: {line}" for line in are if line not in were]
    lines += [f"Gone: {line}" for line in were if line not in are]
    if said.free != before.free:
        words = "Runs whatever agents ask for."
        lines.append(f"New: {words}" if said.free else f"Gone: {words}")
    if said.sandbox != before.sandbox:
        lines.append(f"Sandbox: {said.sandbox} (it was {before.sandbox})")
    if said.network != before.network:
        lines.append(f"Network: {_switch(said.network)} (it was {_switch(before.network)})")
    return lines


def _lines_of_exposed(checking: Checking) -> list[str]:
    return [
        *(f"Commands see ~/{path}, which is hidden else" for path in checking.home),
        *(
            f"Commands get {name}, and reach the sockets of that kind, which are hidden else"
            for name in checking.sockets
        ),
    ]


def _without(some: Sequence[Sequence[str]], others: Sequence[Sequence[str]]) -> list[str]:
    return _lines_of_commands(words for words in some if words not in others)


def _lines_of_commands(commands: Iterable[Sequence[str]]) -> list[str]:
    # A last star is typed without quotation marks, and means any words, which no shell would show.
    return [
        f"Runs: {shlex.join(words[:-1])} * (any words)"
        if takes_any(words)
        else f"Runs: {shlex.join(words)}"
        for words in commands
    ]


def _switch(is_on: bool) -> str:
    return "on" if is_on else "off"


def _kept(app: App) -> Path:
    return app.folder / _KEPT / app.project
