"""Secrets: whatever verb they come through, they never reach the disk."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Literal, get_origin, get_type_hints

import apsw
import pytest

from counterpoint.app import NOUNS
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.evidence import Command
from counterpoint.core.model.filters import Check, Edit, Handover, Judgment, Note, Report
from counterpoint.core.model.journal import Outcome, Receipt, Record
from counterpoint.core.model.rows import (
    Digest,
    Id,
    InSession,
    Number,
    Root,
    Time,
    Touched,
    Version,
    Word,
    columns,
)
from counterpoint.core.operations.gates import signed_bytes
from counterpoint.core.operations.recording.unit import recording
from counterpoint.kernel import canonical
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import InvalidInput
from fakes.studio import Studio
from fakes.texts import kept_as

KEY = "AKIAABCDEFGHIJKLMNOP"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEabcdefghijklm\n-----END RSA PRIVATE KEY-----"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkw.dozjgNryP4J3jVmNHl0w5N"
SECRETS = {
    "aws": ("AKIAABCDEFGHIJKLMNOP", "AKIAABCDEFGHIJKLMNOP"),
    "github": ("ghp_" + "a1" * 18, "a1a1a1a1"),
    "jwt": (JWT, "dozjgNryP4J3"),
    "pem": (PEM, "MIIEabcdefghijklm"),
    "env": ('p"ss\\wörd-of-env', "rd-of-env"),
    "named": ('password="hunter2222"', "hunter2222"),
    "address": ("https://joe:s3cr3tpw@example.org", "s3cr3tpw"),
}


def every_verb(studio, secret):
    """Write a secret through every verb that takes words."""
    ada, bob = studio.core("ada"), studio.core("bob")
    line = " ".join(secret.splitlines())
    path = "plain" if "://" in secret else secret
    draft = Draft(
        kind="plan", title=f"t {line}"[:300], body=secret,
        children=(
            Draft(kind="task", title="A", acceptance=(secret,), checks=(("run", secret),),
                  profile=line, review=True),
            Draft(kind="task", title="B"),
        ),
    )  # fmt: skip
    made = ada.plans.create(draft)
    item, other = made.items[1].id, made.items[2].id
    edit = Edit(title=line, body=secret, assignee=line, profile=line, reason=secret)
    ada.items.edit(other, edit)
    studio.tree.write(f"{path}.txt", "x")
    studio.tree.outputs["run"] = f"said {secret}"
    token = ada.claims.start(item).claim.token
    note = Note(
        kind="blocker", body=secret, title=secret, item=other, tags=(secret,), files=(path,),
        details={"deep": [{"er": secret}], secret: 1},
    )  # fmt: skip
    record = ada.journal.append(note)
    ada.journal.resolve(record.id, secret)
    ada.gates.verify(Check(item=item), token)
    ada.gates.verify(Check(command=Command(argv=("run", secret), folder=secret)))
    studio.tree.write(f"{path}.md", "x")
    studio.tree.commit()
    ada.reviews.submit(item, f"{path}.txt", secret, token)
    report = Report(
        outcome="done", summary=secret, achievements=(secret,), limitations=(secret,),
        next_steps=(secret,), met=(0,),
    )  # fmt: skip
    ada.tasks.finish(item, token, report)
    bob.reviews.review(item, Judgment(approves=False, reason=secret, fixes=(secret,),
                                      subject=secret))  # fmt: skip
    ada.memory.put("project", "kept", {"list": [secret], "deep": {secret: secret}})
    ada.once("key", {"a": secret}, lambda: {"said": ada.memory.put("project", "k", secret).value})
    ada.sessions.hand_over(
        Handover(action="end", summary=secret, next_steps=(secret,), blockers=(secret,),
                 context=secret)
    )  # fmt: skip


@pytest.mark.parametrize("kind", SECRETS)
def test_no_verb_writes_a_secret_down(tmp_path, kind):
    """Neither a table, nor a text, nor an entry, nor the search holds it, in any spelling."""
    secret, core = SECRETS[kind]
    studio = Studio(tmp_path / "store.db")
    studio.masking(SECRETS["env"][0])
    every_verb(studio, secret)
    studio.check()
    with studio.view() as view:
        for record in view.select(Record):
            canonical.load(record.details)
        for outcome in view.select(Outcome):
            canonical.load(outcome.evidence)
    for entry in studio.core("eve").memory.list("project", "", 9):
        canonical.load(entry.value)
    studio.close()
    connection = apsw.Connection(str(tmp_path / "store.db"))
    dump = bytearray()
    for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'"):
        if name == "search":
            continue  # it is virtual: its words lie in the tables beside it
        for row in connection.execute(f'SELECT * FROM "{name}"'):  # noqa: S608 -- names of the schema
            for cell in row:
                dump += cell if isinstance(cell, bytes) else str(cell).encode()
    connection.close()
    assert b"[secret]" in dump
    for spelling in (core, core.encode("unicode_escape").decode()):
        assert spelling.lower().encode() not in dump.lower()


def test_the_answer_to_a_retry_stays_an_answer(studio, ada):
    """An unclosed key at the end of a value must not swallow the rest of the JSON."""
    text = "-----BEGIN PRIVATE KEY-----\nMIIE"

    def run():
        return {"said": ada.memory.put("project", "n", text).version, "text": text, "n": [1]}

    assert ada.once("k", 1, run)["n"] == [1]
    assert ada.once("k", 1, run) == {"said": 1, "text": "[secret]", "n": [1]}
    assert canonical.load(ada.memory.get("project", "n").value) == "[secret]"


def test_what_stands_under_the_name_of_a_secret_is_hidden(ada):
    """Words and numbers, but not a switch, and not what is too short to be one."""
    value = {"password": 12345678, "api_key": "abcdefgh", "secret": True, "token": "plainword",
             "client_secret": "no", "auth_token": None}  # fmt: skip
    kept = canonical.load(ada.memory.put("project", "n", value).value)
    assert kept == value | {"password": "[secret]", "api_key": "[secret]"}


@pytest.mark.parametrize(
    "write",
    [
        lambda core, s: core.memory.put("project", s, 1),
        lambda core, s: core.plans.create(Draft(kind="task", title="x", labels=(s,))),
        lambda core, s: core.plans.create(Draft(kind="task", title="x", areas=(s,))),
        lambda core, s: core.once(s, 1, lambda: core.memory.put("project", "n", 1).version),
    ],
    ids=["memory", "label", "area", "key"],
)
def test_a_secret_in_a_name_is_refused(studio, ada, write):
    """A masked name could not be told from another masked name."""
    studio.refuses(InvalidInput, lambda: write(ada, "AKIAABCDEFGHIJKLMNOP"))


def test_a_masked_receipt_verifies(studio, ada):
    """The signature is over what is kept."""
    studio.masking("known-secret")
    ada = studio.core("ada")
    studio.tree.outputs["run"] = "it said known-secret"
    command = Command(argv=("run", "known-secret"), folder="known-secret")
    receipt = ada.gates.verify(Check(command=command)).receipts[0]
    kept = ada.overview.find(Receipt, receipt.id)
    assert kept == receipt
    with studio.view() as view:
        signed = signed_bytes(kept, partial(kept_as, view))
    assert kept.signature == studio.system.signing.statement(signed).hex()
    assert (kept.argv, kept.folder) == (("run", "[secret]"), "[secret]")


@pytest.mark.parametrize("noun", NOUNS, ids=lambda noun: noun.table)
def test_every_field_that_anybody_may_write_is_masked(studio, noun):
    """Of each noun: what is named or told; a key with a secret in it is refused as a whole."""
    empty = {"text": "", "int": 0, "list": (), "prose": "", "proses": (), "hash": ""}
    secret = {"text": KEY, "list": ("a", KEY), "proses": ("a", KEY)}
    row = noun(**{one.name: empty[one.sort] for one in columns(noun)})
    with recording(studio.context(studio.core("ada")), "test") as change:
        assert change.masked(row) is row
        for one in columns(noun):
            if one.sort == "int" or one.masking == "no":
                continue
            told = '{"a": "\\u0041KIAABCDEFGHIJKLMNOP"}' if one.masking == "json" else KEY
            wrong = replace(row, **{one.name: secret.get(one.sort, told)})
            if one.name in noun.key:
                with pytest.raises(InvalidInput):
                    change.masked(wrong)
            else:
                kept = str(getattr(change.masked(wrong), one.name))
                assert KEY not in kept
                assert "[secret]" in kept


def test_what_is_not_masked_cannot_hold_a_secret():
    """An id, a word of the program's own, a time or a digest: by the type of the field, in each noun."""
    safe = {Id, InSession, Root, Word, Time, Timestamp, Touched, Digest, int, bool, Number, Version}
    for noun in NOUNS:
        hints = get_type_hints(noun, include_extras=True)
        for one in columns(noun):
            if one.masking == "no":
                assert hints[one.name] in safe or get_origin(hints[one.name]) is Literal


def test_a_name_of_an_agent_is_masked_as_any_other(studio):
    """Who acts is called by a name that he chose."""
    core = studio.core(KEY)
    record = core.journal.append(Note(kind="comment", body="x"))
    assert core.overview.find(Record, record.id).agent == "[secret]"


def test_a_session_whose_id_holds_a_secret_is_refused(studio):
    """An agent's side may choose it, so it is looked at like every name."""
    core = studio.core("ada", session=KEY)
    studio.refuses(InvalidInput, lambda: core.journal.append(Note(kind="comment", body="x")))
