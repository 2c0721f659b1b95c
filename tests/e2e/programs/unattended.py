"""An agent without a model: works through an unattended run over MCP, as its steps say, with real commits.

    unattended.py SESSION [--ODDITY NODE]...

It starts `counterpoint mcp` with the plain words, so that its variables decide which ledger, surface and role it has. It ends when
`loop_signal` is not null. A verification that fails is reported so, and what the agent had forgotten is written. Where a review does not pass, the
verifications of its phase are executed again. At a node that is named it behaves otherwise:

    --dies     it is killed with the step in its hands      --kills    it kills the server of its ledger
    --sleeps   it sleeps                                    --loses    it loses the answer to its report, with its connection
    --stays    it stays and hears no signal                 --forgets  it writes no file, and says that all is done
    --leaves   it leaves                                    --spoils   it changes a file that was verified already
                                                            --fills    it says that its context is nearly used up
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
import wire

from counterpoint.protocol.rendezvous import find_rendezvous

ODDITIES = (
    *("dies", "sleeps", "stays", "leaves"),
    *("kills", "loses", "forgets", "spoils", "fills"),
)
OUT_ALREADY = "STEP_RESULT_REQUIRED"
ABOUT = ("task_id", "phase_id", "gate_attempt_id")
"""What of a step its report names."""


def say(*words: str) -> None:
    """Say a line, at once."""
    sys.stdout.write(" ".join(words) + "\n")
    sys.stdout.flush()


def connected() -> wire.Client:
    """Open a connection."""
    client = wire.Client(Path.cwd())
    client.greet("scripted")
    return client


class Agent:
    """The agent, in one round."""

    def __init__(self, session: str, oddities: dict[str, str]) -> None:
        """Know its run; oddities: what it does, by the node at which it does that."""
        self.session = session
        self.client = connected()
        self.oddities = oddities
        self.forgotten: list[Path] = []
        self.verified: list[str] = []

    def works(self) -> str:
        """Do step after step until a signal says to stop; return that."""
        try:
            told = self.steps("next")
        except wire.Refused as refusal:
            if refusal.answer["data"]["error_code"] != OUT_ALREADY:
                raise
            told = self.steps("replay")
        while told["loop_signal"] is None:
            step = told["next_step"]
            say("step", step["type"], step["task_id"] or step["phase_id"] or "")
            self.is_odd(step)
            told = self.reports(told)
        return told["loop_signal"]

    def reports(self, told: dict[str, Any]) -> dict[str, Any]:
        """Do a step and report it; return what is answered."""
        oddity = self.oddities.get(told["next_step"]["task_id"] or "", "")
        given: dict[str, Any] = {"last_step_result": self.result(told)}
        if oddity == "fills":
            given["context_usage_pct"] = 95
        answered = self.steps("next", **given)
        if oddity != "loses":
            return answered
        # As if it had never come: the agent knows its report, and nothing of what followed it.
        self.client.kill()
        self.client = connected()
        again = self.steps("replay")
        say("replayed", str(again == answered == self.steps("next", **given)))
        return again

    def steps(self, command: str, **more: Any) -> dict[str, Any]:
        """Give a command about steps; return what is answered."""
        return self.calls("task", "session-step", command=command, **more)

    def calls(self, tool: str, action: str, **more: Any) -> dict[str, Any]:
        """Call a tool in this run; return its data."""
        return self.client.call(tool, action=action, session_id=self.session, **more)["data"]

    def result(self, told: dict[str, Any]) -> dict[str, Any]:
        """Do a step, and return its report."""
        step, spec = told["next_step"], told["spec_id"]
        oddity = self.oddities.get(step["task_id"] or "", "")
        outcome, more = "success", {}
        if step["type"] == "implement_task":
            self.implements(spec, step, is_forgotten=oddity == "forgets")
        elif "execute" in [one["action"] for one in step["instructions"]]:
            receipt = self.verifies(spec, step["task_id"], step_id=step["step_id"])
            outcome = "failure" if receipt["exit_code"] else "success"
            more = {"verification_receipt": receipt}
        elif step["type"] == "run_fidelity_gate":
            about = {"phase_id": step["phase_id"], "step_id": step["step_id"]}
            self.calls("review", "fidelity-gate", spec_id=spec, **about)
        elif step["type"] == "address_fidelity_feedback":
            found = self.calls("review", "fidelity", spec_id=spec, phase_id=step["phase_id"])
            say("review", found["verdict"])
            for node in self.verified:
                self.verifies(spec, node)
        about = {name: step[name] for name in ABOUT if step[name]}
        ids = {"step_id": step["step_id"], "step_type": step["type"]}
        return {**ids, **about, "outcome": outcome, "step_proof": step["step_proof"], **more}

    def implements(self, spec: str, step: dict[str, Any], *, is_forgotten: bool = False) -> None:
        """Write the file of a task and commit it; then complete the task."""
        task = {"spec_id": spec, "task_id": step["task_id"]}
        found = self.calls("task", "prepare", **task)
        path = Path(found["task_data"]["metadata"]["file_path"])
        if is_forgotten:
            self.forgotten.append(path)
        else:
            write(path, step["task_title"])
        self.calls("task", "complete", **task, completion_note=f"{path} is written.")

    def verifies(self, spec: str, node: str, **more: Any) -> dict[str, Any]:
        """Execute a verification and return its receipt; write what was forgotten if it fails."""
        ran = self.calls("verification", "execute", spec_id=spec, verify_id=node, **more)
        self.verified = sorted({*self.verified, node})
        if ran["exit_code"]:
            say("failed", node)
            for path in self.forgotten:
                write(path, f"Remember {path.name}")
        return ran.get("receipt", {})

    def is_odd(self, step: dict[str, Any]) -> None:
        """Do something else before a step where that was asked for."""
        oddity = self.oddities.get(step["task_id"] or "", "")
        if oddity == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        elif oddity == "leaves":
            sys.exit(0)
        elif oddity == "kills":
            told = find_rendezvous(Path(".counterpoint/ledger.db")).ask("status")
            assert told is not None
            os.kill(told["pid"], signal.SIGKILL)
            say("killed", str(told["pid"]))
        elif oddity == "spoils":
            write(next(Path("parts").glob(f"{step['phase_id']}-*")), "Spoil it")
        elif oddity in {"sleeps", "stays"}:
            if oddity == "stays":
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
            say("sleeping" if oddity == "sleeps" else "staying")
            while True:
                signal.pause()


def write(path: Path, words: str) -> None:
    """Write a file and commit it."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{words}\n")
    for git in (("add", str(path)), ("commit", "-q", "-m", words)):
        subprocess.run(("git", *git), check=True, stdout=sys.stdout)


def main() -> None:
    """Work until a signal says to stop."""
    parser = ArgumentParser()
    parser.add_argument("session")
    for oddity in ODDITIES:
        parser.add_argument(f"--{oddity}", default="")
    asked = vars(parser.parse_args())
    session = asked.pop("session")
    agent = Agent(session, {node: oddity for oddity, node in asked.items() if node})
    say("signal", agent.works())
    agent.client.close()


if __name__ == "__main__":
    main()
