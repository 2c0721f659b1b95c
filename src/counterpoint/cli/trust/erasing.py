"""Texts taken away for good, and where they are gone, at the command line."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Final

import click

from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.trust.confirming import confirmed
from counterpoint.core.ledger.lines import REDACTION
from counterpoint.core.model.catalogue import noun_of_id
from counterpoint.core.model.identity import ProposedAct
from counterpoint.core.model.work import Item
from counterpoint.core.operations.trust.erasing import ANYWHERE, Erased
from counterpoint.core.rules.trust.erasing import SHORTEST, spellings
from counterpoint.dialects.nouns import NOUNS
from counterpoint.evidence.trust.residue import files_of, holding
from counterpoint.kernel.canonical import Json

_FILE: Final = click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
_BEYOND: Final = (
    "backups and bundles made before",
    "clones and copies of these files on other machines",
    "files of the project itself, and what git has of them",
    "what agents and their programs keep",
)
_OF_A_SERVER: Final = ("the log, the backups and the copies of the database server",)


@click.command("redact")
@click.argument("id_", metavar="[ID]", default="")
@click.option("--text", "file", type=_FILE, help="The words in this file, or - for the input.")
@click.option("--reason", required=True, help="Why; it stands in the ledger.")
@with_context
def redact_command(context: CommandContext, *, id_: str, file: Path | None, reason: str) -> int:
    """Take the texts of an item or record away, or some words wherever they stand; all proofs hold.

    All versions, copies, kept answers and the index go. Then its own files are searched for them: exit
    code 1 if anything is left. What it cannot reach is listed.
    """
    if bool(id_) == (file is not None):
        raise click.UsageError("Give an ID, or --text with a file.")
    erased = _erased(context, id_, file, reason)
    context.app.store.purge()
    if not erased.words:
        context.out.result(
            {"id": id_, "redacted": [], "left": []}, f"{id_} has no text that is still there."
        )
        return 0
    return _told(context, id_, erased)


def _erased(context: CommandContext, id_: str, file: Path | None, reason: str) -> Erased:
    if file is None:
        noun = noun_of_id(id_, NOUNS) or Item
        proposed = ProposedAct(action=REDACTION, decision={"row": f"{noun.table}/{id_}"})
        return confirmed(context, lambda: proposed, reason).erasing.of_row(noun, id_, reason=reason)
    text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    proposed = ProposedAct(action=REDACTION, decision={"row": ANYWHERE})
    core = confirmed(context, lambda: proposed, reason)
    return core.erasing.of_text(text.removesuffix("\n"), reason=reason)


def _told(context: CommandContext, id_: str, erased: Erased) -> int:
    app, core = context.app, context.core
    searched = [word for word in erased.words if len(word) >= SHORTEST]
    needles = {form.encode() for word in searched for form in spellings(word)}
    files = files_of(app.database) if app.database.is_file() or not app.is_remote else []
    left = [*core.erasing.residue(searched), *map(str, holding(files, needles))] if needles else []
    beyond = [*_BEYOND, *(_OF_A_SERVER if app.is_remote else ())]
    cleaned = ["texts and salts", "search", "kept answers", *(file.name for file in files)]
    place = core.erasing.close(erased, cleaned=cleaned, beyond=beyond, left=left)
    proof = core.audit.inclusion(place)
    answer: dict[str, Json] = {
        "id": id_,
        "redacted": list(erased.commitments),
        "replies": erased.replies,
        "cleaned": cleaned,
        "beyond": beyond,
        "left": left,
        "receipt": {name: value for name, value in asdict(proof).items() if value not in ("", -1)},
    }
    context.out.result(answer, "\n".join(_lines(erased, beyond, left, place)))
    return 1 if left else 0


def _lines(erased: Erased, beyond: list[str], left: list[str], receipt: int) -> list[str]:
    lines = [
        f"Took {len(erased.commitments)} texts away with their salts; the entries keep commitments.",
        f"  receipt   entry {receipt}: `counterpoint audit prove {receipt}`",
    ]
    if left:
        lines += ["Not clean. It still stands in:", *(f"  {one}" for one in left)]
    else:
        lines.append("  clean     no file of the ledger has a word of it")
    return [*lines, "Out of reach:", *(f"  {one}" for one in beyond)]
