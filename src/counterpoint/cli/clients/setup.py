"""Setting a project up: ledger, configuration of clients, a word to agents.

Files of others are edited in place, never written anew: entries that are not ours stay byte for
byte. What cannot be edited so is shown, to be done by hand. An entry of ours that names a program
that is there is left as its owner made it.
"""

from __future__ import annotations

import difflib
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from counterpoint.app import App
from counterpoint.cli.checks.configured import trust_text
from counterpoint.cli.clients.beginning import begin_anew
from counterpoint.cli.clients.detecting import detect
from counterpoint.cli.clients.known import CLIENTS, Client, runs
from counterpoint.cli.clients.toml import set_table
from counterpoint.cli.context import SILENT, open_here, sign_written
from counterpoint.cli.output import Output, output_for
from counterpoint.cli.present import counted
from counterpoint.evidence.places import check_state
from counterpoint.evidence.running.configuration import NAME, TABLE
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import Forbidden, InvalidInput, MalformedDocument, PathOutside
from counterpoint.kernel.listing_cache import find_listing

_GUIDES: Final = ("AGENTS.md", "CLAUDE.md")
BEGIN: Final = "<!-- counterpoint:begin -->"
END: Final = "<!-- counterpoint:end -->"

GUIDE: Final = """\
## Working with Counterpoint

This project's plans, decisions and evidence are kept by the MCP server `counterpoint`.

- Begin with `brief`; take work with `next` (`claim: true`) or `start`, one task at a time.
- Write down decisions, findings and blockers with `note` when they happen, not at the end.
- Run checks with `verify`: only what the server ran counts as evidence. Then call `finish`.
- A refusal says what to do next in `hint`. Lost the claim? Stop, and take other work.
- Before you stop, or when your context runs short, call `handoff` with what comes next.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What one file is and should be; with a fault it is left, and `by_hand` says what to add."""

    path: Path
    before: str
    after: str
    fault: str = ""
    by_hand: str = ""
    note: str = ""


@click.command("init")
@click.option("--dry-run", is_flag=True, help="Show what would be done, and write nothing.")
@click.option(
    "--client",
    "names",
    multiple=True,
    type=click.Choice([client.name for client in CLIENTS]),
    help="Configure this client, found or not; repeatable.  [default: those that are found]",
)
@click.option("--yes", is_flag=True, help="Write without asking.")
@click.option("--db", metavar="PATH", help="Keep the ledger in this file, or at postgresql://….")
@click.option("--project", metavar="NAME", help="The project's id.  [default: the folder's name]")
@click.option(
    "--new-ledger", "anew", is_flag=True, help="Begin one where another was; for a person."
)
@click.option("--reason", default="", metavar="TEXT", help="Why the other one is gone, for ever.")
@click.option("--json", "as_json", is_flag=True, help="Answer as JSON: what was or would be done.")
def init_command(
    dry_run: bool,
    names: tuple[str, ...],
    yes: bool,
    db: str | None,
    project: str | None,
    anew: bool,
    reason: str,
    as_json: bool,
) -> None:
    """Set up this repository: its ledger and your agents' settings.

    It connects the MCP clients that it finds, and tells agents in AGENTS.md how to work.
    """
    app, out = open_here(db=db, project=project), output_for(json=as_json)
    if app.past is not None:
        # Before anything is shown that could not be done.
        check_state(app.database, app.environ)
    tree = app.places.tree
    if not (tree / ".git").exists():
        out.aside(f"{tree} is not in a git repository: evidence will be hashes of files.")
    clients = [one for one in CLIENTS if one.name in names or (not names and _used(app, one))]
    checks = _checks(app)
    changes = [*_configurations(app, clients), *_guides(tree), *checks]
    pending = [one for one in changes if one.after != one.before]
    _print(out, tree, changes)
    if not anew:
        _refuse_gone(app)
    answer = _answer(app, clients, changes, is_written=not dry_run)
    if dry_run:
        state = "is there" if app.exists else "would be made"
        out.line(f"The ledger {app.place} {state}. Nothing was written.")
        out.result(answer)
        return
    if pending and not yes:
        _ask(len(pending))
    if anew:
        begin_anew(app, out, reason)
    _open_ledger(app, out, checks)
    _write_all(out, tree, pending)
    out.result(answer)
    if not (app.places.home / NAME).exists():
        out.line(
            f"No test command was found, so no {NAME} was written and checks run nothing. Let one be run:"
            " `counterpoint trust --allow 'pytest *'`."
        )
    if clients:
        # Working a list out takes seconds at the first time: an agent that does not wait so long would
        # begin its first conversation without our tools.
        find_listing(app.settings.surface, app.environ)
    if not clients:
        known = ", ".join(client.name for client in CLIENTS)
        out.line(f"No MCP client was found; name one with `--client`: {known}.")


def _answer(
    app: App, clients: Iterable[Client], changes: Iterable[Change], *, is_written: bool
) -> Json:
    """Return what was or would be done, before it is done: `made` says whether there was no ledger before."""
    tree = app.places.tree
    by_hand = {str(one.path.relative_to(tree)): one.by_hand for one in changes if one.fault}
    files = [str(one.path.relative_to(tree)) for one in changes if one.after != one.before]
    return {
        "ledger": app.place,
        "project": app.project,
        "made": not app.exists,
        "clients": [one.name for one in clients],
        "files": files,
        "by_hand": by_hand,
        "written": is_written,
    }


def _refuse_gone(app: App) -> None:
    if app.past is not None and (gone := app.past.gone()):
        raise gone


def _write_all(out: Output, tree: Path, pending: list[Change]) -> None:
    for one in pending:
        _write(one.path, one.after)
        out.line(f"Wrote {one.path.relative_to(tree)}.")
    for one in pending:
        if one.note:
            out.line(one.note)
    if not pending:
        out.line("There is nothing to change in the configuration.")


def _used(app: App, client: Client) -> bool:
    return client.is_used(app.places.tree, app.environ)


def _checks(app: App) -> list[Change]:
    """Return the configuration of a project that has none, with the commands that its files propose."""
    home = app.places.home
    found = [] if (home / NAME).exists() else detect(home)
    if not found:
        return []
    values: dict[str, Json] = {"commands": [[*words] for words in found]}
    return [Change(path=home / NAME, before="", after=set_table("", (TABLE,), values))]


def _open_ledger(app: App, out: Output, checks: list[Change]) -> None:
    had = app.exists
    try:
        name = app.ports.project
        for one in checks:
            _trust(app, out, one.after)
        sign_written(app, with_head=app.settings.signer == SILENT)
    finally:
        app.close()
    state = "The ledger is there already" if had else "Made the ledger"
    out.line(f"{state}: {app.place}, project {name}.")
    if app.is_remote:
        # An address may hold a password, and what clients read is often committed.
        out.line("Its address is not written: give agents COUNTERPOINT_DB in their environment.")


def _trust(app: App, out: Output, text: str) -> None:
    """Let the commands that are about to be written be run, if it is a person who sets this up."""
    try:
        trust_text(app, app.person(), text)
    except Forbidden:
        out.line("Its commands are run once a person has called `counterpoint trust`.")


def _ask(count: int) -> None:
    if not sys.stdin.isatty():
        raise InvalidInput(
            f"{counted(count, 'file')} would be changed, and there is nobody to ask; nothing was written",
            hint="Look at the changes above, then repeat it with `--yes`.",
        )
    files = "this file" if count == 1 else f"these {count} files"
    click.confirm(f"Write {files}?", default=True, abort=True, err=True)


def command_line(environ: Mapping[str, str]) -> list[str]:
    """Return how a client starts this program: by its name if that is on the PATH."""
    if shutil.which("counterpoint", path=environ.get("PATH", "")):
        return ["counterpoint"]
    started = Path(sys.argv[0])
    if started.name == "counterpoint" and os.access(started, os.X_OK):
        return [str(started.absolute())]
    return [sys.executable, "-m", "counterpoint"]


def _configurations(app: App, clients: Iterable[Client]) -> list[Change]:
    command = command_line(app.environ)
    return [_configuration(app, client, client.wanted(command)) for client in clients]


def _configuration(app: App, client: Client, wanted: dict[str, Json]) -> Change:
    def edit(text: str) -> str:
        entry = client.entry(text)
        if runs(entry, app.environ):
            return text
        return client.edited(text, {**(entry or {}), **wanted})

    by_hand = client.edited("", wanted)
    note = f"{client.title}: {client.note}" if client.note else ""
    return _change(app.places.tree, client.file, edit, by_hand=by_hand, note=note)


def _guides(tree: Path) -> list[Change]:
    """Return the change of each file agents read; one that only points to another is left."""
    there = [name for name in _GUIDES if (tree / name).exists()]
    targets = {(tree / name).resolve(): name for name in reversed(there)}
    files = [name for name in there if name in targets.values() and not _includes(tree / name)]
    section = set_section("", GUIDE)
    return [
        _change(tree, name, lambda text: set_section(text, GUIDE), by_hand=section)
        for name in files or _GUIDES[:1]
    ]


def set_section(text: str, body: str) -> str:
    """Return the text with our section in it, in its old place or at the end.

    MalformedDocument if the marks do not stand once each and in order.
    """
    section = f"{BEGIN}\n{body.strip()}\n{END}"
    begins, ends = text.count(BEGIN), text.count(END)
    if not begins and not ends:
        gap = "" if not text.strip() else "\n" if text.endswith("\n") else "\n\n"
        return f"{text}{gap}{section}\n"
    begin, end = text.find(BEGIN), text.find(END)
    if (begins, ends) != (1, 1) or end < begin:
        raise MalformedDocument(f"the marks {BEGIN} and {END} do not stand once each, in order")
    return text[:begin] + section + text[end + len(END) :]


def _includes(path: Path) -> bool:
    """Return whether a file takes in AGENTS.md, so that one section serves both."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return path.name != _GUIDES[0] and f"@{_GUIDES[0]}" in (line.strip() for line in lines)


def _change(
    tree: Path, file: str, edit: Callable[[str], str], *, by_hand: str, note: str = ""
) -> Change:
    path, before = tree / file, ""
    try:
        before = _text(tree, path)
        return Change(path=path, before=before, after=edit(before), note=note)
    except (MalformedDocument, PathOutside) as fault:
        return Change(path=path, before=before, after=before, fault=fault.message, by_hand=by_hand)


def _text(tree: Path, path: Path) -> str:
    """Return a file's text with its line ends as they are, empty without a file.

    PathOutside if it is a link to elsewhere; MalformedDocument unless it is UTF-8.
    """
    target = path.resolve()
    if not target.is_relative_to(tree.resolve()):
        raise PathOutside("the file is a link that leads out of the project")
    try:
        return target.read_bytes().decode() if target.exists() else ""
    except UnicodeDecodeError as fault:
        raise MalformedDocument("the file is not UTF-8") from fault


def _print(out: Output, tree: Path, changes: Iterable[Change]) -> None:
    for one in changes:
        name = str(one.path.relative_to(tree))
        if one.fault:
            out.line(f"{name}: {one.fault}. Add this by hand:", style="yellow")
            out.line(one.by_hand)
        elif one.before == one.after:
            out.line(f"{name}: nothing to change.")
        else:
            _print_difference(out, name, one)


def _print_difference(out: Output, name: str, change: Change) -> None:
    before, after = change.before.splitlines(), change.after.splitlines()
    lines = difflib.unified_diff(before, after, f"a/{name}", f"b/{name}", lineterm="")
    styles = {"+": "green", "-": "red", "@": "cyan"}
    for line in lines:
        out.line(line, style=styles.get(line[:1], ""))


def _write(path: Path, text: str) -> None:
    """Put a whole text in the place of a file, whose mode stays; a link keeps leading there."""
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    passing = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with passing.open("xb") as draft:
            draft.write(text.encode())
        if target.exists():
            shutil.copymode(target, passing)
        passing.replace(target)
    finally:
        passing.unlink(missing_ok=True)
