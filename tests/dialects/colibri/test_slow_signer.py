"""A signer that takes its time, and whoever writes meanwhile."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from counterpoint.app import App, Identity, open_app
from counterpoint.core.coordinator import Core
from counterpoint.core.model.evidence import Command
from counterpoint.core.model.filters import Check
from counterpoint.dialects.colibri.verbs.seals import Seals
from counterpoint.dialects.colibri.verbs.thoughts import Thoughts
from counterpoint.evidence.running.configuration import read_checking

_SLOW = """
import sys
from pathlib import Path
from counterpoint.evidence.trust import signer_lines as lines
from counterpoint.evidence.trust.opening import own_signer
from counterpoint.kernel.clock import SystemClock
signer = own_signer("file", "", SystemClock())
asked, go = Path(sys.argv[1]), Path(sys.argv[2])
for line in sys.stdin.buffer:
    if b'"do":"sign"' in line and not asked.exists():
        asked.touch()
        go.read_bytes()
    said = lines.answer(signer, line) if b'"do"' in line else lines.accepted(1)
    sys.stdout.buffer.write(said + b"\\n")
    sys.stdout.buffer.flush()
"""


def seals(core: Core) -> bool:
    """Seal a session, and tell whether the seal is sound."""
    draft = core.plans.read("# Plan\n## One\n- [ ] A\n")
    core.use(Thoughts).think("plan", "a thought", task=core.plans.create(draft).ready[0])
    made = core.use(Seals).seal("ses_one")
    return made.size == 1 and core.use(Seals).verify("ses_one").faults == ()


def checks(core: Core) -> bool:
    """Have a command run, and tell whether its receipt is signed."""
    core.memory.put("project", "m", 1)
    (receipt,) = core.gates.verify(Check(item="", command=Command(argv=("true",)))).receipts
    return receipt.signature != ""


@pytest.mark.e2e
@pytest.mark.parametrize("does", [seals, checks])
def test_a_slow_signer_keeps_nobody_from_writing_while_it_signs(
    tmp_path: Path, does: Callable[[Core], bool]
) -> None:
    """It is asked before the transaction, and another process writes while it is."""
    project, program = tmp_path / "project", tmp_path / "slow.py"
    asked, go = tmp_path / "asked", tmp_path / "go"
    os.mkfifo(go)
    project.mkdir()
    program.write_text(_SLOW)
    (project / "counterpoint.toml").write_text('[checks]\ncommands = [["true"]]\n')
    slow = f"command:{sys.executable} {program} {asked} {go}"
    signing: App = open_app(project, {"COUNTERPOINT_SIGNER": slow})
    other: App = open_app(project, {})
    try:
        person = other.core(Identity(kind="human", name="pat"))
        person.projects.trust(read_checking(project), os.environ["PATH"])
        made: list[bool] = []
        core = signing.core(Identity(kind="agent", name="ada", session="ses_one"))
        waiting = threading.Thread(target=lambda: made.append(does(core)))
        waiting.start()
        while not asked.exists() and waiting.is_alive():
            waiting.join(0.05)
        other.itself().memory.put("project", "n", 1)
        assert asked.exists()
        assert not made
        go.write_bytes(b"")
        waiting.join(30)
        assert made == [True]
    finally:
        signing.close()
        other.close()
