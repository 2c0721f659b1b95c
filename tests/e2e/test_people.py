"""People at terminals of their own, through every command that decides: alone, and after an agent was there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from fakes.terminal import PASSPHRASE
from fakes.windows import Agent, work

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

PROGRAMS = Path(__file__).parent / "programs"
QUESTIONS = ("Make a key", "Passphrase", "Is all of this to count", "You sign")
"""What a person is asked, or shown before he is asked."""
PLAN = """# Shed

## Roof
- review: yes

- [ ] Tar it
  - verify: test -f tar.txt
- [ ] Paint it
  - approval: yes
"""

Type = Callable[..., tuple[int, str]]


class Terminals:
    """Terminals that were opened now, by a program that nobody is left to have started."""

    def __init__(self, folder: Path, home: Path) -> None:
        """Open the first."""
        orders, self._orders = os.pipe()
        self._answers, answers = os.pipe()
        # Under a name that takes up orphans: what stands above the tests may have any.
        init = home / "tini"
        shutil.copy2(Path(sys.executable).resolve(), init)
        self._process = subprocess.Popen(
            [init, str(PROGRAMS / "init.py"), sys.executable, str(PROGRAMS / "terminals.py")],
            stdin=orders,
            stdout=answers,
            cwd=folder,
            env={
                **os.environ,
                "PYTHONHOME": sys.base_prefix,
                "LD_LIBRARY_PATH": str(sysconfig.get_config_var("LIBDIR")),
            },
        )
        os.close(orders)
        os.close(answers)
        self._folder = folder
        self._lines = os.fdopen(self._answers)

    def type(self, line: str, answers: Sequence[tuple[str, str]] = ()) -> tuple[int, str]:
        """Run a line in a terminal; answer its exit code, and what was shown with its lines joined."""
        order = {
            "words": line.split(),
            "cwd": str(self._folder),
            "environ": dict(os.environ),
            "answers": answers,
        }
        os.write(self._orders, (json.dumps(order) + "\n").encode())
        answer = json.loads(self._lines.readline())
        return answer["code"], " ".join(answer["seen"].split())

    def close(self) -> None:
        """Let the program end."""
        os.close(self._orders)
        self._lines.close()
        self._process.wait(60)


@pytest.fixture
def type_(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: Any
) -> Iterator[Type]:
    """Give what types a line in a terminal of the repository; in the order of fixtures after any agent."""
    if "worker" in request.fixturenames:
        request.getfixturevalue("worker")
    else:
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home" / "config"))
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home" / "state"))
        (tmp_path / "home").mkdir()
    monkeypatch.setenv("NO_COLOR", "1")
    terminals = Terminals(repository, tmp_path / "home")
    yield terminals.type
    terminals.close()


@pytest.fixture
def worker(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Agent]:
    """Give an agent that has done the only task of a phase that is to be reviewed, before any terminal was open."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home" / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home" / "state"))
    (tmp_path / "home").mkdir()
    agent = Agent(repository)
    work(agent)
    agent.does("plan", markdown="# Lawn\n## Mowing\n- approval: yes\n- [ ] Mow it\n")
    yield agent
    agent.close()


def test_a_person_alone_comes_through_every_deciding_command(type_: Type, repository: Path) -> None:
    """From the plan to the end of it, with the key that is made on the way."""
    (repository / "plan.md").write_text(PLAN)
    assert type_("init --yes")[0] == 0
    assert type_("plan plan.md")[0] == 0
    assert type_("start demo-3")[0] == 0
    code, seen = type_("check demo-3")
    assert code == 1
    assert "counterpoint trust --allow 'test -f tar.txt'" in seen
    (repository / "tar.txt").write_text("black\n")
    (repository / "counterpoint.toml").write_text(
        '[checks]\ncommands = [["test", "-f", "tar.txt"]]\n'
    )
    made = [
        ("Is all of this to count", "y"),
        ("Make a key under a passphrase now", "y"),
        ("Passphrase for a fresh key:", PASSPHRASE),
        ("The same again:", PASSPHRASE),
        ("Passphrase of your key:", PASSPHRASE),
        ("Passphrase of your key:", PASSPHRASE),
    ]
    code, seen = type_("trust", made)
    assert code == 0, seen
    sign = [("Passphrase of your key:", PASSPHRASE)]
    for line, answers in (
        ("check demo-3", ()),
        ("finish demo-3 -m tarred", ()),
        ("approve demo-4", sign),
        ("start demo-4", ()),
        ("finish demo-4 -m painted", ()),
        ("submit demo-2 -m all", ()),
    ):
        code, seen = type_(line, answers)
        assert code == 0, seen
    for line in ("approve demo-2", "reject demo-2 --reason no", "waive demo-2 review --reason no"):
        code, seen = type_(line)
        assert code == 1, seen
        assert "counterpoint policy --reviews self" in seen
        assert not [words for words in QUESTIONS if words in seen]
    for line in ("policy --reviews self", "reject demo-2 --reason thin"):
        code, seen = type_(line, sign)
        assert code == 0, seen
    code, seen = type_("next")
    assert "Mend demo-2" in seen
    for line, answers in (
        ("start demo-5", ()),
        ("finish demo-5 -m thicker", ()),
        ("submit demo-2 -m again --reason mended", ()),
        ("approve demo-2", sign),
    ):
        code, seen = type_(line, answers)
        assert code == 0, seen
    assert "All 3 tasks are done" in type_("status")[1]
    assert type_("audit verify")[0] == 0


@pytest.mark.usefixtures("worker")
def test_a_terminal_that_came_after_an_agent_is_refused_without_a_question(type_: Type) -> None:
    """Each deciding command says at once why, and where a person does this; `status` says it beside what waits."""
    lines = (
        "approve demo-2",
        "reject demo-2 --reason no",
        "waive demo-2 review --reason no",
        "trust --allow true",
        "release demo-2",
        "policy --reviews self",
        "agent create rae",
        "agent renew rae",
        "agent revoke rae",
        "token create rae",
        "key add",
        "audit epoch --reason restored",
        "audit redact demo-2 --reason private",
    )
    for line in lines:
        code, seen = type_(line)
        assert code == 1, seen
        assert "Counterpoint cannot tell you (Ada) from the agents" in seen
        assert "one that was open before the agents" in seen
        assert not [words for words in QUESTIONS if words in seen]
    code, seen = type_("status")
    assert "counterpoint approve demo-5" in seen
    assert "one that was open before the agents" in seen
    # What agents may do too is done, and advises no key that would be refused.
    code, seen = type_("reopen demo-3 --reason thin")
    assert code == 0, seen
    assert "key add" not in seen
