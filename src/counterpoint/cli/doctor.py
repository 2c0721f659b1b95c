"""The command that checks whether everything the product needs is in order."""

from __future__ import annotations

import platform
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

import click

from counterpoint import __version__
from counterpoint.app import App
from counterpoint.cli.checks.mirrored import has_files
from counterpoint.cli.clients.client_entries import remark_on
from counterpoint.cli.clients.known import CLIENTS, SERVER, Client, runs
from counterpoint.cli.context import is_served, open_anyones, project_options, require
from counterpoint.cli.grouping import examples
from counterpoint.cli.output import Output, output_for
from counterpoint.cli.phrases import HOW_APART
from counterpoint.cli.present import ahead_in_words, in_words
from counterpoint.cli.server.starting import Started, start_server
from counterpoint.cli.trust.caller import ADVICE, caller_in_words
from counterpoint.cli.trust.describe_keys import recoveries
from counterpoint.cli.trust.describe_witnesses import said_of
from counterpoint.core.model.answers import State
from counterpoint.core.rules.trust.commands import OLDER
from counterpoint.core.rules.trust.moved import moved_fault
from counterpoint.dialects.lacking import said_of_lacking
from counterpoint.evidence.git.opened import OpenTrees
from counterpoint.kernel.acts import Act, Phrases
from counterpoint.kernel.clock import Timestamp, elapsed_ms
from counterpoint.kernel.errors import CounterpointError, InvalidInput, PathOutside, Unavailable
from counterpoint.kernel.places import DATABASE, find_git_fault, find_service
from counterpoint.kernel.plurals import agree, counted
from counterpoint.kernel.starting.programs import find_program, own_command
from counterpoint.protocol.rendezvous import find_rendezvous

_PHRASES: Final[Phrases] = {Act.EXAMINE: "see that what the message names is there and runs"}
"""What is said in place of what has just been done."""
_MIB: Final = 1 << 20
_LOG_LIMIT: Final = 64 * _MIB
_ROOM: Final = (100 * _MIB, 1024 * _MIB)
"""Free bytes of the disk below which it is a fault, and a warning."""
_LATE: Final = 600_000
"""Milliseconds after which entries that wait for a signature are worth a warning."""
_SKEW_MS: Final = 2_000
"""Milliseconds that this machine's clock may differ from the database's before it is told."""
_WITNESSED_WITHIN_MS: Final = 600_000
"""A server that runs tells witnesses within a minute; one may not have been started yet."""
_LIST_LIMIT: Final = 15_500
_PATIENT: Final = 1.0
"""Seconds that the least patient client waits for the list of an optional server."""

Verdict = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing looked at; `advice` says what to do unless it is in order."""

    name: str
    verdict: Verdict
    found: str
    advice: str = ""


@click.command("doctor", epilog=examples("counterpoint doctor"))
@click.option("--json", "as_json", is_flag=True, help="Answer as JSON.")
@project_options
def doctor_command(as_json: bool, db: str | None, project: str | None) -> int:
    """Check that everything is in order.

    Exit code 1 if something is wrong.
    """
    app = open_anyones(db=db, project=project)
    out = output_for(json=as_json)
    try:
        with out.counting("Looking"):
            findings = list(_examine(app))
    finally:
        app.close()
    fails = any(finding.verdict == "fail" for finding in findings)
    if out.json:
        out.answer({"ok": not fails, "checks": [asdict(finding) for finding in findings]})
    else:
        _print(out, findings)
    return 1 if fails else 0


def _print(out: Output, findings: list[Finding]) -> None:
    out.table(
        ("", "what", "found"),
        [(finding.verdict, finding.name, finding.found) for finding in findings],
    )
    advice = [finding for finding in findings if finding.advice]
    if advice:
        out.line()
    for advised in advice:
        out.line(f"{advised.name}: {advised.advice}")


def _examine(app: App) -> Iterator[Finding]:
    yield Finding(name="python", verdict="ok", found=platform.python_version())
    yield _git(app)
    yield _disk(app)
    if is_served(app):
        yield _served(app)
        yield from _configurations(app)
        yield from _server(app)
        return
    yield from _ledger(app)
    yield from _rescued(app)
    yield from _search(app)
    yield _caller(app)
    yield from _configurations(app)
    yield from _running(app)
    yield from _server(app)


def _search(app: App) -> Iterator[Finding]:
    """Look whether texts are found by their meaning, and how many are by now."""
    if not app.exists:
        return
    try:
        covered = app.person().embedding.coverage()
    except CounterpointError as fault:
        yield Finding(name="search", verdict="warn", found=fault.message, advice=fault.hint)
        return
    if covered is None:
        yield Finding(name="search", verdict="ok", found="by words alone, as is set")
        return
    ready, every = covered
    yield Finding(
        name="search",
        verdict="ok",
        found=f"by words; {ready:,} of {every:,} texts by their meaning too, the others once somebody searches",
    )


def _caller(app: App) -> Finding:
    """Look who this is: an agent that runs it in a container learns here why it judges nothing."""
    if not app.exists:
        return Finding(name="you", verdict="ok", found="not asked: there is no ledger")
    try:
        core = app.person()
    except CounterpointError as fault:
        return Finding(
            name="you", verdict="fail", found=fault.message, advice=fault.hint_in(_PHRASES)
        )
    is_known = core.caller.actor.principal is not None
    return Finding(
        name="you",
        verdict="ok" if is_known else "warn",
        found=caller_in_words(app, core),
        advice="" if is_known else ADVICE,
    )


def _git(app: App) -> Finding:
    program = find_program("git", app.environ.get("PATH"))
    if program is None:
        advice = "Install git; without it evidence is a comparison of file hashes."
        return Finding(name="git", verdict="warn", found="not on the PATH", advice=advice)
    answer = subprocess.run(  # noqa: S603 - git as found on the PATH, with a fixed argument
        [program, "--version"], capture_output=True, text=True, check=False, timeout=10
    )
    version = answer.stdout.strip().removeprefix("git version ")
    if fault := find_git_fault(str(app.places.tree)):
        advice = "Do what it says; until then evidence is a comparison of file hashes."
        return Finding(name="git", verdict="warn", found=f"{version}, {fault}", advice=advice)
    if not (app.places.tree / ".git").exists():
        advice = "Run `git init`; without a repository evidence is a comparison of file hashes."
        return Finding(name="git", verdict="warn", found=f"{version}, no repository", advice=advice)
    tree = OpenTrees().find(app.places.tree, app.environ)
    if isinstance(tree, str) and tree:
        advice = "Do what git says; until then evidence is a comparison of file hashes."
        return Finding(name="git", verdict="warn", found=f"{version}, {tree}", advice=advice)
    return Finding(name="git", verdict="ok", found=version)


def _disk(app: App) -> Finding:
    folder = app.folder if app.folder.exists() else app.places.home
    free = shutil.disk_usage(folder).free
    verdict: Verdict = "fail" if free < _ROOM[0] else "warn" if free < _ROOM[1] else "ok"
    advice = "" if verdict == "ok" else "Free some space: a write needs a full disk's answer."
    return Finding(name="disk", verdict=verdict, found=f"{_size(free)} free", advice=advice)


def _ledger(app: App) -> Iterator[Finding]:
    """Look at the database and all that lies beside it; the first refusal ends the look."""
    try:
        require(app)
    except CounterpointError as refusal:
        yield Finding(
            name="ledger", verdict="fail", found=refusal.message, advice=refusal.hint_in(_PHRASES)
        )
        return
    size = "" if app.is_remote else f", {_size(app.database.stat().st_size)}"
    yield Finding(name="ledger", verdict="ok", found=f"{app.place}{size}")
    log = () if app.is_remote else (_log_file,)
    with app.store.reading(app.project) as view:
        if moved := view.moved():
            gone = moved_fault(app.project, moved)
            yield Finding(name="ledger", verdict="fail", found=gone.message, advice=gone.hint)
            return
    for examine in (
        _integrity,
        *log,
        _key,
        _people,
        _account,
        clock_of,
        _checkpoint,
        _leases,
        _checks,
    ):
        yield _examined(app, examine)
    yield from _reads(app)
    yield from _witnesses(app)
    yield from _files(app)


def _reads(app: App) -> Iterator[Finding]:
    """Look whether reads are recorded here as a person has decided, where anybody ever did."""
    from counterpoint.cli.trust.reads import mark_fault
    from counterpoint.core.operations.reads import Reads
    from counterpoint.evidence.reads import find_mark

    policy, mark = app.itself().use(Reads).policy(), find_mark(app.folder, app.ledger)
    if fault := mark_fault(policy, mark):
        advice = "`counterpoint audit reads` shows what there is."
        yield Finding(name="reads", verdict="fail", found=fault, advice=advice)
    elif policy != "off":
        yield Finding(name="reads", verdict="ok", found=f"are recorded: {policy}")


def _rescued(app: App) -> Iterator[Finding]:
    """Tell of copies of a ledger that was taken away while a process had it open."""
    saved = app.past.saved() if app.past else []
    if saved:
        newest = max(saved, key=lambda file: file.stat().st_mtime_ns)
        text = f"{len(saved)} of a ledger that was taken away while it was open, the newest is {newest}"
        advice = f"If something is missing, `counterpoint restore {newest}`; else remove them."
        yield Finding(name="copies", verdict="warn", found=text, advice=advice)


def _witnesses(app: App) -> Iterator[Finding]:
    """Look at what others than the signer have of the ledger, and how old that is."""
    core, now = app.itself(), app.clock.now()
    try:
        comparison, state = core.witnessing.compare(), core.overview.state()
    except CounterpointError as refusal:
        yield Finding(
            name="witness", verdict="fail", found=refusal.message, advice=refusal.hint_in(_PHRASES)
        )
        return
    departed = [remark for remark in comparison.remarks if "left" in remark.facts]
    if departed:
        yield _left(departed)
    for fault in (
        *comparison.faults,
        *(fault for fault in comparison.remarks if fault not in departed),
    ):
        is_new = bool(fault.facts.get("has_none")) and _is_recent(state)
        verdict: Verdict = (
            "fail" if not isinstance(fault, Unavailable) else "ok" if is_new else "warn"
        )
        yield Finding(
            name="witness", verdict=verdict, found=fault.message, advice=fault.hint_in(_PHRASES)
        )
    names = {fault.facts["witness"] for fault in (*comparison.faults, *comparison.remarks)}
    for has in comparison.witnesses:
        if has.witness not in names:
            yield Finding(name="witness", verdict="ok", found=said_of(has, state.ledger_size, now))
    quorum = core.witness_policies.standing(asks=True)
    if (few := quorum.fault) is not None:
        advice = few.hint_in(_PHRASES)
        yield Finding(name="witness", verdict="fail", found=few.message, advice=advice)
    if not comparison.witnesses and not names:
        advice = "Run `git init`, or name one in COUNTERPOINT_WITNESSES."
        yield Finding(name="witness", verdict="warn", found="there is none", advice=advice)


def _is_recent(state: State) -> bool:
    """Return whether the ledger was written so lately that no witness can be expected to know."""
    written = state.last_entry_at
    return not written or elapsed_ms(Timestamp(written), state.now) < _WITNESSED_WITHIN_MS


def _left(remarks: Sequence[CounterpointError]) -> Finding:
    """Say once who has heads of an epoch that was left only, and what gives them later ones."""
    names = " and ".join(str(remark.facts["witness"]) for remark in remarks)
    advice = " ".join(dict.fromkeys(remark.hint_in(_PHRASES) for remark in remarks))
    text = (
        remarks[0].message
        if len(remarks) == 1
        else f"{names}: the heads are of epochs that were left"
    )
    return Finding(name="witness", verdict="warn", found=text, advice=advice)


def _examined(app: App, examine: Callable[[App], Finding]) -> Finding:
    try:
        return examine(app)
    except CounterpointError as refusal:
        name = examine.__name__.removesuffix("_of").strip("_").replace("_", " ")
        return Finding(
            name=name, verdict="fail", found=refusal.message, advice=refusal.hint_in(_PHRASES)
        )


def _integrity(app: App) -> Finding:
    wrong = app.store.faults()
    if wrong:
        advice = "Stop writing, keep the file, and run `counterpoint restore` with a backup."
        return Finding(
            name="integrity",
            verdict="fail",
            found="; ".join(fault.message for fault in wrong[:5]),
            advice=advice,
        )
    return Finding(name="integrity", verdict="ok", found="it and its indexes are sound")


def _log_file(app: App) -> Finding:
    """Look at the write-ahead log: it only grows for long if a reader never ends."""
    path = app.database.with_name(f"{app.database.name}-wal")
    size = path.stat().st_size if path.exists() else 0
    if size > _LOG_LIMIT:
        advice = "A process reads without end; close boards and agents that hang."
        return Finding(name="log file", verdict="warn", found=_size(size), advice=advice)
    return Finding(name="log file", verdict="ok", found=_size(size))


def _key(app: App) -> Finding:
    """Look at the signer: whether it answers, and goes on with this ledger."""
    core = app.person()
    with app.store.reading(app.project) as view:
        fault = next(core.signing.faults(view), None)
    if fault is not None:
        verdict: Verdict = "warn" if isinstance(fault, Unavailable) else "fail"
        return Finding(
            name="key", verdict=verdict, found=fault.message, advice=fault.hint_in(_PHRASES)
        )
    keys = core.signing.keys()
    key = keys[0].to_text() if keys else "none yet, the first signature makes it"
    return Finding(name="key", verdict="ok", found=f"{key}, {app.settings.signer}")


def _people(app: App) -> Finding:
    """Look at the keys of people, and at those that nobody but the signer let in."""
    core = app.person()
    people = recoveries(core)
    if people:
        advice = "Ask their owners. `counterpoint key revoke` ends one that is not theirs."
        return Finding(name="people", verdict="warn", found="; ".join(people), advice=advice)
    live = sum(key.is_in_force for key in core.keys.list())
    return Finding(
        name="people",
        verdict="ok",
        found=f"{live} {'key of a person is' if live == 1 else 'keys of people are'} in force",
    )


def _account(app: App) -> Finding:
    """Say whose the ledger and its signer are: the one thing that no check of the ledger can tell."""
    if app.is_remote:
        text = "whoever has the password of this database can write the ledger past the server"
    else:
        text = (
            "ledger and signer are of this account: what runs under it, agents too, can write both;"
            f" {HOW_APART} gives them to another"
        )
    return Finding(name="account", verdict="ok", found=text)


def _served(app: App) -> Finding:
    """Say whose the ledger is that another account serves here."""
    service = find_service(str(app.places.folder / DATABASE))
    whose = f"the account {service['account']}" if service else "the account that serves it"
    text = f"ledger and signer are of {whose}: agents reach {app.settings.db} alone"
    return Finding(name="account", verdict="ok", found=text)


def clock_of(app: App) -> Finding:
    """Look whether this machine's clock is that of the ledger."""
    state, now = app.person().overview.state(), app.clock.now()
    skew = elapsed_ms(now, state.now)
    if state.ahead:
        advice = "Set this clock right if it is behind. If it is right, one was ahead: writes go on, with the time of the last entry."
        text = ahead_in_words(state.ahead)
        return Finding(name="clock", verdict="warn", found=text, advice=advice)
    if app.is_remote and abs(skew) > _SKEW_MS:
        text = f"this machine's is {in_words(abs(skew) // 1000)} {'behind' if skew > 0 else 'ahead of'} the database's"
        advice = "Set the clock of this machine right; until then leases and entries have the database's time."
        return Finding(name="clock", verdict="warn", found=text, advice=advice)
    return Finding(name="clock", verdict="ok", found=state.now)


def _checkpoint(app: App) -> Finding:
    """Look at what was signed last, and at what waits."""
    unsigned = app.person().signing.unsigned()
    words = f"{agree(unsigned.signed, 'entry', 'is')} signed, {agree(unsigned.waiting, 'entry', 'waits')}"
    if unsigned.why:
        advice = "Run `counterpoint audit verify`; it says what is wrong."
        return Finding(name="checkpoint", verdict="fail", found=unsigned.why, advice=advice)
    late = bool(unsigned.since) and elapsed_ms(Timestamp(unsigned.since), app.clock.now()) > _LATE
    advice = "A server signs them, or `counterpoint audit prove --checkpoint`." if late else ""
    return Finding(name="checkpoint", verdict="warn" if late else "ok", found=words, advice=advice)


def _leases(app: App) -> Finding:
    state = app.person().overview.state()
    stale = [live.item.id for live in state.live if live.is_abandoned(state.now)]
    if stale:
        advice = "Their agents went away; `next` offers them to others."
        text = f"left or run out: {', '.join(stale)}"
        return Finding(name="leases", verdict="warn", found=text, advice=advice)
    return Finding(
        name="leases", verdict="ok", found=f"{agree(len(state.live), 'lease', 'is')} held"
    )


def _checks(app: App) -> Finding:
    """Look whether the commands that checks ask for would be run."""
    lacking = app.person().permitted.lacking_now()
    if lacks := said_of_lacking(lacking):
        return Finding(
            name="checks",
            verdict="warn",
            found=lacks,
            advice="Run `counterpoint audit verify`; it says what is wrong."
            if lacking.why == OLDER
            else "`counterpoint trust` shows what the file lets be run, and what differs.",
        )
    return Finding(name="checks", verdict="ok", found="every command that they ask for may be run")


def _files(app: App) -> Iterator[Finding]:
    """Look whether the files of specs are kept, in a project that has any."""
    if not has_files(app):
        return
    from counterpoint.dialects.foundry.files.mirror import Mirroring, told

    try:
        mirroring = app.person().use(Mirroring)
        if elsewhere := mirroring.kept_elsewhere():
            advice = "What this project has of specs stands in the ledger alone."
            yield Finding(name="specs", verdict="warn", found=elsewhere, advice=advice)
            return
        troubles, links = mirroring.troubles(), mirroring.links()
    except (PathOutside, InvalidInput) as refusal:
        advice = f"{refusal.hint_in(_PHRASES)} Until then no files are kept."
        yield Finding(name="specs", verdict="warn", found=refusal.message, advice=advice)
        return
    for link in links:
        text = f"{link} is a link: no file of a spec is kept or read through it"
        advice = "Put a folder in its place, or let FOUNDRY_MCP_SPECS_DIR name the one it leads to."
        yield Finding(name="specs", verdict="warn", found=text, advice=advice)
    for spec, trouble in sorted(troubles.items()):
        yield Finding(
            name="specs",
            verdict="warn",
            found=told(spec, trouble),
            advice="Until then its file is left as it is.",
        )
    if not (troubles or links):
        yield Finding(name="specs", verdict="ok", found="their files are kept")


def _configurations(app: App) -> Iterator[Finding]:
    clients = [client for client in CLIENTS if (app.places.tree / client.file).exists()]
    findings = [
        finding for client in clients if (finding := _configuration(app, client)) is not None
    ]
    if findings:
        yield from findings
    else:
        advice = "Run `counterpoint init`, with `--client` if none is found."
        yield Finding(name="clients", verdict="warn", found="none is connected", advice=advice)


def _configuration(app: App, client: Client) -> Finding | None:
    """Look at the entry of one client; None if the file has none of ours."""
    path = app.places.tree / client.file
    try:
        entry = client.entry(path.read_text(encoding="utf-8", errors="replace"))
    except CounterpointError as refusal:
        text = f"{client.file}: {refusal.message}"
        return Finding(name=client.name, verdict="fail", found=text, advice="Mend the file.")
    if entry is None:
        return None
    if not runs(entry, app.environ):
        command = entry.get("command")
        text = f"{client.file} names {command}, which is not there"
        install = f"Install it: `pipx install {SERVER}` or `uv tool install {SERVER}`."
        again = f"Run `counterpoint init --client {client.name}`."
        advice = install if command == SERVER else again
        return Finding(name=client.name, verdict="fail", found=text, advice=advice)
    remark = remark_on(client, entry, app.places.tree, app.places.home, app.environ)
    verdict: Verdict = "warn" if remark.advice else "ok"
    return Finding(name=client.name, verdict=verdict, found=remark.message, advice=remark.advice)


def _running(app: App) -> Iterator[Finding]:
    """Look at the one server of the database, which need not run, and at its breaker."""
    try:
        meeting = find_rendezvous(app.database)
        status = meeting.ask("status")
    except CounterpointError as refusal:
        advice = refusal.hint_in(_PHRASES)
        yield Finding(name="running", verdict="fail", found=refusal.message, advice=advice)
        return
    if status is None and meeting.is_held():
        text = f"a server has the database and cannot be found: {meeting.file('json')} does not lead to it"
        advice = "It ends by itself within seconds; else run `counterpoint down`."
        yield Finding(name="running", verdict="warn", found=text, advice=advice)
        return
    if status is None:
        text = "none; the first call of an agent starts one"
        yield Finding(name="running", verdict="ok", found=text)
        return
    yield _server_of(status)
    if "circuit" in status:
        yield _breaker(status["circuit"])


def _server_of(status: Mapping[str, Any]) -> Finding:
    text = f"server {status['pid']}, version {status['version']}, {status['clients']} connected"
    if status["version"] != __version__:
        advice = (
            f"This is version {__version__}: run `counterpoint down`, and it is the next one's."
        )
        return Finding(name="running", verdict="warn", found=text, advice=advice)
    return Finding(name="running", verdict="ok", found=text)


def _breaker(circuit: Mapping[str, Any]) -> Finding:
    """Look at the breaker before the store, as the server that runs tells of it."""
    text = f"{circuit['state'].replace('_', ' ')}, {circuit['failures']} faults"
    if circuit["state"] == "closed":
        return Finding(name="breaker", verdict="ok", found=text)
    text = f"{text}, the last was {circuit['last']}; {agree(circuit['refused'], 'call', 'was')} refused"
    soon = f"in {circuit['retry_after']} s" if circuit["retry_after"] else "now"
    advice = f"Mend what fails; the first call {soon} tries the database again."
    return Finding(name="breaker", verdict="warn", found=text, advice=advice)


def _server(app: App) -> Iterator[Finding]:
    """Start the server as a client does, and look at how long its list takes and is."""
    command = own_command("mcp")
    # A server that is started for this look leaves with it.
    environ = {**app.environ, "COUNTERPOINT_IDLE_MINUTES": "0"}
    started = start_server(command, Path.cwd(), environ=environ)
    if not isinstance(started, Started):
        advice = "Run `counterpoint mcp` in a terminal and read what it says."
        yield Finding(name="server", verdict="fail", found=started, advice=advice)
        return
    seconds = f"tools in {started.seconds * 1000:,.0f} ms"
    slow = started.seconds > _PATIENT
    advice = "Codex waits a second unless the entry has `required = true`." if slow else ""
    yield Finding(name="server", verdict="warn" if slow else "ok", found=seconds, advice=advice)
    large = started.size > _LIST_LIMIT
    text = f"{counted(started.tools, 'tool')} in {started.size:,} bytes"
    advice = "Choose a smaller dialect with `--dialect`." if large else ""
    yield Finding(name="tools", verdict="warn" if large else "ok", found=text, advice=advice)


def _size(count: int) -> str:
    return f"{count / _MIB:,.1f} MiB"
