"""A ledger with people in it, to forge from: chain, tree and checkpoint of every forgery are right."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import orjson

from counterpoint.core.ledger import checkpoint as checkpoints
from counterpoint.core.ledger.checkpoint import Checkpoint
from counterpoint.core.ledger.merkle import leaf_hash, root_of
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.core.ledger.offline import verify_any
from counterpoint.core.ledger.people.sshsig import seal
from counterpoint.core.ledger.people.statement import Statement, message_of
from counterpoint.core.model.filters import Edit, Judgment, Report
from counterpoint.core.model.identity import ProposedAct
from counterpoint.kernel import canonical
from fakes.people import Person
from fakes.studio import FixedKey, Studio

VERIFIER = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "verifier" / "verify.py"))
Entry = dict[str, Any]
PLAN = "# Plan\n- [ ] A\n  - review: yes\n- [ ] B\n"


class Story:
    """A ledger with two people in it, to forge from."""

    def __init__(self) -> None:
        """Let the people act, and export what they did."""
        self.studio = studio = Studio()
        self.pat, self.sam = Person(studio=studio), Person(studio=studio, name="sam")
        self.pat.enrol()
        self.sam.enrol(by=self.pat)
        ada = studio.core("ada")
        first = ada.plans.create(ada.plans.read(PLAN)).ready[0]
        started = ada.claims.start(first)
        ada.tasks.finish(first, started.claim.token, Report(outcome="done", summary="it works"))
        self.pat.judge(first, Judgment(approves=True, reason="well done"))
        edit = ProposedAct(action="item.edited", subject="demo-3")
        self.sam.does(edit, "because").items.edit("demo-3", Edit(title="C"))
        self.pat.revoke(self.sam.unsigned.people.get("sam"))
        self._export()

    def _export(self) -> None:
        studio = self.studio
        self.key: VerifierKey = studio.system.audit.key
        studio.system.signing.renew()
        head, *lines = (line[:-1] for line in studio.system.audit.export())
        self.header = orjson.loads(head)
        size = checkpoints.open_checkpoint(self.header["checkpoint"]).size
        self.entries: list[Entry] = [orjson.loads(line) for line in lines[:size]]
        self.texts = lines[size:]

    def place(self, action: str) -> int:
        """Answer where the last entry of an action is."""
        return max(one["n"] for one in self.entries if one["a"] == action)

    def bundle(
        self, entries: list[Entry], texts: list[bytes], epoch: int | None = None
    ) -> list[bytes]:
        """Answer a bundle of entries, chained and signed anew with the server's key, in the last epoch or another."""
        lines: list[bytes] = []
        before = "0" * 64
        for place, entry in enumerate(entries):
            lines.append(canonical.dump(entry | {"n": place, "h": before}))
            before = leaf_hash(lines[-1]).hex()
        root = root_of([leaf_hash(line) for line in lines])
        told = last_epoch(entries) if epoch is None else epoch
        ends = (f"epoch {told}",) if told > 1 else ()
        sealed = Checkpoint(origin=self.key.name, size=len(lines), root=root, extensions=ends)
        note = checkpoints.seal(sealed, FixedKey().sign, self.key)
        head = canonical.dump(self.header | {"checkpoint": note})
        return [line + b"\n" for line in (head, *lines, *texts)]

    def is_found(
        self, entries: list[Entry], texts: list[bytes] | None = None, epoch: int | None = None
    ) -> bool:
        """Answer whether a bundle of entries is found to be forged; both verifiers must agree."""
        lines = self.bundle(entries, self.texts if texts is None else texts, epoch)
        report = verify_any(lines, self.key)
        try:
            VERIFIER["verify"](b"".join(lines), self.key.to_text())
        except VERIFIER["Broken"]:
            assert not report.sound
            return True
        assert report.sound, report.faults
        return False

    def appended(self, change: Callable[[Entry], None], action: str) -> list[Entry]:
        """Answer the entries with a changed copy of the last one of an action at the end."""
        entry = deepcopy(self.entries[self.place(action)])
        entry["t"] = self.entries[-1]["t"]
        change(entry)
        return [*self.entries, entry]


def last_epoch(entries: list[Entry]) -> int:
    """Answer the number of the last epoch that entries tell of."""
    rows = [row for one in entries for row in one.get("r", ()) if row["t"] == "epochs"]
    return max([1, *(row["k"]["number"] for row in rows)])


def confirmation(entry: Entry) -> Entry:
    """Answer the columns of the confirmation in an entry."""
    return next(row["v"] for row in entry["r"] if row["t"] == "confirmations")


def signed_anew(entry: Entry, person: Person, signer: str = "", **other: Any) -> None:
    """Sign what the entry says with some person's key, in the name of `signer`."""
    name = signer or person.key
    columns = confirmation(entry)
    old = Statement.from_text(columns["statement"])
    fields = {name: getattr(old, name) for name in Statement.__dataclass_fields__}
    made = Statement(**(fields | {"nonce": "ab" * 16, "signed_by": name} | other))
    columns |= {
        "statement": made.to_text(),
        "signed_by": name,
        "signature": seal(message_of(made.to_text()), person.public_key, person.private.sign),
    }
    next(row for row in entry["r"] if row["t"] == "confirmations")["k"]["id"] = made.nonce
    entry["w"]["i"] = {"i": name, "k": "person"}
