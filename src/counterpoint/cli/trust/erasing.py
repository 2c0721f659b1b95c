"""Redaction at the command line: removes texts, and shows where they are gone."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

import click

from counterpoint.app import App
from counterpoint.cli.context import CommandContext, keep_files, with_context
from counterpoint.cli.grouping import examples
from counterpoint.cli.trust import file_arguments
from counterpoint.cli.trust.confirming import confirm_act
from counterpoint.core.coordinator import Core
from counterpoint.core.model.answers import Proof
from counterpoint.core.model.catalogue import noun_of_id
from counterpoint.core.model.identity import ProposedAct
from counterpoint.core.model.rows import Noun
from counterpoint.core.model.trust.erasures import Erasure
from counterpoint.core.model.work import Item
from counterpoint.core.operations.trust.erasing import ErasedTexts
from counterpoint.core.rules.trust.erasing import SHORTEST, spellings
from counterpoint.dialects import registry
from counterpoint.dialects.nouns import NOUNS
from counterpoint.dialects.plugin import Renamed
from counterpoint.evidence.trust.folders import state_folder
from counterpoint.evidence.trust.residue import files_of, files_of_tree, holding
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import StoreFull, Unavailable
from counterpoint.kernel.places import own_folder
from counterpoint.kernel.plurals import counted

_FILE: Final = click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
_BEYOND: Final = (
    "backups and bundles made before",
    "clones and copies of these files on other machines",
    "what git has of the files of the project",
    "copies of agents' memory in folders outside of the project",
    "what agents and their programs keep",
)
_OF_A_SERVER: Final = ("the log, the backups and the copies of the database server",)
_ENTRY: Final = "entry "
_CLEANED: Final = ("texts and salts", "search", "kept answers")


@click.command(
    "redact",
    epilog=examples(
        "counterpoint audit redact 4 --reason 'It names a customer'",
        "counterpoint audit redact --text ../words.txt --reason 'A key that leaked'",
    ),
)
@click.argument("id_", metavar="[ID]", default="")
@click.option(
    "--text",
    "files",
    type=_FILE,
    multiple=True,
    help="Remove the words in this file (`-` reads standard input); repeatable.",
)
@click.option("--reason", required=True, help="Why; recorded in the ledger.")
@with_context
def redact_command(
    context: CommandContext, *, id_: str, files: tuple[Path, ...], reason: str
) -> int:
    """Remove the texts of an item or record, or some words everywhere; all proofs stay valid.

    It removes all versions, copies, stored answers and the search index, then searches all stored bytes: exit code 1
    if anything is left. It lists what it cannot reach. Repeat it if it was interrupted.

    At the end it rewrites the database file. Writers wait meanwhile, 2 to 8 seconds for each 100 MB, and the disk needs
    free space of twice the file's size.
    """
    if bool(id_) == bool(files):
        raise click.UsageError("Give an ID, or --text with a file.")
    if id_ and (item := context.core.items.named(id_)) is not None:
        id_ = item.id
    try:
        return _redact(context, id_, files, reason)
    except StoreFull as full:
        raise StoreFull(full.message, hint=_room(context)) from full


def _redact(context: CommandContext, id_: str, files: Sequence[Path], reason: str) -> int:
    erased = _erased(context, id_, files, reason)
    # Before the file is made anew, which leaves nothing of rows that were there.
    renamed = registry.rename_redacted(context.core)
    with context.out.counting("Making the file anew, writers wait"):
        context.app.store.purge()
    words = [word for word in erased.words if len(word) >= SHORTEST]
    _renew(context, words)
    names = [_name_left(context, name, entry) for name, some in renamed.items() for entry in some]
    leftovers = [
        *find_remains(context.app, context.core, words),
        *(text for remnant in names for text in remnant.left),
    ]
    for name_left in names:
        context.out.aside(name_left.told)
    if not erased.receipt:
        before = None if files else _last(context.core, id_)
        if before is not None and before.left:
            answer: dict[str, Json] = {"id": id_, "redacted": [], "left": list(before.left)}
            context.out.result(answer, *_not_searched(before))
            return 1
        if not leftovers:
            what = id_ or "What this names"
            context.out.result(
                {"id": id_, "redacted": [], "left": []}, f"{what} has no text that is still there."
            )
            return 0
        lines = _lines_of(leftovers)
        context.out.result({"id": id_, "redacted": [], "left": leftovers}, *lines)
        return 1
    return _close(context, id_, erased, len(words), leftovers, names)


@dataclass(frozen=True, slots=True, kw_only=True)
class _NameLeft:
    """A name that has gone, in words without it: the present one, the entries that keep the former, and where else it stays."""

    item: str
    dialect: str
    name: str
    entries: tuple[int, ...]
    left: tuple[str, ...]

    @property
    def told(self) -> str:
        return (
            f"{self.item} is called {self.name} in {self.dialect} now: its former id had words of the title. The former one leads"
            f" there. Entries of the ledger keep it for good"
            f" ({_ranges(self.entries)}), as backups and exports made before do, and git's history if the file was committed."
        )


def _name_left(context: CommandContext, dialect: str, renamed: Renamed) -> _NameLeft:
    """Look for a former name everywhere; what stays is told without it."""
    core, tree = context.core, context.app.places.home
    residue = core.erasing.residue([renamed.former])
    entries = tuple(int(at.removeprefix(_ENTRY)) for at in residue if at.startswith(_ENTRY))
    rows = [f"{_named(at)}, by its former id" for at in residue if not at.startswith(_ENTRY)]
    holders = sum(1 for _ in holding(files_of_tree(tree), {renamed.former.encode()}))
    if holders:
        rows.append(
            f"{counted(holders, 'file')} of the project, by its former id: look for it there"
        )
    return _NameLeft(
        item=renamed.item,
        dialect=dialect,
        name=renamed.name,
        entries=entries,
        left=tuple(f"{renamed.name} in {at}" for at in rows) + tuple(renamed.left),
    )


def _named(at: str) -> str:
    return "texts" if at.startswith("texts ") else at


def _ranges(numbers: Sequence[int]) -> str:
    """Return numbers in words, neighbours together: `3, 5 to 9`."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][-1] == number - 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ", ".join(" to ".join(map(str, part)) for part in parts)


def _renew(context: CommandContext, words: Sequence[str]) -> None:
    """Have no file that is written beside the ledger hold a text longer than this."""
    from counterpoint.dialects.foundry.environment.errors import Errors

    keep_files(context.app, waits=True)
    # What stays is told: all files are searched after this.
    with suppress(Unavailable):
        context.core.use(Errors).forget(words)


def _last(core: Core, id_: str) -> Erasure | None:
    """Return the last receipt of what an id names; None if there is none."""
    row = f"{_noun_of(id_).table}/{id_}"
    return next(
        (receipt for receipt in reversed(core.erasing.list()) if receipt.place == row), None
    )


def _not_searched(before: Erasure) -> list[str]:
    return [
        f"Not clean when the receipt {before.id} was ended. It still stood in:",
        *(f"  {line}" for line in before.left),
        "Nobody has the words any more; give them with --text to have all searched again.",
    ]


def _room(context: CommandContext) -> str:
    """Return what to do where the disk is full: whatever is gone is gone, and its receipt waits."""
    open_ = [receipt.id for receipt in context.core.erasing.list() if receipt.status == "begun"]
    goes_on = f": it goes on in the receipt that is open ({', '.join(open_)})" if open_ else ""
    return (
        f"Free room on the disk of twice the size of the ledger, and repeat the command{goes_on}."
    )


def close(
    context: CommandContext,
    erased: ErasedTexts,
    looked_for: int,
    leftovers: Sequence[str],
    unreachable: Sequence[str] = (),
) -> tuple[Erasure, Proof]:
    """End the receipt of what was taken away; return it with its proof. unreachable: further places that nobody can reach."""
    app, core = context.app, context.core
    beyond = [*_BEYOND, *(_OF_A_SERVER if app.is_remote else ()), *unreachable]
    own = () if app.is_remote else (file.name for file in files_of(app.database))
    receipt, sequence = core.erasing.close(
        erased, looked_for=looked_for, cleaned=[*_CLEANED, *own], beyond=beyond, remains=leftovers
    )
    core.signing.renew()
    return receipt, core.audit.inclusion(sequence)


def find_remains(app: App, core: Core, words: Sequence[str]) -> list[str]:
    """Return where words still stand: in the database, in files of the program's own, in the project's."""
    needles = {form.encode() for word in words for form in spellings(word)}
    if not needles:
        return []
    residue = core.erasing.residue(words)
    others = [state_folder(os.environ), Path(own_folder())]
    for project in app.store.projects():
        if project.project != app.project and core.erasing.residue(words, project.project):
            residue.append(f"project {project.project}")
    residue += [
        f"file {_shown(file, app)}" for file in holding(files_of(app.database, *others), needles)
    ]
    tree = app.places.home
    return residue + [f"file {_shown(file, app)}" for file in holding(files_of_tree(tree), needles)]


def _shown(file: Path, app: App) -> str:
    """Return a path as it may stand in the ledger: from the project on, or only its end."""
    home = app.places.home
    return str(file.relative_to(home)) if file.is_relative_to(home) else "/".join(file.parts[-2:])


def _erased(context: CommandContext, id_: str, files: Sequence[Path], reason: str) -> ErasedTexts:
    verbs = context.core.erasing
    if not files:
        noun = _noun_of(id_)
        core = confirm_act(
            context,
            lambda: verbs.proposed_row(noun, id_),
            lambda core: core.erasing.refuse(),
            reason,
        )
        return core.erasing.of_row(noun, id_, reason=reason)
    read = (
        file_arguments.read_input() if str(file) == "-" else file_arguments.text_of(file)
        for file in files
    )
    words = [word.removesuffix("\n") for word in read]

    def proposed() -> ProposedAct:
        act = verbs.proposed_words(*words)
        # The words themselves are not shown: a terminal keeps what it showed.
        names = ", ".join("the input" if str(file) == "-" else file.name for file in files)
        return replace(act, shown={**act.shown, "row": f"wherever the words of {names} stand"})

    core = confirm_act(context, proposed, lambda core: core.erasing.refuse(), reason)
    return core.erasing.of_words(*words, reason=reason)


def _noun_of(id_: str) -> type[Noun]:
    return noun_of_id(id_, NOUNS) or Item


def _close(
    context: CommandContext,
    id_: str,
    erased: ErasedTexts,
    looked_for: int,
    leftovers: Sequence[str],
    names: Sequence[_NameLeft],
) -> int:
    unreachable = [
        f"entries that name {remnant.name} by its former id: {_ranges(remnant.entries)}"
        for remnant in names
    ]
    receipt, proof = close(context, erased, looked_for, leftovers, unreachable)
    answer: dict[str, Json] = {
        "id": id_,
        "redacted": list(erased.commitments),
        "replies": erased.replies,
        "cleaned": list(receipt.cleaned),
        "beyond": list(receipt.beyond),
        "left": list(receipt.left),
        "renamed": [
            {**asdict(remnant), "entries": [*remnant.entries], "left": [*remnant.left]}
            for remnant in names
        ],
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
    return 1 if leftovers else 0


def _lines(receipt: Erasure, proof: Proof) -> list[str]:
    lines = [
        f"Took {receipt.texts} texts away with their salts; the entries keep commitments.",
        f"  receipt   {receipt.id}, entry {proof.sequence}: `counterpoint show {receipt.id}`",
    ]
    if receipt.left:
        lines += _lines_of(receipt.left)
    elif receipt.looked_for:
        lines.append("  clean     nothing that is kept has a word of it")
    else:
        lines.append(
            "  not searched: nobody has the words any more; give them with --text to have all searched"
        )
    return [*lines, "Out of reach:", *(f"  {line}" for line in receipt.beyond)]


def _lines_of(leftovers: Sequence[str]) -> list[str]:
    return ["Not clean. It still stands in:", *(f"  {line}" for line in leftovers)]
