"""A lost only key, and who has the database but not the signer, tried from the command line."""

from __future__ import annotations

import os
import runpy
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from counterpoint.app import App
from counterpoint.core.coordinator import Core
from counterpoint.core.model.access import Actor, Principal
from counterpoint.core.model.filters import Report
from counterpoint.core.operations.recording.context import Caller
from fakes.people import Person
from fakes.studio import Studio
from fakes.terminal import PASSPHRASE, Open, add_key, sign

pytestmark = pytest.mark.timeout(180)

VERIFIER = Path(__file__).parents[3] / "docs" / "verifier" / "verify.py"
Call = Callable[..., Any]
RECOVERED = "recovered in epoch 2, unconfirmed"


def recover(at: Open, **environ: str) -> None:
    """Recover at a terminal, with a key that is made there."""
    terminal = at("key", "recover", "--name", "ann", "--reason", "the laptop was lost", **environ)
    terminal.expect("In force:")
    terminal.expect("Is every one of them lost?")
    terminal.type("y")
    for prompt in ("Passphrase for a fresh key:", "The same again:", "Passphrase of your key:"):
        terminal.expect(prompt)
        terminal.type(PASSPHRASE)
    terminal.expect(RECOVERED)
    assert terminal.end() == 0, terminal.seen


@pytest.mark.long
def test_a_lost_only_key_is_followed_by_one_that_an_epoch_lets_in(
    at: Open, call: Call, agent: Core, place: Path
) -> None:
    """It signs what the project asks a person for, ends the lost one, and is told for what it is for ever."""
    add_key(at)
    assert sign(at("policy", "--reviews", "person")) == 0
    task = agent.plans.create(agent.plans.read("# Extra\n- [ ] Bolt\n  - review: yes\n")).ready[0]
    token = agent.claims.start(task).claim.token
    agent.tasks.finish(task, token, Report(outcome="done", summary="it holds"))
    (place.parent / "home" / ".config" / "counterpoint" / "keys").rename(place.parent / "lost")
    recover(at)
    assert sign(at("approve", task)) == 0
    assert call("show", task, "--json").json["item"]["status"] == "done"
    (lost,) = [key for key in call("key", "list", "--json").json if not key["recovered_in"]]
    assert sign(at("key", "revoke", lost["id"], "--reason", "lost")) == 0
    for words in (("audit", "verify"), ("status",), ("doctor",), ("key", "list")):
        said = call(*words)
        assert RECOVERED in " ".join(said.out.split()), words
    assert call("audit", "verify").code == 0
    (told,) = call("audit", "verify", "--json").json["recovered"]
    assert told.endswith(f"of ann, live: {RECOVERED}")
    assert call("status", "--json").json["recovered"] == [told]
    assert call("audit", "export", "it.bundle").code == 0
    assert call("verify", "it.bundle").code == 0
    runpy.run_path(str(VERIFIER))["verify"](Path("it.bundle").read_bytes())


def test_a_key_is_recovered_by_a_person_at_a_terminal_alone(at: Open, call: Call) -> None:
    """Not in the background, not where none is lost, and not by who says no."""
    said = call("key", "recover", "--reason", "x")
    assert said.code == 1
    assert "terminal" in said.err
    terminal = at("key", "recover", "--reason", "x")
    terminal.expect("none is lost")
    assert terminal.end() == 1
    add_key(at)
    terminal = at("key", "recover", "--reason", "x")
    terminal.expect("Is every one of them lost?")
    terminal.type("n")
    assert terminal.end() == 1
    assert len(call("key", "list", "--json").json) == 1
    assert not call("audit", "verify", "--json").json["epochs"]


def test_a_recovery_is_finished_that_the_signer_did_not_get_to(
    at: Open, call: Call, app: App
) -> None:
    """The entry landed and the process ended: the same command has its epoch signed."""
    add_key(at)
    assert call("audit", "prove", "--checkpoint").code == 0
    # The state has the heads of ledgers that other tests of the run were made from, too.
    ledger = app.person().items.project().ledger
    state = Path(os.environ["XDG_STATE_HOME"])
    known = [*state.rglob(f"{ledger}/heads"), *app.folder.rglob("*.note")]
    before = {path: path.read_bytes() for path in known}
    assert len(before) == 2
    recover(at)
    for path, content in before.items():
        path.write_bytes(content)
    assert "Broken" in call("status").out
    terminal = at("key", "recover", "--reason", "x")
    terminal.expect("its epoch")
    assert terminal.end() == 0
    assert call("audit", "verify").code == 0


def test_who_has_the_database_and_not_the_signer_recovers_nothing(
    call: Call, app: App, start: Callable[..., subprocess.Popen[bytes]]
) -> None:
    """His program writes a recovery with a signer of its own: nothing is signed on, and no epoch covers it."""
    del start
    studio = Studio()
    first, eve = Person(studio=studio), Person(studio=studio, name="eve")
    people = app.person().people
    proposed = people.enrolment(first.public_key, "ann", "passphrase")
    made = people.sign(people.prepare(proposed, first.key), first.seal)
    app.confirmed(made).people.enrol(first.public_key, proposed)
    assert call("audit", "prove", "--checkpoint").code == 0

    ports = replace(app.person()._context.ports, signer=studio.ports.signer)
    actor = Actor(kind="human", name="eve")
    own = Core(ports, Caller(actor=actor, root=app.places.tree))
    stolen = own.people.recovery(eve.public_key, "eve", "passphrase")
    made = own.people.sign(own.people.prepare(stolen, eve.key, "lost"), eve.seal)
    signer = Principal(strength="person", id=eve.key)
    caller = Caller(actor=replace(actor, principal=signer), root=app.places.tree, confirmation=made)
    Core(ports, caller).people.recover(eve.public_key, stolen, "lost")

    said = call("audit", "verify")
    assert said.code == 1
    assert "epoch" in said.out
    assert "Broken" in call("status").out
    assert call("audit", "export", "stolen.bundle").code == 1
    said = call("audit", "epoch", "--reason", "something is wrong, go on")
    assert said.code == 1
    assert "restore a backup" in said.err
