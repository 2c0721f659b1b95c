"""Random histories of unattended runs, held step by step to a small reference."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from fakes.long_forms import IS_LONG
from fakes.run_reference import PLAN, Reference
from fakes.unattended import Run

OUTCOMES = st.sampled_from(["success"] * 6 + ["failure", "failure", "skipped"])
VERDICTS = st.sampled_from(["pass", "pass", "warn", "fail"])
ALL_LIES = (
    *("no proof", "another proof", "another step", "another type", "another task"),
    *("no task", "no receipt", "foreign receipt", "wrong exit code", "another attempt"),
    *("no evidence", "edited evidence", "unsigned evidence", "not waived", "nothing"),
)
SPOILT = {
    "no proof": ("step_proof", "", "STEP_PROOF_MISSING"),
    "another proof": ("step_proof", "f" * 64, "STEP_PROOF_MISMATCH"),
    "another step": ("step_id", "step-0", "STEP_MISMATCH"),
    "another task": ("task_id", "task-9-9", "STEP_MISMATCH"),
}
"""What is wrong with a report of any step: the field, its value, and the code."""


class Walk(RuleBasedStateMachine):
    """One run, the reference beside it, and what was reported last."""

    @initialize(
        policy=st.sampled_from(["strict", "lenient", "manual"]),
        stops=st.booleans(),
        retries=st.sampled_from([True, True, False]),
    )
    def begin(self, policy, stops, retries):
        """Start a run and ask for its first step."""
        self.run = Run(policy=policy, stops=stops, retries=retries)
        self.reference = Reference(policy=policy, stops=stops, retries=retries)
        self.last: tuple[dict[str, Any], str, int] | None = None
        self.known_plan = copy.deepcopy(self.run.plan)
        self.ask(None, reported=False)

    def ask(self, report, *, reported):
        """Ask both for the next step, and see that they say the same."""
        wanted = self.reference.ask(reported=reported)
        assert self.run.next(report) == wanted
        return wanted

    def report(self, outcome, verdict="pass"):
        """Answer a true report of the step that is out; what it needs was done."""
        step = self.run.out
        assert step is not None
        told = {
            "step_id": step.id,
            "step_type": step.type,
            "outcome": outcome,
            "step_proof": self.run.proof,
        }
        if step.task:
            told["task_id"] = step.task
        if step.type == "execute_verification" and outcome == "success":
            told["verification_receipt"] = self.run.execute(0)
        if step.type == "run_fidelity_gate":
            waiver = self.run.gates[step.phase].waiver
            attempt = waiver if outcome == "skipped" else step.attempt
            told |= {"phase_id": step.phase, "gate_attempt_id": attempt}
            if outcome == "success":
                self.run.review(verdict)
        return told

    def is_stale(self):
        """Tell whether what is out was issued too long ago."""
        is_closing = self.reference.kind in {"pause", "complete_spec"}
        return self.reference.age > 3_600 and not is_closing

    def can_report(self):
        """Tell whether a true report of the step that is out is taken."""
        return self.run.is_out and not self.is_stale() and self.reference.state != "failed"

    @precondition(lambda self: self.can_report())
    @rule(outcome=OUTCOMES, verdict=VERDICTS)
    def report_truly(self, outcome, verdict):
        """A report that is right is taken, and the next step is what the reference says."""
        step = self.run.out
        if step.type in {"pause", "complete_spec"}:
            outcome = "success"
        if step.type == "run_fidelity_gate" and outcome == "skipped":
            outcome = "success" if not self.run.gates[step.phase].waiver else outcome
        told = self.report(outcome, verdict)
        self.reference.take(outcome, verdict)
        self.last = (told, self.ask(told, reported=True), 0)

    @precondition(lambda self: self.can_report())
    @rule(
        outcome=st.sampled_from(["success", "success", "success", "failure"]),
        verdict=VERDICTS,
        times=st.integers(2, 6),
    )
    def go_on(self, outcome, verdict, times):
        """An agent that works steadily, well or badly, until something stops it."""
        for _ in range(times):
            if self.can_report() and self.reference.state == "running":
                self.report_truly(outcome, verdict)

    @precondition(lambda self: self.can_report() and self.reference.state == "running")
    @rule(verdict=VERDICTS)
    def work_up_to_the_gate(self, verdict):
        """Tasks are done until the phase is reviewed, and that is reported with a verdict."""
        while self.can_report() and self.reference.kind in {
            "implement_task",
            "execute_verification",
        }:
            self.report_truly("success", "pass")
        if self.can_report():
            self.report_truly("success", verdict)

    @precondition(lambda self: self.run.is_out)
    @rule(lies=st.lists(st.sampled_from(ALL_LIES), min_size=2, max_size=6), verdict=VERDICTS)
    def lie_or_err(self, lies, verdict):
        """A report that is wrong is refused with its code, changes nothing, and burns no proof."""
        for lie in lies:
            self.lie(lie, verdict)

    @precondition(lambda self: self.reference.kind in {"execute_verification", "run_fidelity_gate"})
    @rule(verdict=VERDICTS)
    def cheat_in_every_way(self, verdict):
        """Steps that need a proof of more than themselves are what is worth cheating about."""
        for lie in ALL_LIES if self.run.is_out else ():
            self.lie(lie, verdict)

    def lie(self, lie, verdict):
        """Spoil a true report in one way, and see that it is refused for that."""
        step = self.run.out
        told: dict[str, Any] | None = self.report("success", verdict)
        if lie in SPOILT:
            name, value, wanted = SPOILT[lie]
            told[name] = value
        elif lie == "another type":
            others = {"implement_task", "execute_verification"} - {step.type}
            told["step_type"], wanted = min(others), "STEP_MISMATCH"
        elif lie == "nothing":
            told, wanted = None, "" if self.is_stale() else "STEP_RESULT_REQUIRED"
        elif step.type == "run_fidelity_gate":
            wanted = self.lie_about_the_gate(lie, told)
        else:
            wanted = self.lie_about_the_task(lie, told, step)
        if self.is_stale() and told and not wanted.startswith(("STEP_PROOF", "STEP_MISMATCH")):
            wanted = "STEP_STALE"
        if wanted:
            before = copy.deepcopy(self.run)
            assert self.run.next(told) == wanted
            assert self.run == before

    def lie_about_the_task(self, lie, told, step):
        """Spoil the report of any other step, and answer the code that it is to be refused with."""
        invalid = "VERIFICATION_RECEIPT_INVALID"
        if lie == "no task" and step.task:
            told["task_id"] = ""
            return "MISSING_REQUIRED"
        if step.type != "execute_verification":
            return ""
        if lie == "no receipt":
            told["verification_receipt"] = None
            return "VERIFICATION_RECEIPT_MISSING"
        if lie == "foreign receipt":
            told["verification_receipt"]["output_digest"] = "e" * 64
            return invalid
        if lie == "wrong exit code":
            told["verification_receipt"] = self.run.execute(1)
            return invalid
        return ""

    def lie_about_the_gate(self, lie, told):
        """Spoil the report of a gate, and answer the code that it is to be refused with."""
        found = self.run.evidence
        if lie == "another attempt":
            told["gate_attempt_id"] = "attempt-0"
            return "STEP_MISMATCH"
        if lie == "no evidence":
            self.run.evidence = None
            return "INVALID_GATE_EVIDENCE"
        if lie in {"edited evidence", "unsigned evidence"}:
            changed = {"findings": '["none"]'} if lie == "edited evidence" else {"integrity": ""}
            self.run.evidence = type(found)(**{**_fields(found), **changed})
            return "GATE_INTEGRITY_CHECKSUM"
        if lie == "not waived":
            told["outcome"] = "skipped"
            waiver = self.run.gates[told["phase_id"]].waiver
            return "INVALID_GATE_EVIDENCE" if waiver else "REQUIRED_GATE_UNSATISFIED"
        return ""

    @precondition(lambda self: self.run.is_out and self.is_stale())
    @rule()
    def ask_without_a_report_of_a_stale_step(self):
        """The run pauses, and that step is out no more."""
        assert self.ask(None, reported=False) != ""

    @precondition(lambda self: not self.run.is_out)
    @rule()
    def ask_without_a_step(self):
        """Nothing has to be reported."""
        self.ask(None, reported=False)

    @precondition(lambda self: self.last is not None)
    @rule(note=st.sampled_from(["", "", "otherwise"]))
    def report_again(self, note):
        """The same report hears the same answer for 30 seconds; then it has expired, and another one never passes."""
        told, answer, age = self.last
        wanted = "STEP_PROOF_EXPIRED" if age > 30 else answer
        if answer.isupper():
            return  # that report was refused, so it was never taken
        before = copy.deepcopy(self.run)
        again = {**told, "note": note} if note else told
        assert self.run.next(again) == ("STEP_PROOF_CONFLICT" if note else wanted)
        assert self.run == before

    @precondition(lambda self: self.reference.state == "completed" and not self.run.is_out)
    @rule()
    def start_over(self):
        """A spec that is complete has no more to it: another run begins."""
        reference = self.reference
        self.begin(reference.policy, reference.stops, reference.retries)

    @rule(seconds=st.sampled_from([1, 1, 20, 40, 400, 700, 3_700]))
    def wait(self, seconds):
        """Time passes."""
        self.run.wait(seconds)
        self.reference.silent += seconds
        self.reference.age += seconds
        if self.last:
            self.last = (*self.last[:2], self.last[2] + seconds)

    @precondition(lambda self: self.reference.state in {"running", "paused"})
    @rule(pct=st.sampled_from([5, 20, 20, 25, 30, 30, 55, 80]))
    def send_a_sign_of_life(self, pct):
        """With the use of the context."""
        self.run.tell(pct)
        self.reference.tell(pct)

    @precondition(lambda self: self.reference.state == "paused")
    @rule()
    def resume(self):
        """Whoever resumes has reviewed what waited for a person."""
        self.run.resume()
        self.reference.resume()

    @precondition(lambda self: self.reference.state in {"paused", "failed"})
    @rule()
    def rebase(self):
        """The spec is taken as it is now."""
        self.run.rebase()
        self.reference.rebase(self.known_plan)
        self.known_plan = copy.deepcopy(self.run.plan)

    @rule(
        what=st.sampled_from(["edit", "block", "block", "free", "free", "free", "waive", "stop"]),
        phase=st.sampled_from(list(PLAN)),
        place=st.integers(0, 2),
    )
    def meddle(self, what, phase, place):
        """Others change the spec, block a task, waive a gate, or want the run to stop."""
        name = PLAN[phase][place % len(PLAN[phase])]
        if what == "edit":
            self.edit(phase, f"task-{phase[-1]}-{5 + place}")
        elif what == "waive":
            self.run.waive(phase)
            self.reference.gates[phase] = "open"
        elif what == "stop":
            self.run.stop_requested = self.reference.stop = True
        elif name not in self.reference.done:
            (self.reference.blocked.add if what == "block" else self.reference.blocked.discard)(
                name
            )
            self.run.tasks[name] = "blocked" if what == "block" else "open"

    def edit(self, phase, name):
        """Have a task come into the spec, or go again."""
        for plan in (self.run.plan, self.reference.plan):
            if name in plan[phase]:
                plan[phase] = [one for one in plan[phase] if one != name]
            else:
                plan[phase] = [*plan[phase], name]
        if name in self.run.plan[phase]:
            self.reference.done.discard(name)
            self.run.tasks[name] = "open"

    @invariant()
    def both_count_the_same(self):
        """Tasks, errors, cycles, and what is out."""
        if not hasattr(self, "run"):
            return
        run, reference = self.run, self.reference
        assert (run.status, run.reason) == (reference.state, reference.reason)
        assert run.counters.tasks_completed == reference.completed
        assert run.counters.consecutive_errors == reference.errors
        assert run.counters.phase_retries == {k: v for k, v in reference.cycles.items() if v}
        assert {
            name for name, state in run.tasks.items() if state == "done"
        } == reference.done & set(run.tasks)

    @invariant()
    def nothing_is_out_that_could_not_be_done(self):
        """One step at a time, never a task that is blocked when it is issued; a proof is used once."""
        if not hasattr(self, "run"):
            return
        unreported = [one for one in self.run.steps[-1:] if not one.consumed_at]
        assert bool(unreported) >= self.run.is_out
        assert len({one.proof for one in self.run.steps}) == len(self.run.steps)
        if self.run.status == "completed":
            issued = [one.type for one in self.run.steps]
            assert issued.count("complete_spec") == 1


def _fields(found):
    return {name: getattr(found, name) for name in type(found).__dataclass_fields__}


TestWalk = Walk.TestCase
TestWalk.settings = settings(
    max_examples=150 if IS_LONG else 40, stateful_step_count=100 if IS_LONG else 50
)
