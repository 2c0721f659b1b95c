"""People's keys at a real terminal: made, used, revoked; and what happens without one."""

from __future__ import annotations

import json
import os
import runpy
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from builders import git
from counterpoint.app import App
from counterpoint.core.coordinator import Core
from counterpoint.core.ledger.people import sshsig
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit, Report
from counterpoint.core.model.identity import Confirmation, Identity
from counterpoint.evidence.trust import personal
from fakes.people import Person
from fakes.studio import Studio
from fakes.terminal import PASSPHRASE, Open, add_key, make_key, sign

VERIFIER = Path(__file__).parents[3] / "docs" / "verifier" / "verify.py"
Call = Callable[..., Any]


@pytest.fixture
def ssh(place: Path) -> Path:
    """Where ssh-keygen is, on the path; the test is skipped, and says so, without it."""
    found = shutil.which("ssh-keygen", path="/usr/bin:/bin:/usr/local/bin:/opt/homebrew/bin")
    if found is None:
        pytest.skip("ssh-keygen is not installed: SSH keys are not shown to work here")
    for name in ("ssh-keygen", "ssh-agent", "ssh-add"):
        program = shutil.which(name, path=str(Path(found).parent))
        if program is not None:
            (place.parent / "programs" / name).symlink_to(program)
    return Path(found)


def last(call: Call) -> dict[str, object]:
    """Answer the last entry of the ledger but the program's own, which names the key at the first signature."""
    entries = call("log", "--limit", "2", "--json").json["entries"]
    return next(one for one in reversed(entries) if one["action"] != "signer.named")


def test_status_names_the_key_that_judges_unattested_work(call: Call, app: App) -> None:
    session = app.agent().session
    core = app.core(Identity(kind="agent", name="bo", session=session))
    plan = core.plans.create(Draft(kind="task", title="Sails", review=True))
    claim = core.claims.start(plan.ready[0]).claim
    core.tasks.finish(claim.item, claim.token, Report(outcome="done", summary="done"))
    assert "judge somebody else (`counterpoint key add`)." in call("status").out
    person = Person(studio=Studio())
    folder = personal.folder_of(os.environ)
    personal.remember(folder, person.public_key, "passphrase", str(folder / "key"))
    people = app.person().people
    proposed = people.enrolment(person.public_key, "ann", "passphrase")
    signed = people.sign(people.prepare(proposed, person.key), person.seal)
    key = app.confirmed(signed).people.enrol(person.public_key, proposed)
    told = call("status").out
    assert f"(yours is {key.id}: `counterpoint approve` signs with it)" in told
    assert "key add" not in told


def test_a_key_is_made_at_a_terminal_and_signs_there(at: Open, call: Call, place: Path) -> None:
    """Its file is encrypted and the owner's alone; what it signed stands as the person's, and verifies."""
    make_key(at)
    folder = place.parent / "home" / ".config" / "counterpoint" / "keys"
    (private,) = [path for path in folder.iterdir() if not path.suffix]
    assert private.stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    assert b"OPENSSH PRIVATE KEY" in private.read_bytes()
    (key,) = call("key", "list", "--json").json
    assert (key["owner"], key["state"], key["held_here"]) == ("ann", "live", True)
    assert key["storage"] == "passphrase"

    terminal = at("reject", "HARBOUR-1", "--reason", "not yet")
    terminal.expect("You sign item.rejected")
    title = call("show", "harbour-1", "--json").json["item"]["title"]
    terminal.expect(f"harbour-1: {title}")
    terminal.expect("not yet")
    assert sign(terminal) == 0
    assert "Not confirmed" not in terminal.seen
    entry = last(call)
    assert entry["action"] == "item.rejected"
    assert entry["actor"]["principal"] == {"strength": "person", "id": key["id"]}
    assert PASSPHRASE not in terminal.seen
    told = "2 acts are signed by those who did them"
    assert told in call("audit", "verify").out
    assert call("audit", "export", "it.bundle").code == 0
    assert told in runpy.run_path(str(VERIFIER))["verify"](Path("it.bundle").read_bytes())


def test_the_head_above_what_a_person_signed_is_signed_before_the_command_ends(
    at: Open, call: Call, app: App
) -> None:
    """So nobody puts a row into its entry afterwards, nor an older copy of the ledger in its place; what nobody decided waits for a server."""

    def waits() -> int:
        return app.itself().signing.unsigned().waiting

    add_key(at)
    assert waits() == 0
    assert sign(at("release", "HARBOUR-4")) == 0
    assert waits() == 0
    assert call("note", "signed by nobody").code == 0
    assert waits() == 1
    assert call("reject", "HARBOUR-1", "--reason", "not yet").code == 0
    assert waits() == 0


def test_a_wrong_passphrase_changes_nothing(at: Open, call: Call) -> None:
    """The act is not recorded as unconfirmed behind the person's back either."""
    add_key(at)
    before = last(call)
    terminal = at("release", "HARBOUR-4")
    assert sign(terminal, "wrong") == 1
    assert "does not unlock" in terminal.seen
    assert last(call) == before


def test_without_a_terminal_nobody_is_asked(
    at: Open, call: Call, start: Callable[..., subprocess.Popen[bytes]]
) -> None:
    """Not even with a key: the act is recorded, as unconfirmed, and says so."""
    add_key(at)
    process = start("release", "HARBOUR-4", start_new_session=True)
    out, err = process.communicate(timeout=40)
    assert process.returncode == 0, err
    assert b"Not confirmed" in err
    assert b"Passphrase" not in out + err
    entry = last(call)
    assert entry["action"] == "claim.released"
    assert "person" not in json.dumps(entry["actor"])


def test_without_a_key_a_terminal_is_offered_one(at: Open, call: Call) -> None:
    """A no stops the act, and yes makes the key and signs."""
    before = call("log", "--json").json["entries"]
    terminal = at("reject", "HARBOUR-1", "--reason", "no")
    terminal.expect("Make a key under a passphrase now")
    terminal.type("n")
    terminal.expect("Nothing was done.")
    assert terminal.end() == 1
    assert call("log", "--json").json["entries"] == before
    terminal = at("reject", "HARBOUR-1", "--reason", "no")
    terminal.expect("Make a key under a passphrase now")
    terminal.type("y")
    for prompt in ("Passphrase for a fresh key:", "The same again:", "Passphrase of your key:"):
        terminal.expect(prompt)
        terminal.type(PASSPHRASE)
    terminal.expect("You sign item.rejected")
    assert sign(terminal) == 0
    assert last(call)["actor"]["principal"]["strength"] == "person"


@pytest.mark.long
def test_to_go_on_without_a_key_is_answered_once_for_a_project(at: Open, call: Call) -> None:
    """No later act asks again; what takes a signature is refused, and names the command that makes a key."""
    terminal = at("reject", "HARBOUR-1", "--reason", "no")
    terminal.expect("Make a key under a passphrase now")
    terminal.type("w")
    terminal.expect("remembered for the project")
    assert terminal.end() == 0
    terminal = at("release", "HARBOUR-4")
    assert terminal.end() == 0
    assert "Make a key" not in terminal.seen
    terminal = at("policy", "--reviews", "self")
    assert terminal.end() == 1
    assert "Make a key" not in terminal.seen
    assert "counterpoint key add" in terminal.seen
    add_key(at)
    assert sign(at("policy", "--reviews", "self")) == 0


def test_going_on_without_a_key_is_no_answer_where_that_is_refused(at: Open, call: Call) -> None:
    terminal = at("policy", "--reviews", "self")
    terminal.expect("without a signature this is refused")
    terminal.type("w")
    terminal.expect("Make a key")
    terminal.type("n")
    assert terminal.end() == 1
    assert "w: go on without" not in terminal.seen


@pytest.mark.alike
@pytest.mark.timeout(180)
@pytest.mark.parametrize("has_key", [False, True], ids=["no key", "a key"])
def test_nobody_is_asked_for_anything_before_a_refusal_that_no_answer_changes(
    at: Open, call: Call, agent: Core, has_key: bool
) -> None:
    """Own work, a check that is not closed, what is not there: said at once, also to who has a key."""
    if has_key:
        add_key(at)
    Path("alone.md").write_text("# Alone\n- [ ] Bolt\n  - review: yes\n")
    assert call("plan", "alone.md").code == 0
    task = next(one["id"] for one in call("list", "--json").json["items"] if one["title"] == "Bolt")
    # From where the verdict will come: what asks for it is who worked.
    assert at("start", task).end() == 0
    assert at("finish", task, "-m", "done").end() == 0
    refused = (
        ("approve", task),
        ("waive", task, "review", "--reason", "no"),
        ("agent", "renew", "nobody"),
        ("agent", "revoke", "nobody"),
        ("release", task),
    )
    for words in refused:
        terminal = at(*words)
        assert terminal.end() == 1, terminal.seen
        assert "Make a key" not in terminal.seen
        assert "Passphrase" not in terminal.seen
        assert "You sign" not in terminal.seen


@pytest.mark.parametrize(
    "words",
    [
        ["release", "HARBOUR-4", "--reason", "gone"],
        ["policy", "--reviews", "self"],
        ["trust", "--allow", "true"],
        ["trust"],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_nobody_is_asked_for_a_key_whose_first_key_would_be_refused(
    at: Open, call: Call, place: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    """The refusal comes at once, says what helps, and does not send to a command that is refused as well."""
    if words == ["trust"]:
        (place / "counterpoint.toml").write_text('[checks]\ncommands = [["true"]]\n')
    secret = call("agent", "create", "eve", "--json").json["credential"]
    monkeypatch.setenv("COUNTERPOINT_CREDENTIAL", secret)
    terminal = at(*words)
    assert terminal.end() == 1
    assert "Make a key" not in terminal.seen
    assert "Is all of this to count" not in terminal.seen
    assert "key add" not in terminal.seen
    assert "an agent" in terminal.seen


def test_an_unconfirmed_approval_opens_no_gate_that_asks_for_a_person(
    at: Open, call: Call, agent: Core
) -> None:
    """The same command with a signature does."""
    add_key(at)
    policy = at("policy", "--reviews", "person")
    policy.expect("attested -> person")
    assert sign(policy) == 0, policy.seen
    task = agent.plans.create(agent.plans.read("# Extra\n- [ ] Bolt\n  - review: yes\n")).ready[0]
    token = agent.claims.start(task).claim.token
    agent.tasks.finish(task, token, Report(outcome="done", summary="it holds"))
    refused = call("approve", task)
    assert refused.code == 1
    assert "person" in refused.err
    assert call("waive", task, "review", "--reason", "late").code == 1
    (gate,) = call("show", task, "--json").json["gates"]
    assert gate["status"] == "closed"
    assert sign(at("approve", task)) == 0
    (gate,) = call("show", task, "--json").json["gates"]
    assert gate["status"] == "met"
    assert call("show", task, "--json").json["item"]["status"] == "done"
    assert call("audit", "verify").code == 0


@pytest.mark.long
@pytest.mark.timeout(180)
def test_what_else_a_person_decides_is_signed(
    at: Open, call: Call, app: App, agent: Core, place: Path
) -> None:
    """Ending a credential or a token, opening an item again, resolving a blocker; of words that go only where they stand is shown."""
    add_key(at)
    assert call("agent", "create", "ada").code == 0
    assert call("token", "create", "bob").code == 0
    task = agent.plans.create(agent.plans.read("# Extra\n- [ ] Bolt\n")).ready[0]
    app.person().items.edit(task, Edit(status="cancelled", reason="not now"))
    (blocker,) = app.person().overview.open_blockers()
    acts = {
        ("agent", "renew", "ada"): "token.renewed",
        ("agent", "revoke", "ada"): "token.revoked",
        ("token", "revoke", "bob"): "token.revoked",
        ("reopen", task, "--reason", "now"): "item.edited",
        ("unblock", blocker.item): "blocker.resolved",
    }
    for words, action in acts.items():
        terminal = at(*words)
        terminal.expect(f"You sign {action}")
        assert sign(terminal) == 0, terminal.seen
        entry = last(call)
        assert (entry["action"], entry["actor"]["principal"]["strength"]) == (action, "person")
    words = place.parent / "private.txt"
    words.write_text("Bolt of 4711")
    agent.memory.put("project", "n", "Bolt of 4711 once")
    terminal = at("audit", "redact", "--text", str(words), "--reason", "private")
    terminal.expect("wherever the words of private.txt stand")
    terminal.expect("1 text is taken away for good")
    assert sign(terminal) == 0, terminal.seen
    assert "4711" not in terminal.seen
    assert call("unblock", "HARBOUR-r99").code == 1
    assert call("audit", "verify").code == 0
    assert call("audit", "export", "it.bundle").code == 0
    runpy.run_path(str(VERIFIER))["verify"](Path("it.bundle").read_bytes())


def test_keys_are_added_and_revoked_at_a_terminal_alone(call: Call, ledger: Path) -> None:
    """An agent in the background makes none."""
    for words in (("key", "add"), ("key", "add", "--ssh", "x")):
        said = call(*words)
        assert said.code == 1
        assert "terminal" in said.err
    assert call("key", "list", "--json").json == []


@pytest.mark.long
def test_a_key_is_rotated_and_the_old_one_signs_nothing_more(
    at: Open, call: Call, place: Path
) -> None:
    """The second key is signed by the first, which then goes; what it signed stays sound."""
    add_key(at)
    assert sign(at("release", "HARBOUR-4")) == 0
    terminal = at("key", "add", "--name", "ann-2")
    terminal.expect("Passphrase for a fresh key:")
    terminal.type(PASSPHRASE)
    terminal.expect("The same again:")
    terminal.type(PASSPHRASE)
    assert sign(terminal) == 0
    first, _ = sorted(call("key", "list", "--json").json, key=lambda key: key["enrolled_at"])
    assert sign(at("key", "revoke", "ann", "--reason", "old")) == 0
    states = {key["owner"]: key["state"] for key in call("key", "list", "--json").json}
    assert states == {"ann": "revoked", "ann-2": "live"}
    assert sign(at("reject", "HARBOUR-1", "--reason", "no")) == 0
    assert last(call)["actor"]["principal"]["id"] != first["id"]
    assert call("audit", "verify").code == 0


def test_an_ssh_key_that_signs_commits_signs_acts(
    at: Open, call: Call, ssh: Path, app: App, tmp_path: Path
) -> None:
    """ssh-keygen asks for the passphrase; its own `-Y verify` accepts what it signed, by the exported list."""
    key = tmp_path / "id_ed25519"
    make = [str(ssh), "-q", "-t", "ed25519", "-N", PASSPHRASE, "-C", "ann@home", "-f", str(key)]
    subprocess.run(make, check=True)
    git(app.places.home, "config", "gpg.format", "ssh")
    git(app.places.home, "config", "user.signingkey", str(key) + ".pub")
    terminal = at("key", "add", "--ssh", "--name", "ann")
    terminal.expect("Enter passphrase")
    terminal.type(PASSPHRASE)
    terminal.expect("signs from now on")
    assert terminal.end() == 0
    terminal = at("reject", "HARBOUR-1", "--reason", "not yet")
    terminal.expect("Enter passphrase")
    terminal.type(PASSPHRASE)
    assert terminal.end() == 0
    assert last(call)["actor"]["principal"]["strength"] == "person"
    assert call("audit", "verify").code == 0

    assert call("key", "export", "signers").code == 0
    with app.store.reading(app.project) as view:
        made = next(one for one in view.select(Confirmation) if one.reason)
    Path("sig").write_text(sshsig.render_armour(made.signature))
    command = [
        str(ssh),
        "-Y",
        "verify",
        "-n",
        "counterpoint",
        "-f",
        "signers",
        "-I",
        "ann",
        "-s",
        "sig",
    ]
    message = b"counterpoint/act/v1\n" + made.statement.encode()
    assert subprocess.run(command, input=message, check=False).returncode == 0
    assert subprocess.run(command, input=message + b" ", check=False).returncode != 0


def test_an_ssh_key_that_anything_can_use_is_refused(
    at: Open, call: Call, ssh: Path, tmp_path: Path
) -> None:
    """One without a passphrase, and one whose agent is not said to ask."""
    key = tmp_path / "open"
    subprocess.run([str(ssh), "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    terminal = at("key", "add", "--ssh", str(key))
    terminal.expect("passphrase, so")
    assert terminal.end() == 1
    key.unlink()  # only its agent has it now
    terminal = at("key", "add", "--ssh", str(key))
    terminal.expect("--agent-asks")
    assert terminal.end() == 1
    assert call("key", "list", "--json").json == []


def test_a_key_with_a_confirming_agent_signs(
    at: Open, call: Call, ssh: Path, tmp_path: Path, place: Path
) -> None:
    """The agent asks by its own window (here a program that says yes) before it signs."""
    key, asked = tmp_path / "held", tmp_path / "asked"
    subprocess.run([str(ssh), "-q", "-t", "ecdsa", "-N", "", "-f", str(key)], check=True)
    yes = tmp_path / "yes"
    yes.write_text(f"#!/bin/sh\necho asked >> {asked}\n")
    yes.chmod(0o700)
    socket = tmp_path / "agent"
    environ = dict(os.environ) | {"SSH_ASKPASS": str(yes), "DISPLAY": ":0"}
    programs = place.parent / "programs"
    agent = subprocess.Popen(
        [str(programs / "ssh-agent"), "-D", "-a", str(socket)],
        env=environ,
        stdout=subprocess.DEVNULL,
    )
    try:
        while not socket.exists():
            assert agent.poll() is None
        held = {"SSH_AUTH_SOCK": str(socket)}
        add = [str(programs / "ssh-add"), "-q", "-c", str(key)]
        subprocess.run(add, env=environ | held, check=True)
        key.unlink()
        terminal = at("key", "add", "--ssh", str(key), "--agent-asks", "--name", "ann", **held)
        terminal.expect("signs from now on")
        assert terminal.end() == 0
        assert asked.read_text().split() == ["asked"]
        assert at("release", "HARBOUR-4", **held).end() == 0
        assert asked.read_text().split() == ["asked", "asked"]
    finally:
        agent.kill()
        agent.wait()
    assert last(call)["actor"]["principal"]["strength"] == "person"
    assert call("audit", "verify").code == 0


def test_a_second_person_is_let_in_by_the_first(at: Open, call: Call, place: Path) -> None:
    """Who has a key already signs the line that the other one gives him."""
    add_key(at)
    (place / "bob.pub").write_text("ssh-ed25519 " + "A" * 20)
    assert call("key", "add", "--name", "bob", "--public", "bob.pub").code == 2
    public = sshsig.ed25519_line(bytes(31) + b"\1")
    (place / "bob.pub").write_text(public + " bob@home\n")
    assert call("key", "add", "--name", "bob", "--public", "bob.pub").code == 1
    assert sign(at("key", "add", "--name", "bob", "--public", "bob.pub")) == 0
    assert {key["owner"] for key in call("key", "list", "--json").json} == {"ann", "bob"}
    # On bob's machine ann's key is not held: he is told whom to ask.
    terminal = at("key", "add", "--name", "cyd", XDG_CONFIG_HOME=str(place.parent / "other"))
    for prompt in ("Passphrase for a fresh key:", "The same again:"):
        terminal.expect(prompt)
        terminal.type(PASSPHRASE)
    terminal.expect("--public FILE")
    assert terminal.end() == 0
    terminal = at("key", "revoke", "bob", "--reason", "x", XDG_CONFIG_HOME=str(place.parent / "no"))
    terminal.expect("you hold none")
    assert terminal.end() == 1


def test_a_person_confirms_an_epoch(at: Open, call: Call) -> None:
    """It stands in the ledger as the person's, and verification finds nothing wrong with it."""
    add_key(at)
    terminal = at("audit", "epoch", "--reason", "a backup was restored")
    assert sign(terminal) == 0, terminal.seen
    assert "No key of a person" not in terminal.seen
    assert last(call)["actor"]["principal"]["strength"] == "person"
    assert call("audit", "verify").code == 0
