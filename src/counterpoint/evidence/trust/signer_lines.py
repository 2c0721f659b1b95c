"""The lines that a signer in a program of its own is asked and answers by.

1. Lines are canonical JSON in UTF-8, at most `LONGEST` bytes, each ended by a line feed. Whoever asks waits for the answer before
   the next line. The end of the input ends the program.
2. The first line is `{"counterpoint_signer": 1, "place": text}`; the answer is `{"ok": 1}`. The place is the name of the database:
   under it the signer remembers which ledgers it signed there.
3. Each further line is `{"do": verb, "ledger": id, …}`. An answer is `{"ok": value}` or `{"error": {"code", "hint", "message"}}`. A line that
   cannot be read is answered by an error of the code `invalid_input`, and so is a verb that there is not.
4. Bytes stand in hex. A head that was signed is `{"epoch", "note", "root", "size", "time"}`; one that is to be signed is `{"before", "epoch",
   "gone": [name, …], "origin", "proof": [hash, …], "root", "size"}`, where only an epoch says that ledgers are gone from the place. A range of a writer is `{"before", "count", "first", "last", "proof": [hash, …], "root",
   "writer"}` (see core/model/trust/writers.py).

    do           with         answers                                        may be refused as
    known_key    ledger       the public key, or null: nothing is made
    last         ledger       the head that was signed last, or null
    signed       ledger size  a head of this size in the present epoch, or null
    placed       -            {name: ledger, …}: those that were signed in this place and are not gone
    public_key   ledger       the public key, made on first use
    sign         ledger       the signature of `statement`                   forbidden: it is a head, or of a writer
    sign_ranges  ledger origin ranges  for each range {"delegation", "note"}, or null if it does not go on from the last of its writer
    sign_head    ledger head  the head, signed                               fork_refused, stale_version
    open_epoch   ledger head  the head, signed                               forbidden without a permit, fork_refused

5. Who may speak with the program may have heads signed that extend the last, ranges of writers that go on from the last, which the program words
   itself, and statements that are neither. An epoch takes a permit of the account that
   has the key (`counterpoint signer --permit-epoch ID`), which counts once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from counterpoint.core.model.trust.heads import Growth, SignedHead
from counterpoint.core.model.trust.writers import WriterGrowth, WriterSignature
from counterpoint.core.ports.signer import Signer
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import (
    CounterpointError,
    Forbidden,
    ForkRefused,
    InvalidInput,
    SignerAway,
    StaleVersion,
)

NUMBER: Final = 1
"""The version of these lines."""
LONGEST: Final = 4_000_000
_HELLO: Final = "counterpoint_signer"
_REFUSALS: Final[Mapping[str, type[CounterpointError]]] = {
    error().code: error
    for error in (Forbidden, ForkRefused, InvalidInput, SignerAway, StaleVersion)
}


class PermittingSigner(Signer, Protocol):
    """A signer whose account permits epochs beforehand."""

    def permit_epoch(self, ledger: str) -> None:
        """Permit the next epoch of a ledger, once; NotFound."""
        ...

    def take_permit(self, ledger: str) -> bool:
        """Take the permit of a ledger away; return whether there was one."""
        ...


def hello(location: str) -> bytes:
    """Return the first line."""
    return canonical.dump({_HELLO: NUMBER, "place": location})


def place_of(line: bytes) -> str:
    """Return the place of a first line; InvalidInput for any other."""
    fields = canonical.object_of(canonical.load(line))
    if fields.get(_HELLO) != NUMBER:
        raise InvalidInput(
            f"this signer speaks version {NUMBER} of its lines",
            hint="Install the same version of the program on both sides.",
        )
    return str(fields.get("place", ""))


def request(do: str, **fields: Json) -> bytes:
    """Return the line that asks for something."""
    return canonical.dump({"do": do, **fields})


def answer(signer: PermittingSigner, line: bytes) -> bytes:
    """Return the line that answers one."""
    try:
        fields = canonical.object_of(canonical.load(line))
        verb = _VERBS.get(str(fields.get("do")))
        if verb is None:
            raise InvalidInput(f"a signer does not know {fields.get('do')!r}")
        return accepted(verb(signer, fields))
    except CounterpointError as fault:
        return refused(fault)
    except (KeyError, TypeError, ValueError) as fault:
        return refused(InvalidInput(f"this line lacks or misspells something: {fault!r}"))


def accepted(value: Json) -> bytes:
    """Return the line of an answer."""
    return canonical.dump({"ok": value})


def refused(fault: CounterpointError) -> bytes:
    """Return the line of a refusal."""
    code = fault.code if fault.code in _REFUSALS else SignerAway().code
    error = {"code": code, "hint": fault.hint, "message": fault.message}
    return canonical.dump({"error": error})


def value_of(line: bytes) -> Json:
    """Return the value of an answer; SignerAway for a line that is none, else the refusal that it tells."""
    try:
        fields = canonical.object_of(canonical.load(line))
        if "ok" in fields:
            return fields["ok"]
        error = canonical.object_of(fields["error"])
    except (KeyError, InvalidInput) as fault:
        raise SignerAway("what the signer's program says cannot be read") from fault
    kind = _REFUSALS.get(str(error.get("code")), SignerAway)
    raise kind(str(error.get("message")), hint=str(error.get("hint")))


def head_json(head: SignedHead) -> dict[str, Json]:
    """Return the JSON of a head that was signed."""
    return {
        "epoch": head.epoch,
        "note": head.note,
        "root": head.root.hex(),
        "size": head.size,
        "time": head.time,
    }


def head_of(value: Any) -> SignedHead:
    """Return the head of its JSON; KeyError, TypeError, ValueError."""
    return SignedHead(
        size=int(value["size"]),
        root=bytes.fromhex(value["root"]),
        epoch=int(value["epoch"]),
        time=str(value["time"]),
        note=str(value["note"]),
    )


def growth_json(head: Growth) -> dict[str, Json]:
    """Return the JSON of a head that is to be signed."""
    return {
        "before": head.before,
        "epoch": head.epoch,
        "gone": list(head.gone),
        "origin": head.origin,
        "proof": [node.hex() for node in head.proof],
        "root": head.root.hex(),
        "size": head.size,
    }


def _growth_of(value: Any) -> Growth:
    return Growth(
        origin=str(value["origin"]),
        size=int(value["size"]),
        root=bytes.fromhex(value["root"]),
        before=int(value["before"]),
        proof=tuple(bytes.fromhex(node) for node in value["proof"]),
        epoch=int(value["epoch"]),
        gone=tuple(map(str, value["gone"])),
    )


def range_json(growth: WriterGrowth) -> dict[str, Json]:
    """Return the JSON of a range that is to be signed."""
    return {
        "before": growth.before,
        "count": growth.count,
        "first": growth.first,
        "last": growth.last,
        "proof": [node.hex() for node in growth.proof],
        "root": growth.root.hex(),
        "writer": growth.writer,
    }


def _range_of(value: Any) -> WriterGrowth:
    return WriterGrowth(
        writer=str(value["writer"]),
        first=int(value["first"]),
        last=int(value["last"]),
        count=int(value["count"]),
        root=bytes.fromhex(value["root"]),
        before=int(value["before"]),
        proof=tuple(bytes.fromhex(node) for node in value["proof"]),
    )


def signatures_of(value: Any, growths: Sequence[WriterGrowth]) -> list[WriterSignature | None]:
    """Return what was signed of ranges; KeyError, TypeError, ValueError."""
    return [
        None
        if fields is None
        else WriterSignature(
            writer=growth.writer,
            first=growth.first,
            delegation=str(fields["delegation"]),
            note=str(fields["note"]),
        )
        for growth, fields in zip(growths, value, strict=True)
    ]


def _sign_ranges(signer: PermittingSigner, fields: Mapping[str, Any]) -> Json:
    growths = [_range_of(entry) for entry in fields["ranges"]]
    signatures = signer.sign_ranges(str(fields["ledger"]), str(fields["origin"]), growths)
    return [
        {"delegation": signature.delegation, "note": signature.note} if signature else None
        for signature in signatures
    ]


def _maybe(head: SignedHead | None) -> Json:
    return head_json(head) if head else None


def _known_key(signer: PermittingSigner, fields: Mapping[str, Any]) -> Json:
    key = signer.known_key(str(fields["ledger"]))
    return key.hex() if key else None


def _open_epoch(signer: PermittingSigner, fields: Mapping[str, Any]) -> Json:
    ledger = str(fields["ledger"])
    # Taken before it is used: of two that ask at once one has it, and who is killed in between has used it.
    if not signer.take_permit(ledger):
        raise Forbidden(
            "an epoch takes a permit of the account that has the key",
            hint=f"Run `counterpoint signer --permit-epoch {ledger}` there, and open the epoch again.",
        )
    try:
        return head_json(signer.open_epoch(ledger, _growth_of(fields["head"])))
    except CounterpointError:
        # What is refused costs no permit.
        signer.permit_epoch(ledger)
        raise


_VERBS: Final[Mapping[str, Callable[[PermittingSigner, Mapping[str, Any]], Json]]] = {
    "known_key": _known_key,
    "last": lambda signer, fields: _maybe(signer.last(str(fields["ledger"]))),
    "signed": lambda signer, fields: _maybe(
        signer.signed(str(fields["ledger"]), int(fields["size"]))
    ),
    "placed": lambda signer, _: dict(signer.placed()),
    "public_key": lambda signer, fields: signer.public_key(str(fields["ledger"])).hex(),
    "sign": lambda signer, fields: signer.sign(
        str(fields["ledger"]), bytes.fromhex(fields["statement"])
    ).hex(),
    "sign_ranges": _sign_ranges,
    "sign_head": lambda signer, fields: head_json(
        signer.sign_head(str(fields["ledger"]), _growth_of(fields["head"]))
    ),
    "open_epoch": _open_epoch,
}
