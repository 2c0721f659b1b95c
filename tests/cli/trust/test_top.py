"""The live view in a real terminal: what another process does comes, a key is asked for, the terminal is left as it was."""

from __future__ import annotations

import subprocess
import sys
import termios
from pathlib import Path

import pytest

from counterpoint.app import open_app
from counterpoint.core.coordinator import Core
from counterpoint.core.model.filters import Report
from counterpoint.core.model.journal import Verdict
from fakes.harbour import agent_of, where_it_is
from fakes.terminal import PASSPHRASE, Open, add_key

ENTERS, LEAVES = "\x1b[?1049h", "\x1b[?1049l"
"""How a program takes the whole screen of a terminal, and gives it back."""

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]


PLAN = "# Orchard\n## Planting\n- review: yes\n- [ ] Plant the walnut\n"


def _hand_in(agent: Core) -> str:
    """Return the id of a phase whose work is done and waits for a review."""
    made = agent.plans.create(agent.plans.read(PLAN))
    claim = agent.claims.start(made.ready[0]).claim
    agent.tasks.finish(made.ready[0], claim.token, Report(outcome="done", summary="It stands"))
    phase = made.items[1].id
    agent.reviews.submit(phase, "", "ready")
    return phase


def test_what_another_process_does_comes_and_the_terminal_is_left_as_it_was(
    at: Open, ledger: Path
) -> None:
    """From the start of the command to `q`."""
    terminal = at("top", TERM="xterm-256color", COLUMNS="80", LINES="24")
    before = termios.tcgetattr(terminal.descriptor)
    terminal.expect(ENTERS)
    terminal.expect("blocker.recorded")
    other = [sys.executable, "-m", "counterpoint", "note", "Rust below the water line"]
    subprocess.run(other, cwd=ledger, check=True, capture_output=True)
    terminal.expect("Rust below")
    terminal.press("q")
    terminal.expect(LEAVES)
    assert termios.tcgetattr(terminal.descriptor) == before
    assert terminal.end() == 0


def test_an_approval_there_is_signed_as_the_command_signs_it(at: Open, ledger: Path) -> None:
    """The view makes room for the question of the passphrase, and comes back."""
    add_key(at)
    app = open_app(ledger, where_it_is())
    agent = agent_of(app)
    item = _hand_in(agent)
    terminal = at("top", TERM="xterm-256color", COLUMNS="80", LINES="24")
    terminal.expect("a review")
    terminal.press("a")
    terminal.expect(f"approve {item}")
    terminal.press("\r")
    terminal.expect("You sign item.approved")
    terminal.expect("Passphrase of your key:")
    terminal.type(PASSPHRASE)
    terminal.expect("Press Enter to go back")
    terminal.press("\r")
    terminal.expect("done")
    terminal.press("q")
    assert terminal.end() == 0
    verdicts = app.person().overview.rows(Verdict, item=item)
    assert [one.decision for one in verdicts] == ["approve"]
    entry = app.person().audit.log(subject=item, action="item.approved", limit=1)[0]
    assert entry.actor.principal is not None
    assert entry.actor.principal.strength == "person"
    app.close()
