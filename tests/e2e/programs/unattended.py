"""An agent without a model: works through an unattended run over MCP, as its steps say, with real commits.

    unattended.py SESSION [--dies TASK] [--sleeps TASK] [--stays TASK] [--leaves TASK] [--fails TASK]

It starts `counterpoint mcp` with the plain words, so that its variables decide which ledger, surface and role it has. It ends when
`loop_signal` is not null. At a task that is named it behaves otherwise: it dies with the step in its hands, it sleeps, it stays and
hears no signal, it leaves, or it reports nothing but failures.
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

OUT_ALREADY = "STEP_RESULT_REQUIRED"
ABOUT = ("task_id", "phase_id", "gate_attempt_id")
"""What of a step its report names."""


def say(*words: str) -> None:
    """Say a line, at once."""
    sys.stdout.write(" ".join(words) + "\n")
    sys.stdout.flush()


class Agent:
    """The agent, in one round."""

    def __init__(self, session: str, client: wire.Client, oddities: dict[str, str]) -> None:
        """Know its run; oddities: what it does, by the task at which it does that."""
        self.session = session
        self.client = client
        self.oddities = oddities

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
            told = self.steps("next", last_step_result=self.result(told))
        return told["loop_signal"]

    def steps(self, command: str, **more: Any) -> dict[str, Any]:
        """Give a command about steps; return what is answered."""
        return self.calls("task", "session-step", command=command, **more)

    def calls(self, tool: str, action: str, **more: Any) -> dict[str, Any]:
        """Call a tool in this run; return its data."""
        return self.client.call(tool, action=action, session_id=self.session, **more)["data"]

    def result(self, told: dict[str, Any]) -> dict[str, Any]:
        """Do a step, and return its report."""
        step = told["next_step"]
        outcome, more = "success", {}
        if self.is_odd(step):
            outcome = "failure"
        elif step["type"] == "implement_task":
            self.implements(told["spec_id"], step)
        elif "execute" in [one["action"] for one in step["instructions"]]:
            ran = self.calls(
                "verification",
                "execute",
                spec_id=told["spec_id"],
                verify_id=step["task_id"],
                step_id=step["step_id"],
            )
            more = {"verification_receipt": ran["receipt"]}
        elif step["type"] == "run_fidelity_gate":
            self.calls(
                "review",
                "fidelity-gate",
                spec_id=told["spec_id"],
                phase_id=step["phase_id"],
                step_id=step["step_id"],
            )
        about = {name: step[name] for name in ABOUT if step[name]}
        ids = {"step_id": step["step_id"], "step_type": step["type"]}
        return {**ids, **about, "outcome": outcome, "step_proof": step["step_proof"], **more}

    def implements(self, spec: str, step: dict[str, Any]) -> None:
        """Write the file of a task and commit it; then complete the task."""
        task = {"spec_id": spec, "task_id": step["task_id"]}
        found = self.calls("task", "prepare", **task)
        path = Path(found["task_data"]["metadata"]["file_path"])
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{step['task_title']}\n")
        for words in (("add", str(path)), ("commit", "-q", "-m", step["task_title"])):
            subprocess.run(("git", *words), check=True, stdout=sys.stdout)
        self.calls("task", "complete", **task, completion_note=f"{path} is written.")

    def is_odd(self, step: dict[str, Any]) -> bool:
        """Do something else where that was asked for; return whether the step is to be reported as failed."""
        oddity = self.oddities.get(step["task_id"] or "", "")
        if oddity == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        elif oddity == "leaves":
            sys.exit(0)
        elif oddity in {"sleeps", "stays"}:
            if oddity == "stays":
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
            say("sleeping" if oddity == "sleeps" else "staying")
            while True:
                signal.pause()
        return oddity == "fails"


def main() -> None:
    """Work until a signal says to stop."""
    parser = ArgumentParser()
    parser.add_argument("session")
    for oddity in ("dies", "sleeps", "stays", "leaves", "fails"):
        parser.add_argument(f"--{oddity}", default="")
    asked = vars(parser.parse_args())
    session = asked.pop("session")
    oddities = {task: oddity for oddity, task in asked.items() if task}
    client = wire.Client(Path.cwd())
    client.greet("scripted")
    say("signal", Agent(session, client, oddities).works())
    client.close()


if __name__ == "__main__":
    main()
