"""Acts that several people sign, each at a terminal of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from counterpoint.app import open_app
from counterpoint.core.model.identity import ProposedAct
from counterpoint.evidence.trust import personal
from fakes.terminal import PASSPHRASE, Open, Terminal, add_key, hold_key, sign

ODD: list[tuple[str, dict[str, Any]]] = [
    ("reads.switched", {"reads": "off", "threshold": 1}),
    ("reads.switched", {"threshold": 1}),
    ("signers.changed", {"threshold": True}),
    ("policy.changed", {"policy": ["person"]}),
    ("quorum.changed", {"quorum": "x", "witnesses": 5}),
    ("quorum.changed", {"quorum": 1, "witnesses": []}),
    ("key.enrolled", {"key": "x", "owner": ["ann"]}),
    ("key.revoked", {"key": 5}),
    ("key.revoked", {"key": "cyd"}),
]
VERIFIER = Path(__file__).parents[3] / "docs" / "verifier" / "verify.py"


def fresh_key(at: Open, *words: str, **environ: str) -> Terminal:
    """Have a key made under a passphrase; what is asked after that is for the caller."""
    terminal = at("key", "add", *words, **environ)
    terminal.expect("Passphrase for a fresh key:")
    terminal.type(PASSPHRASE)
    terminal.expect("The same again:")
    terminal.type(PASSPHRASE)
    return terminal


def two_people(at: Open, tmp_path: Path) -> str:
    """Let ann and cyd have a key each, and two have to sign; answer where cyd keeps his."""
    other = str(tmp_path / "cyd")
    add_key(at)
    hold_key(Path(other) / "counterpoint" / "keys", "cyd")
    terminal = at("key", "add", "--name", "cyd", XDG_CONFIG_HOME=other)
    assert terminal.end() == 0
    line = next(one for one in terminal.seen.splitlines() if one.startswith("ssh-ed25519 "))
    Path("cyd.pub").write_text(f"{line}\n")
    refused = at("policy", "--signers", "2")
    assert sign(refused) == 1
    assert "signatures of 2 people, where 1 have keys" in " ".join(refused.seen.split())
    assert sign(at("key", "add", "--name", "cyd", "--public", "cyd.pub")) == 0
    assert sign(at("policy", "--signers", "2")) == 0
    return other


def test_two_people_change_what_one_does_not(
    call: Any, at: Open, ledger: Path, tmp_path: Path
) -> None:
    """The first command proposes, status tells the next person what to type, and the same command then does it."""
    other = two_people(at, tmp_path)
    assert "Signers: 2 people sign policies, keys and epochs" in call("policy").out
    # Without a signature nothing is proposed.
    assert call("policy", "--reviews", "person").code == 1
    first = at("policy", "--reviews", "person")
    assert sign(first) == 0
    assert "1 of 2 people have signed: ann; cyd may. Nothing has changed yet." in " ".join(
        first.seen.split()
    )
    assert "The next person types: counterpoint policy --reviews person" in first.seen
    assert call("policy", "--json").json == {"reviews": "attested", "signers": 2}
    told = call("status", "--json").json
    (proposal,) = told["signers"]["proposals"]
    assert (proposal["signed"], proposal["missing"]) == (["ann"], ["cyd"])
    (due,) = [one for one in told["waiting_for_you"] if one["id"] == proposal["id"]]
    assert due["run"] == "counterpoint policy --reviews person"
    assert "signatures of people" in call("status").out
    again = at("policy", "--reviews", "person")
    again.expect("you have signed")
    assert again.end() == 1
    assert sign(at("policy", "--reviews", "person", XDG_CONFIG_HOME=other)) == 0
    assert call("policy", "--json").json["reviews"] == "person"
    assert call("status", "--json").json["signers"]["proposals"] == []
    assert sign(at("policy", "--signers", "1")) == 0
    (lower,) = call("status", "--json").json["signers"]["proposals"]
    assert sign(at("policy", "--withdraw", lower["id"])) == 0
    assert call("status", "--json").json["signers"] == {"required": 2, "proposals": []}
    is_sound(call)
    refuses_other_forms(call, ledger)


def refuses_other_forms(call: Any, ledger: Path) -> None:
    """Check that what ann proposes with a program of her own is shown, and that nobody signs something else by its id."""
    for act, decision in ODD:
        name = propose(ledger, ProposedAct(action=act, decision=decision))
        shown = call("status", "--json").json["signers"]["proposals"]
        assert [one["decision"] for one in shown if one["id"] == name] == [decision]
        assert call("status").code == 0
        refused = call("policy", "--sign", name, "--reason", "ok")
        assert refused.code == 1, act
        assert "in a form that no command signs" in " ".join(refused.err.split()), refused.err


def propose(ledger: Path, act: ProposedAct) -> str:
    """Propose an act of any form as ann; answer the id of the proposal."""
    with closing(open_app(ledger, dict(os.environ))) as app:
        (key,) = personal.held(personal.folder_of(app.environ))
        core = app.person()
        step = core.joint_acts.next_step(act, key.id)
        made = core.people.prepare(step, key.id)
        signed = core.people.sign(made, lambda message: key.sign(message, lambda _: PASSPHRASE))
        return app.confirmed(signed).joint_acts.write(step, key.public_key)


@pytest.mark.long
def test_each_of_two_people_adds_further_keys(
    call: Any, at: Open, ledger: Path, tmp_path: Path
) -> None:
    """One signs the other's by the id of the proposal, or with its file; nothing of an SSH key is lost in between."""
    del ledger
    cyd = {"XDG_CONFIG_HOME": two_people(at, tmp_path)}
    # Ann's second key, which lies in no file that cyd has.
    assert sign(fresh_key(at, "--name", "ann")) == 0
    (proposal,) = call("status", "--json").json["signers"]["proposals"]
    assert proposal["run"] == f"counterpoint policy --sign {proposal['id']}"
    assert sign(at(*proposal["run"].split()[1:], **cyd)) == 0
    # Cyd's second, from a file.
    mine = fresh_key(at, "--name", "cyd", **cyd)
    assert sign(mine) == 0
    (proposal,) = call("status", "--json").json["signers"]["proposals"]
    entry = call("log", "--json", "--limit", "1").json
    line = next(one for one in str(entry).split("'") if one.startswith("ssh-ed25519 "))
    Path("second.pub").write_text(f"{line}\n")
    other = at("key", "add", "--name", "bob", "--public", "second.pub")
    other.expect("proposes this key as one of cyd")
    assert other.end() == 1
    assert sign(at("key", "add", "--name", "cyd", "--public", "second.pub")) == 0
    # Ann's SSH key, remembered although it is enrolled at cyd's terminal.
    path = tmp_path / "id_ed25519.pub"
    public = Ed25519PrivateKey.generate().public_key()
    path.write_bytes(public.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH))
    assert sign(at("key", "add", "--name", "ann", "--ssh", str(path), "--agent-asks")) == 0
    (proposal,) = call("status", "--json").json["signers"]["proposals"]
    again = at("policy", "--sign", proposal["id"])
    again.expect("you have signed")
    assert again.end() == 1
    assert sign(at("policy", "--sign", proposal["id"], **cyd)) == 0
    keys = call("key", "list", "--json").json
    assert [(key["owner"], key["storage"], key["held_here"]) for key in keys] == [
        ("ann", "passphrase", True),
        ("cyd", "ssh", False),
        ("ann", "passphrase", True),
        ("cyd", "passphrase", False),
        ("ann", "agent", True),
    ]
    # The others' commands go by the id too; what a command needs beside is said.
    gone = at("key", "revoke", keys[2]["id"], "--reason", "old")
    assert sign(gone) == 0
    (proposal,) = call("status", "--json").json["signers"]["proposals"]
    assert "--reason" in call("policy", "--sign", proposal["id"]).err
    assert sign(at("policy", "--sign", proposal["id"], "--reason", "old", **cyd)) == 0
    assert sign(at("policy", "--reviews", "person")) == 0
    (proposal,) = call("status", "--json").json["signers"]["proposals"]
    assert sign(at("policy", "--sign", proposal["id"], **cyd)) == 0
    assert call("policy", "--json").json["reviews"] == "person"
    assert call("policy", "--sign", proposal["id"]).code == 1
    is_sound(call)


def is_sound(call: Any) -> None:
    """Check a ledger in which two sign, and its bundle, by both verifiers."""
    found = call("audit", "verify")
    assert found.code == 0, found.out
    assert "signers   2 people sign policies, keys and epochs" in found.out
    assert call("audit", "export", "two.bundle").code == 0
    assert call("verify", "two.bundle", "--json").json["signers"] == 2
    ran = subprocess.run([sys.executable, "-I", str(VERIFIER), "two.bundle"], check=False)
    assert ran.returncode == 0
