"""The ledger at the command line: shown, verified, proved, taken along."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import BinaryIO, Final

import click

from counterpoint.cli.context import CommandContext, open_context, project_options, with_context
from counterpoint.cli.grouping import Group, examples
from counterpoint.cli.output import Output, output_for
from counterpoint.cli.trust import file_arguments
from counterpoint.cli.trust.describe_keys import recoveries
from counterpoint.cli.trust.describe_witnesses import present_witness, print_witnesses
from counterpoint.cli.trust.erasing import redact_command
from counterpoint.cli.trust.policy import epoch_command, present_epoch, print_epochs
from counterpoint.cli.trust.quorum import cosign_command, present_quorum, print_quorum
from counterpoint.cli.trust.tiles import write_tiles
from counterpoint.cli.trust.trailers import trailer_command
from counterpoint.cli.work.reads import reads_command
from counterpoint.core.ledger.lines import BundleReport
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.core.ledger.offline import verify_any
from counterpoint.core.model.answers import Audit, Proof
from counterpoint.core.model.trust.writers import WriterProof
from counterpoint.core.operations.trust.exports import Format
from counterpoint.dialects.colibri.verbs.seals import Seals
from counterpoint.kernel.acts import Act, Phrases
from counterpoint.kernel.canonical import Json, dump_any
from counterpoint.kernel.errors import Conflict, CounterpointError
from counterpoint.kernel.plurals import agree, counted

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


class _BundleFile(click.Path):
    """A file to verify; what is none may be an item whose checks are meant."""

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str | bytes | os.PathLike[str]:
        """Return the path; a usage error that names the command for an item where there is no such file."""
        if not os.path.lexists(value):
            word = shlex.quote(os.fspath(value))
            self.fail(
                f"File {os.fspath(value)!r} does not exist. `counterpoint check {word}` runs the checks of an item.",
                param,
                ctx,
            )
        return super().convert(value, param, ctx)


_PHRASES: Final[Phrases] = {Act.AUDIT: "compare the ledger with a backup"}
"""What is said in place of what has just been done."""


@click.group("audit", cls=Group)
def audit_command() -> None:
    """Verify, prove, export or rebuild the ledger."""


@click.command("verify", epilog=examples("counterpoint verify ledger.bundle"))
@click.argument("bundle", type=_BundleFile(exists=True, dir_okay=False, path_type=Path))
@click.option("--key", metavar="TEXT", help="The public key that must have signed it.")
@click.option("--json", "as_json", is_flag=True, help="Answer as JSON.")
def verify_command(bundle: Path, key: str | None, *, as_json: bool) -> int:
    """Verify an exported ledger or session, without a ledger.

    Exit code 1 if anything is wrong.

    It covers chain, tree, thoughts, seals, signatures and texts. Without --key it can only show that the file is
    consistent with itself. The file has at most 4 GB.
    """
    return _verify_bundle(output_for(json=as_json), bundle, key)


audit_command.add_command(epoch_command)
audit_command.add_command(trailer_command)
audit_command.add_command(cosign_command)
audit_command.add_command(reads_command)


@audit_command.command(
    "verify", epilog=examples("counterpoint audit verify", "counterpoint audit verify --quick")
)
@click.option(
    "--checkpoint",
    "notes",
    type=_FILE,
    multiple=True,
    help="A checkpoint that the ledger must match; repeatable.",
)
@click.option("--bundle", type=_FILE, help="Verify this exported bundle; needs no ledger.")
@click.option("--key", metavar="TEXT", help="The public key that must have signed the bundle.")
@click.option(
    "--quick", is_flag=True, help="Check only the entries: chain, tree, thoughts and seals."
)
@click.option("--json", "as_json", is_flag=True, help="Answer as JSON.")
@project_options
def verify(
    notes: tuple[Path, ...],
    bundle: Path | None,
    key: str | None,
    quick: bool,
    as_json: bool,
    db: str | None,
    project: str | None,
) -> int:
    """Check every entry, and every table made from them; exit code 1 if anything is wrong.

    It checks chain, tree, checkpoints, all tables, texts, search, schema and file, and compares them with what the
    signer signed last and what witnesses have. --quick skips what is derived from the entries. It signs and writes nothing.
    """
    if bundle is not None:
        if notes or db or project or quick:
            raise click.UsageError("--bundle goes with --key and --json only.")
        return _verify_bundle(output_for(json=as_json), bundle, key)
    if key is not None:
        raise click.UsageError("--key goes with --bundle.")
    with open_context(as_json=as_json, db=db, project=project, from_anywhere=True) as context:
        texts = tuple(file_arguments.text_of(note) for note in notes)
        with context.out.counting("Verifying") as count:
            audit = context.core.audit.verify(texts, count, extent="entries" if quick else "whole")
        return _print_audit(context, audit)


def _print_audit(context: CommandContext, audit: Audit) -> int:
    now = context.app.clock.now()
    recovered: list[Json] = []
    with suppress(CounterpointError):  # a table that cannot be read is among the faults
        recovered.extend(recoveries(context.core))
    if context.out.json:
        fields = ("project", "size", "root", "last", "anchored", "redacted")
        fields += ("confirmed", "self_judged", "signed", "unsigned")
        answer = {name: getattr(audit, name) for name in fields}
        epochs: list[Json] = [present_epoch(epoch) for epoch in audit.epochs]
        context.out.answer(
            {
                "sound": audit.sound,
                **answer,
                "rows": dict(audit.rows),
                "key": audit.key,
                "epochs": epochs,
                "witnesses": [present_witness(witness, now) for witness in audit.witnesses],
                "quorum": present_quorum(audit.quorum),
                "signers": audit.signers,
                "fewer_signers": list(audit.fewer_signers),
                "unsigned_places": list(audit.unsigned_places),
                "recovered": recovered,
                "remarks": list(audit.remarks),
                "not_looked_at": list(audit.unseen),
                "faults": faults(audit.faults),
            }
        )
    else:
        out = context.out
        _print_verdict(out, audit.faults, f"{counted(audit.size, 'entry')} of {audit.project}")
        if audit.sound:
            out.line(f"  root      {audit.root}")
            out.line(f"  key       {audit.key or 'none has signed it yet'}")
            out.line(
                f"  anchored  {agree(audit.anchored, 'entry', 'agrees')} with an earlier checkpoint"
            )
            out.line(f"  redacted  {agree(audit.redacted, 'text', 'is')} gone on purpose")
            _print_signed(out, audit.confirmed, audit.signed, audit.self_judged)
        if audit.sound and audit.rows:
            rows = sum(audit.rows.values())
            out.line(
                f"  tables    {counted(rows, 'row')}, texts, search and schema are what they say"
            )
        print_witnesses(out, audit.witnesses, audit.size, now)
        print_quorum(out, audit.quorum)
        _print_signers(out, audit.signers, audit.fewer_signers)
        print_epochs(out, audit.epochs)
        for line in recovered:
            out.line(f"  {line}")
        for remark in audit.remarks:
            out.aside(f"Not compared: {remark}.")
        _print_unsigned(out, audit.unsigned, audit.unsigned_places)
        if audit.unseen:
            out.aside(f"Not looked at: {', '.join(audit.unseen)}.")
    return 0 if audit.sound else 1


def _print_signed(out: Output, people: int, writers: int, self_judged: int) -> None:
    if self_judged:
        out.line(f"  self      {agree(self_judged, 'verdict', 'is')} of people on their own work")
    if people:
        out.line(f"  people    {agree(people, 'act', 'is')} signed by those who did them")
    if writers:
        out.line(f"  signed    {agree(writers, 'entry', 'has')} a signature of the writer")


def _print_signers(out: Output, signers: int, fewer: Sequence[int]) -> None:
    """Say how many people must sign policies, keys and epochs, where that are several, and from which entries on fewer did."""
    if signers > 1:
        out.line(f"  signers   {signers} people sign policies, keys and epochs")
    for sequence in fewer:
        out.line(f"  lowered   entry {sequence}: fewer people have to sign from here on")


def _print_unsigned(out: Output, count: int, places: Sequence[int]) -> None:
    """Say which entries their writers have not signed: no fault, a process may have ended before it signed."""
    if count:
        more = ", …" if count > len(places) else ""
        where = ", ".join(map(str, places))
        out.aside(
            f"Note: {agree(count, 'entry', 'has')} no signature of their writer yet ({where}{more}). That is not a"
            " fault. A server signs what its agents wrote a few seconds later, and again when it stops. Entries of a process that"
            " was killed, or of a command that could not reach the signer, stay unsigned."
        )


def _print_verdict(out: Output, fault_list: Sequence[CounterpointError], what: str) -> None:
    if not fault_list:
        out.line(f"Sound: {what}.", style="green")
        return
    out.line(f"Broken: {counted(len(fault_list), 'fault')} in {what}.", style="red")
    for fault in fault_list:
        out.line(f"  {fault.code}: {fault.message}")
    for hint in dict.fromkeys(fault.hint_in(_PHRASES) for fault in fault_list):
        out.aside(hint)


def faults(fault_list: Iterable[CounterpointError]) -> list[Json]:
    """Return faults as JSON."""
    return [
        {
            "code": fault.code,
            "message": fault.message,
            "hint": fault.hint_in(_PHRASES),
            "facts": dict(fault.facts),
        }
        for fault in fault_list
    ]


def _verify_bundle(out: Output, bundle: Path, key: str | None) -> int:
    trusted = VerifierKey.from_text(key) if key is not None else None
    with file_arguments.open_file(bundle, file_arguments.LARGEST_BUNDLE) as file:
        report = verify_any(file_arguments.lines_of(file), trusted)
    if out.json:
        out.answer(_bundle(report))
        return 0 if report.sound else 1
    what = f"thoughts of {report.session}" if report.session else "entries"
    _print_verdict(
        out, report.faults, f"{report.size:,} {what} of {report.project} in {bundle.name}"
    )
    out.line(f"  root      {report.root}")
    out.line(f"  key       {report.key}")
    if report.thoughts and not report.session:
        out.line(
            f"  thoughts  {report.thoughts:,} in chains, {counted(report.seals, 'session')} sealed"
        )
    _print_signed(out, report.confirmed, report.signed, report.self_judged)
    if report.redacted:
        out.line(f"  redacted  {agree(report.redacted, 'text', 'is')} gone on purpose")
    print_quorum(out, report.quorum)
    _print_signers(out, report.signers, report.fewer_signers)
    _print_unsigned(out, report.unsigned, report.unsigned_places)
    if report.sound and not report.trusted:
        out.aside("The key is the one that the bundle brings; name yours with --key to trust it.")
    return 0 if report.sound else 1


def _bundle(report: BundleReport) -> Json:
    fields = ("project", "session", "size", "root", "last", "key", "trusted")
    fields += ("thoughts", "seals", "confirmed", "self_judged")
    fields += ("texts", "redacted", "signed", "unsigned")
    answer = {name: getattr(report, name) for name in fields}
    return {
        "sound": report.sound,
        **answer,
        "unsigned_places": list(report.unsigned_places),
        "quorum": present_quorum(report.quorum),
        "signers": report.signers,
        "fewer_signers": list(report.fewer_signers),
        "fault_count": report.fault_count,
        "faults": faults(report.faults),
    }


@audit_command.command(
    "prove", epilog=examples("counterpoint audit prove 12", "counterpoint audit prove --checkpoint")
)
@click.argument("sequence", type=click.IntRange(min=0), required=False)
@click.option("--checkpoint", is_flag=True, help="Print the current size and root, signed.")
@click.option(
    "--since",
    type=click.IntRange(min=0),
    metavar="SIZE",
    help="Prove that nothing was rewritten since this size.",
)
@with_context
def prove(
    context: CommandContext, *, sequence: int | None, checkpoint: bool, since: int | None
) -> None:
    """Prove that an entry is in the ledger, or that it only grew, or sign where it ends."""
    if (sequence is not None) + checkpoint + (since is not None) != 1:
        raise click.UsageError("Give a SEQUENCE, or --checkpoint, or --since SIZE.")
    verbs = context.core.audit
    context.core.signing.renew()
    if checkpoint:
        note = verbs.checkpoint()
        if context.out.json:
            context.out.answer({"checkpoint": note, "key": verbs.key.to_text()})
        else:
            context.out.document(note)
    elif sequence is not None:
        proof = verbs.inclusion(sequence)
        _print_proof(context.out, "inclusion", proof, context.core.writers.prove(sequence))
    elif since is not None:
        _print_proof(context.out, "consistency", verbs.consistency(since))


def _print_proof(out: Output, sort: str, proof: Proof, by: WriterProof | None = None) -> None:
    fields: dict[str, Json] = {
        name: value for name, value in asdict(proof).items() if value not in ("", -1)
    }
    if by is not None:
        fields |= {"writer": by.writer, "by_writer": "signed" if by.signature else "unsigned"}
    if by is not None and by.signature is not None:
        signature = by.signature
        fields |= {"delegation": signature.delegation, "signature": signature.note}
        fields |= {"place": by.place, "place_path": list(by.path)}
    if out.json:
        out.answer({"proof": sort, **fields})
        return
    out.line(f"Proof of {sort}", style="bold")
    for name, value in fields.items():
        parts: Sequence[str] = value if name in {"path", "place_path"} else str(value).splitlines()
        for number, part in enumerate(parts):
            out.line(f"  {name if number == 0 else '':<12}{part}")


@audit_command.command("export", epilog=examples("counterpoint audit export ledger.bundle"))
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), required=False)
@click.option("--session", metavar="ID", help="Only the thoughts of this sealed session.")
@click.option("--receipt", metavar="ID", help="Export this receipt, for other tools.")
@click.option("--verdict", metavar="ID", help="Export this verdict as an in-toto statement.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["in-toto", "agent-receipt"]),
    help="The format of a receipt: an in-toto statement in an envelope (the default), or an Agent Receipt.",
)
@click.option(
    "--tiles",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write static files for monitors into a new folder, or one of this ledger.",
)
@project_options
def export(
    file: Path | None,
    tiles: Path | None,
    session: str | None,
    receipt: str | None,
    verdict: str | None,
    form: Format | None,
    db: str | None,
    project: str | None,
) -> None:
    """Write the ledger as a bundle that verifies offline; without FILE to the output.

    With --receipt or --verdict it writes a document for other verifiers, with --tiles files for monitors: see
    docs/exports.md.
    """
    if tiles is not None:
        if any(option is not None for option in (file, session, receipt, verdict, form)):
            raise click.UsageError("--tiles goes with --db and --project only.")
        with (
            open_context(as_json=False, db=db, project=project, from_anywhere=True) as context,
            file_arguments.write_errors(tiles),
        ):
            write_tiles(context, tiles)
        return
    if sum(option is not None for option in (session, receipt, verdict)) > 1:
        raise click.UsageError("--session, --receipt and --verdict do not go together.")
    if form is not None and receipt is None:
        raise click.UsageError("--format goes with --receipt.")
    with open_context(as_json=False, db=db, project=project, from_anywhere=True) as context:
        core = context.core
        core.signing.renew()
        if receipt is not None:
            lines = iter([dump_any(core.exports.receipt(receipt, form or "in-toto")).encode()])
        elif verdict is not None:
            lines = iter([dump_any(core.exports.verdict(verdict)).encode()])
        else:
            lines = core.audit.export() if session is None else core.use(Seals).export(session)
        if file is None:
            for line in lines:
                context.out.document(line)
            return
        _save(file, lines)
        context.out.line(f"Wrote {file}. Verify it anywhere:")
        key = context.core.audit.key.to_text()
        if receipt is None and verdict is None:
            context.out.line(f"  counterpoint verify {file.name} --key '{key}'", is_exact=True)
        else:
            context.out.line(f"  with a tool for its format, and the key {key}")


def _save(file: Path, lines: Iterable[bytes]) -> None:
    """Write a file whole, under a name that nothing has; Conflict."""
    if file.exists():
        raise Conflict(f"{file} is there already", hint="Choose another name.")
    passing = file.with_name(f".{file.name}.{os.getpid()}.part")
    with file_arguments.write_errors(file):
        try:
            with passing.open("xb") as sink:
                _write(sink, lines)
            passing.replace(file)
        finally:
            passing.unlink(missing_ok=True)


def _write(sink: BinaryIO, lines: Iterable[bytes]) -> None:
    sink.writelines(lines)
    sink.flush()
    os.fsync(sink.fileno())


audit_command.add_command(redact_command)


@audit_command.command("rebuild", epilog=examples("counterpoint audit rebuild"))
@with_context
def rebuild(context: CommandContext) -> int:
    """Replay the ledger and compare every table with it; exit code 1 if any differs."""
    with context.out.counting("Replaying") as count:
        rebuilt = context.core.audit.rebuild(count)
    differs = faults(rebuilt.differences)
    if context.out.json:
        context.out.answer(
            {
                "same": not differs,
                "size": rebuilt.size,
                "rows": rebuilt.rows,
                "differences": differs,
            }
        )
    elif not differs:
        rows = sum(rebuilt.rows.values())
        context.out.line(
            f"Same: {agree(rows, 'row', 'is')} what {agree(rebuilt.size, 'entry', 'says')}.",
            style="green",
        )
    else:
        context.out.line("Not the same:", style="red")
        for fault in rebuilt.differences:
            context.out.line(f"  {fault.message}")
        context.out.aside(rebuilt.differences[0].hint)
    return 1 if differs else 0
