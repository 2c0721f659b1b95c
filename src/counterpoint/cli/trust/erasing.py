"""Texts taken away for good, and where they are gone, at the command line."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

import click

from counterpoint.app import App
from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.trust.confirming import confirmed
from counterpoint.core.coordinator import Core
from counterpoint.core.ledger.lines import REDACTION
from counterpoint.core.model.answers import Proof
from counterpoint.core.model.catalogue import noun_of_id
from counterpoint.core.model.identity import ProposedAct
from counterpoint.core.model.trust.erasures import ANYWHERE, Erasure
from counterpoint.core.model.work import Item
from counterpoint.core.operations.trust.erasing import Erased
from counterpoint.core.rules.trust.erasing import SHORTEST, spellings
from counterpoint.dialects.nouns import NOUNS
from counterpoint.evidence.trust.folders import state_folder
from counterpoint.evidence.trust.residue import files_of, files_of_tree, holding
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.places import own_folder

_FILE: Final = click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
_BEYOND: Final = (
    "backups and bundles made before",
    "clones and copies of these files on other machines",
    "what git has of the files of the project",
    "copies of agents' memory in folders outside of the project",
    "what agents and their programs keep",
)
_OF_A_SERVER: Final = ("the log, the backups and the copies of the database server",)
_CLEANED: Final = ("texts and salts", "search", "kept answers")


@click.command("redact")
@click.argument("id_", metavar="[ID]", default="")
@click.option(
    "--text",
    "files",
    type=_FILE,
    multiple=True,
    help="The words in this file, or - for the input; repeatable.",
)
@click.option("--reason", required=True, help="Why; it stands in the ledger.")
@with_context
def redact_command(
    context: CommandContext, *, id_: str, files: tuple[Path, ...], reason: str
) -> int:
    """Take the texts of an item or record away, or some words wherever they stand; all proofs hold.

    All versions, copies, kept answers and the index go. Then all that is kept is searched for them: exit
    code 1 if anything is left. What it cannot reach is listed. Repeat it if it was cut off.
    """
    if bool(id_) == bool(files):
        raise click.UsageError("Give an ID, or --text with a file.")
    erased = _erased(context, id_, files, reason)
    context.app.store.purge()
    words = [word for word in erased.words if len(word) >= SHORTEST]
    left = left_in(context.app, context.core, words)
    if not erased.receipt:
        if not left:
            what = id_ or "What this names"
            context.out.result(
                {"id": id_, "redacted": [], "left": []}, f"{what} has no text that is still there."
            )
            return 0
        lines = _told_of(left)
        context.out.result({"id": id_, "redacted": [], "left": left}, *lines)
        return 1
    return _close(context, id_, erased, len(words), left)


def close(
    context: CommandContext, erased: Erased, looked_for: int, left: Sequence[str]
) -> tuple[Erasure, Proof]:
    """End the receipt of what was taken away; return it with its proof."""
    app, core = context.app, context.core
    beyond = [*_BEYOND, *(_OF_A_SERVER if app.is_remote else ())]
    own = () if app.is_remote else (file.name for file in files_of(app.database))
    receipt, place = core.erasing.close(
        erased, looked_for=looked_for, cleaned=[*_CLEANED, *own], beyond=beyond, left=left
    )
    core.signing.renew()
    return receipt, core.audit.inclusion(place)


def left_in(app: App, core: Core, words: Sequence[str]) -> list[str]:
    """Return where words still stand: in the database, in files of the program's own, in the project's."""
    needles = {form.encode() for word in words for form in spellings(word)}
    if not needles:
        return []
    found = core.erasing.residue(words)
    others = [state_folder(os.environ), Path(own_folder())]
    for project in app.store.projects():
        if project.project != app.project and core.erasing.residue(words, project.project):
            found.append(f"project {project.project}")
    found += [
        f"file {_shown(file, app)}" for file in holding(files_of(app.database, *others), needles)
    ]
    tree = app.places.home
    return found + [f"file {_shown(file, app)}" for file in holding(files_of_tree(tree), needles)]


def _shown(file: Path, app: App) -> str:
    """Return a path as it may stand in the ledger: from the project on, or only its end."""
    home = app.places.home
    return str(file.relative_to(home)) if file.is_relative_to(home) else "/".join(file.parts[-2:])


def _erased(context: CommandContext, id_: str, files: Sequence[Path], reason: str) -> Erased:
    if not files:
        noun = noun_of_id(id_, NOUNS) or Item
        proposed = ProposedAct(action=REDACTION, decision={"row": f"{noun.table}/{id_}"})
        return confirmed(context, lambda: proposed, reason).erasing.of_row(noun, id_, reason=reason)
    words = [
        sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8") for file in files
    ]
    proposed = ProposedAct(action=REDACTION, decision={"row": ANYWHERE})
    core = confirmed(context, lambda: proposed, reason)
    return core.erasing.of_words(*(word.removesuffix("\n") for word in words), reason=reason)


def _close(
    context: CommandContext, id_: str, erased: Erased, looked_for: int, left: Sequence[str]
) -> int:
    receipt, proof = close(context, erased, looked_for, left)
    answer: dict[str, Json] = {
        "id": id_,
        "redacted": list(erased.commitments),
        "replies": erased.replies,
        "cleaned": list(receipt.cleaned),
        "beyond": list(receipt.beyond),
        "left": list(receipt.left),
        "receipt": {
            "id": receipt.id,
            "status": receipt.status,
            "texts": receipt.texts,
            "looked_for": receipt.looked_for,
            "tries": receipt.tries,
            **{name: value for name, value in asdict(proof).items() if value not in ("", -1)},
        },
    }
    context.out.result(answer, "\n".join(_lines(receipt, proof)))
    return 1 if left else 0


def _lines(receipt: Erasure, proof: Proof) -> list[str]:
    lines = [
        f"Took {receipt.texts} texts away with their salts; the entries keep commitments.",
        f"  receipt   {receipt.id}, entry {proof.sequence}: `counterpoint show {receipt.id}`",
    ]
    if receipt.left:
        lines += _told_of(receipt.left)
    elif receipt.looked_for:
        lines.append("  clean     nothing that is kept has a word of it")
    else:
        lines.append(
            "  not searched: nobody has the words any more; give them with --text to have all searched"
        )
    return [*lines, "Out of reach:", *(f"  {one}" for one in receipt.beyond)]


def _told_of(left: Sequence[str]) -> list[str]:
    return ["Not clean. It still stands in:", *(f"  {one}" for one in left)]
