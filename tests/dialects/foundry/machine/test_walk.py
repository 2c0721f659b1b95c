"""Random histories of runs in a real store, by the verbs that tools call, held step by step to a small reference."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from counterpoint.dialects.foundry.envelope import code_of
from counterpoint.dialects.foundry.models.tasks import NodeDraft
from counterpoint.dialects.foundry.runs.reviewing import Reviewing
from counterpoint.dialects.foundry.runs.rows import Ending, Resumption, counters_in
from counterpoint.dialects.foundry.runs.rules.commands import GateStep
from counterpoint.dialects.foundry.runs.rules.deciding import refusal_in, step_of
from counterpoint.dialects.foundry.runs.rules.limits import read_terms
from counterpoint.dialects.foundry.runs.rules.results import read_result
from counterpoint.dialects.foundry.runs.sessions import Commanding
from counterpoint.dialects.foundry.runs.starting import Rebasing, Starting
from counterpoint.dialects.foundry.runs.stepping import Replaying, Stepping
from counterpoint.dialects.foundry.runs.steps import Heartbeat
from counterpoint.dialects.foundry.tasks.editing import Shaping
from counterpoint.dialects.foundry.tasks.moving import Moving, Verifying
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.errors import CounterpointError
from fakes.long_forms import IS_LONG
from fakes.spec_reference import CLOSING, GRACE, REFUSED, SpecReference
from fakes.spec_world import SPEC, World

pytestmark = [
    pytest.mark.faults,
    pytest.mark.no_cover,
    pytest.mark.timeout(1800 if IS_LONG else 60),
]

TERMS: Final[dict[str, Json]] = {
    "max_tasks_per_session": 6,
    "max_consecutive_errors": 2,
    "max_fidelity_review_cycles_per_phase": 2,
    "context_threshold_pct": 60,
}
OUTCOMES = st.sampled_from(["success"] * 6 + ["failure", "failure", "skipped"])
VERDICTS = st.sampled_from(["pass", "pass", "warn", "fail"])
LIES: Final = (
    *(
        "no proof",
        "another proof",
        "a foreign proof",
        "another step",
        "another type",
        "another task",
    ),
    *("no task", "no receipt", "a forged receipt", "another attempt", "not waived", "nothing"),
)


def said(data: Json) -> str:
    """Return what was answered, in a few words."""
    refusal = refusal_in(data)
    if refusal is not None:
        return f"fail {code_of(refusal)}"
    step = step_of(data)
    if not step:
        return "over"
    kind = str(step["type"])
    if kind in CLOSING:
        return f"pause {step['reason']}" if kind == "pause" else "complete"
    return f"{kind} {step['task_id'] or step['phase_id']}"


class Walk(RuleBasedStateMachine):
    """One spec with its runs, and the reference beside it. step: the one that is out, as it was told, with its proof."""

    @initialize(
        policy=st.sampled_from(["strict", "lenient", "manual"]),
        stops=st.booleans(),
        retries=st.sampled_from([True, True, False]),
    )
    def begin(self, policy: str, stops: bool, retries: bool) -> None:
        """Begin a run and ask for its first step."""
        self.folder = tempfile.TemporaryDirectory()
        self.world = World(Path(self.folder.name) / "ledger.db")
        self.reference = SpecReference(policy=policy, stops=stops, retries=retries)
        self.known_plan = copy.deepcopy(self.reference.plan)
        self.step: dict[str, Any] = {}
        self.taken: dict[str, Any] | None = None
        self.start()
        self.ask(None, reported=False)

    def teardown(self) -> None:
        """Check the ledger, the tables and the counters."""
        if hasattr(self, "world"):
            self.world.studio.check()
            self.world.studio.close()
            self.folder.cleanup()

    # ── what fay does ──

    def start(self, **given: Any) -> None:
        """Begin a run under the terms of the reference."""
        terms = {
            **TERMS,
            "gate_policy": self.reference.policy,
            "stop_on_phase_completion": self.reference.stops,
            "auto_retry_fidelity_gate": self.reference.retries,
        }
        told = self.world.fay.use(Starting).start(SPEC, read_terms(terms), **given)
        self.world.session = told.run.session

    def hears(self, report: dict[str, Any] | None) -> str:
        """Report and ask; answer what was said, or the code of the refusal, which changes nothing."""
        before = self.world.size()
        stepping = self.world.fay.use(Stepping)
        try:
            data = stepping.next(self.world.run, read_result(report, {})).data
        except CounterpointError as refused:
            assert self.world.size() == before
            return code_of(refused)
        words = said(data)
        if words == "pause user":
            stepping.obey(SPEC, self.world.session)
            is_so = (self.reference.state, self.reference.reason) == ("paused", "user")
            self.reference.stop = self.reference.stop and not is_so
        if words.startswith("fail"):
            # What is out stays out, and is reported after a rebase.
            return words
        self.step = step_of(data)
        if self.step:
            proof = self.world.fay.use(Replaying).proof(str(self.step["step_id"]))
            assert proof
            self.step["step_proof"] = proof
        return words

    def ask(self, report: dict[str, Any] | None, *, reported: bool) -> str:
        """Ask the product and the reference what comes next."""
        wanted = self.wanted(reported=reported)
        assert self.hears(report) == wanted
        return wanted

    def wanted(self, *, reported: bool) -> str:
        """Answer what the reference says comes next."""
        if self.reference.state == "ended":
            return REFUSED
        return self.reference.ask(reported=reported)

    def report(self, outcome: str, verdict: str = "pass") -> dict[str, Any]:
        """Answer a true report of the step that is out; what it needs was done."""
        step = self.step
        names = ("step_id", "step_proof", "task_id", "phase_id", "gate_attempt_id")
        told = {name: step[name] for name in names if step[name]}
        told |= {"step_type": step["type"], "outcome": outcome}
        if outcome == "success" and step["task_id"] == "verify-1-1":
            told["verification_receipt"] = self.receipt()
        if outcome == "success" and step["type"] == "run_fidelity_gate":
            self.world.judge.verdict = verdict
            asked = GateStep(
                spec=SPEC,
                session=self.world.session,
                step=str(step["step_id"]),
                phase=str(step["phase_id"]),
            )
            if self.reference.state == "running":
                self.world.fay.use(Reviewing).review(asked)
        return told

    def receipt(self) -> dict[str, Any]:
        """Execute the verification that is out; answer its receipt."""
        found = self.world.fay.use(Verifying).execute(SPEC, "verify-1-1", lambda _: None)
        assert found.receipt is not None
        return {
            "command_hash": found.command_hash,
            "exit_code": found.receipt.exit_code,
            "output_digest": str(found.receipt.output_sha256),
            "issued_at": found.receipt.ended_at,
            "step_id": self.step["step_id"],
        }

    def can_report(self) -> bool:
        """Tell whether a true report is taken."""
        reference = self.reference
        is_live = reference.state in {"running", "paused", "completed"}
        return bool(reference.kind) and is_live and not reference.is_stale()

    def judged(self) -> bool:
        """Tell whether a gate can be reported as passed: a run that stands still has nothing reviewed."""
        return self.reference.kind != "run_fidelity_gate" or self.reference.state == "running"

    @precondition(lambda self: self.can_report())
    @rule(outcome=OUTCOMES, verdict=VERDICTS)
    def report_truly(self, outcome: str, verdict: str) -> None:
        """A report that is right is taken, and the next step is what the reference says."""
        if self.reference.kind in CLOSING:
            outcome = "success"
        if self.reference.kind == "run_fidelity_gate" and (
            outcome == "skipped" or not self.judged()
        ):
            outcome = "failure"
        told = self.report(outcome, verdict)
        is_still = (self.reference.state, self.reference.kind) == ("paused", "pause")
        if is_still and self.step["reason"] == self.reference.reason:
            # While the run stands still for that it is answered and not taken, whatever has changed meanwhile.
            assert self.hears(told) == f"pause {self.reference.reason}"
            return
        self.reference.take(outcome, verdict)
        answer = self.ask(told, reported=True)
        self.taken = told
        self.reference.last = (answer, 0)

    @precondition(lambda self: self.can_report())
    @rule(verdict=VERDICTS, times=st.integers(2, 6))
    def go_on(self, verdict: str, times: int) -> None:
        """An agent that works steadily until something stops it."""
        for _ in range(times):
            if self.can_report() and self.reference.state == "running":
                self.report_truly("success", verdict)

    @precondition(lambda self: not self.reference.kind or self.reference.is_stale())
    @rule()
    def ask_without_a_report(self) -> None:
        """Where none is due: the run goes on, or says how it is."""
        self.ask(None, reported=False)

    @precondition(lambda self: self.reference.kind and self.reference.state != "failed")
    @rule(lies=st.lists(st.sampled_from(LIES), min_size=1, max_size=4))
    def lie_or_err(self, lies: list[str]) -> None:
        """A report that is wrong is refused with its code, changes nothing, and burns no proof."""
        for lie in lies:
            told, wanted = self.lied(lie)
            if wanted:
                assert self.hears(told) == wanted, lie

    def lied(self, lie: str) -> tuple[dict[str, Any] | None, str]:
        """Answer a report that is wrong in one way, and the code that it is refused with; empty if it is right."""
        told, kind = self.report("failure"), self.reference.kind
        spoilt = {
            "no proof": ("step_proof", None, "STEP_PROOF_MISSING"),
            "another proof": ("step_proof", "f" * 64, "STEP_PROOF_MISMATCH"),
            "a foreign proof": ("step_proof", self.world.foreign, "STEP_PROOF_MISMATCH"),
            "another step": ("step_id", "step_0", "STEP_MISMATCH"),
            "another task": ("task_id", "task-9-9", "STEP_MISMATCH"),
            "another attempt": ("gate_attempt_id", "gate_0", "STEP_MISMATCH"),
        }
        if lie in spoilt:
            name, value, code = spoilt[lie]
            return {**told, name: value}, code
        if lie == "another type":
            other = min({"implement_task", "execute_verification"} - {kind})
            return {**told, "step_type": other}, "STEP_MISMATCH"
        if self.reference.is_stale():
            return (None, "") if lie == "nothing" else (told, "STEP_STALE")
        return self.lied_of(lie, told, kind)

    def lied_of(
        self, lie: str, told: dict[str, Any], kind: str
    ) -> tuple[dict[str, Any] | None, str]:
        """Answer the same of what steps of a kind need."""
        won = {**told, "outcome": "success"}
        if lie == "nothing":
            return None, "STEP_RESULT_REQUIRED"
        if lie == "no task" and kind in {"implement_task", "execute_verification"}:
            return {**told, "task_id": None}, "MISSING_REQUIRED"
        if lie == "not waived" and kind == "run_fidelity_gate":
            return {**told, "outcome": "skipped"}, "REQUIRED_GATE_UNSATISFIED"
        if self.step["task_id"] == "verify-1-1" and lie == "no receipt":
            return won, "VERIFICATION_RECEIPT_MISSING"
        if self.step["task_id"] == "verify-1-1" and lie == "a forged receipt":
            forged = {**self.receipt(), "output_digest": "e" * 64}
            return {**won, "verification_receipt": forged}, "VERIFICATION_RECEIPT_INVALID"
        return None, ""

    @precondition(lambda self: self.taken is not None)
    @rule(note=st.sampled_from(["", "", "otherwise"]))
    def report_again(self, note: str) -> None:
        """The same report hears the same for 30 seconds; another one with its proof never passes."""
        assert self.reference.last is not None
        answer, age = self.reference.last
        step, before = self.step, self.world.size()
        heard = self.hears({**(self.taken or {}), **({"note": note} if note else {})})
        wanted = "STEP_PROOF_EXPIRED" if age > GRACE else answer
        assert heard == ("STEP_PROOF_CONFLICT" if note else wanted)
        assert self.world.size() == before
        self.step = step

    @rule()
    def replay(self) -> None:
        """What is out is told again, a stale step with another proof; nothing is where nothing is out."""
        reference, before = self.reference, self.world.size()
        is_live = reference.state in {"running", "paused"}
        if not reference.kind and is_live:
            assert self.refused(self.replayed) == "NOT_FOUND"
            return
        told = step_of(self.replayed())
        if not reference.kind:
            assert told == {}
            return
        proof = self.world.fay.use(Replaying).proof(str(told["step_id"]))
        assert (told["step_id"], told["type"]) == (self.step["step_id"], self.step["type"])
        assert (proof != self.step["step_proof"]) == reference.is_stale()
        if reference.is_stale():
            assert self.world.size() > before
            reference.age = reference.silent = 0
        self.step["step_proof"] = proof

    def replayed(self) -> Json:
        """Have the step told again."""
        return self.world.fay.use(Replaying).replay(self.world.run).data

    def refused(self, call: Callable[[], Any]) -> str:
        """Answer the code that a call is refused with, which changes nothing; empty if it is not."""
        before = self.world.size()
        try:
            call()
        except CounterpointError as refusal:
            assert self.world.size() == before
            return code_of(refusal)
        return ""

    @rule(pct=st.sampled_from([5, 20, 20, 25, 30, 30, 55, 80]))
    def send_a_sign_of_life(self, pct: int) -> None:
        """With the use of the context; not to a run that is over."""
        beat = lambda: self.world.fay.use(Replaying).heartbeat(self.world.run, Heartbeat(pct=pct))  # noqa: E731 -- one call of many
        is_live = self.reference.state in {"running", "paused"}
        assert self.refused(beat) == ("" if is_live else REFUSED)
        if is_live:
            self.reference.tell(pct)

    # ── commands ──

    @rule()
    def pause(self) -> None:
        """By somebody."""
        code = self.reference.code("pause")
        assert self.refused(lambda: self.world.jo.use(Commanding).pause(self.world.run)) == code
        if not code:
            self.reference.pause()

    @rule(pct=st.sampled_from([None, None, 0, 40]), is_forced=st.booleans())
    def resume(self, pct: int | None, is_forced: bool) -> None:
        """By somebody who has not worked on it, who has reviewed what waits for a person."""
        reference, world = self.reference, self.world
        code = reference.code("resume")
        is_same = repr(reference.shape()) == reference.known
        if reference.state == "failed" and is_forced:
            code = "" if is_same else "SPEC_REBASE_REQUIRED"
        attempt = self.awaited()
        if attempt:
            bare = lambda: world.jo.use(Commanding).resume(world.run, Resumption())  # noqa: E731 -- one call of many
            assert self.refused(bare) == "MANUAL_GATE_ACK_REQUIRED"
            code = "CONFLICT" if reference.has_more() else code
        how = Resumption(force=is_forced, is_acknowledged=bool(attempt), attempt=attempt, pct=pct)
        assert self.refused(lambda: world.jo.use(Commanding).resume(world.run, how)) == code
        if not code:
            reference.resume()
            if pct is not None:
                silent = reference.silent
                reference.tell(pct)
                reference.silent = silent

    def awaited(self) -> str:
        """Answer the attempt at a gate that waits for a person, if the run is paused for that."""
        if self.reference.reason != "gate_review_required":
            return ""
        return str(object_of(self.replayed()).get("gate_attempt_id") or "")

    @rule()
    def rebase(self) -> None:
        """The spec is taken as it is."""
        code, reference = self.reference.code("rebase"), self.reference
        rebase = lambda: self.world.jo.use(Rebasing).rebase(self.world.run, force=True)  # noqa: E731 -- one call of many
        assert self.refused(rebase) == code
        if not code:
            reference.rebase(self.known_plan)
            self.known_plan = copy.deepcopy(reference.plan)

    @rule(command=st.sampled_from(["end", "reset", "reset"]))
    def give_up(self, command: str) -> None:
        """By who works in it: what was held is given back."""
        code = self.reference.code(command)
        commanding = self.world.fay.use(Commanding)
        give = commanding.end if command == "end" else commanding.reset
        assert self.refused(lambda: give(self.world.run, Ending(code="testing"))) == code
        if not code:
            self.reference.end()

    @rule(is_forced=st.sampled_from([False, False, False, True]))
    def start_another(self, is_forced: bool) -> None:
        """One is live at a time, unless it is to end for the new one."""
        is_live = self.reference.state in {"running", "paused"}
        before = self.world.session
        code = self.refused(lambda: self.start(force=is_forced))
        assert code == ("SPEC_SESSION_EXISTS" if is_live and not is_forced else "")
        if not code:
            assert self.world.session != before
            self.reference = self.reference.follows()
            self.known_plan = copy.deepcopy(self.reference.plan)
            self.step, self.taken = {}, None

    # ── what others do ──

    @rule(seconds=st.sampled_from([1, 1, 20, 40, 400, 700, 3_700]))
    def wait(self, seconds: int) -> None:
        """Time passes."""
        self.world.studio.clock.pass_by(seconds=seconds)
        self.reference.wait(seconds)

    @rule()
    def stop(self) -> None:
        """Somebody asks it to stop."""
        self.world.signals.is_asked = self.reference.stop = True

    @rule(number=st.integers(0, 5), is_added=st.booleans())
    def edit(self, number: int, is_added: bool) -> None:
        """A task comes into the spec, or goes; nothing comes into a phase that is done."""
        reference = self.reference
        phase = list(reference.plan)[number % len(reference.plan)]
        shaping = self.world.jo.use(Shaping)
        if is_added:
            asked = NodeDraft(parent=phase, title="More", type="task")
            if self.world.item(phase).category == "done":
                assert self.refused(lambda: shaping.add(SPEC, asked)) == "CONFLICT"
                return
            reference.plan[phase].append(shaping.add(SPEC, asked).id)
            return
        free = [(one, name) for one, name in reference.open() if len(reference.plan[one]) > 1]
        if free:
            phase, name = free[number % len(free)]
            if not self.is_kept_out(name, lambda: shaping.remove(SPEC, name)):
                reference.plan[phase].remove(name)
                reference.blocked.discard(name)

    @rule(number=st.integers(0, 5), is_blocked=st.sampled_from([True, False, False]))
    def block(self, number: int, is_blocked: bool) -> None:
        """A task is blocked, or what blocked one is resolved."""
        reference, moving = self.reference, self.world.jo.use(Moving)
        free = [name for _, name in reference.open() if (name in reference.blocked) != is_blocked]
        if not free:
            return
        name = free[number % len(free)]
        if is_blocked:
            if not self.is_kept_out(name, lambda: moving.block(SPEC, name, "no key")):
                reference.blocked.add(name)
        else:
            moving.unblock(SPEC, name)
            reference.blocked.discard(name)

    def is_kept_out(self, name: str, call: Callable[[], Any]) -> bool:
        """Let jo change a task; tell whether somebody holds it, which refuses that."""
        is_held = self.world.is_held(name)
        assert self.refused(call) == ("CONFLICT" if is_held else "")
        return is_held

    # ── what holds always ──

    @invariant()
    def both_count_the_same(self) -> None:
        """How the run stands, what it has counted, and which tasks are done."""
        if not hasattr(self, "world"):
            return
        row, reference = self.world.row(), self.reference
        assert (row.status, row.pause_reason) == (reference.state, reference.reason)
        counted = counters_in(row)
        assert counted.tasks_completed == reference.completed
        assert counted.consecutive_errors == reference.errors
        assert counted.phase_retries == {name: n for name, n in reference.cycles.items() if n}
        names = {name for some in reference.plan.values() for name in some}
        assert {name for name in names if self.world.item(name).category == "done"} == (
            reference.done & names
        )


SETTINGS: Final = settings(
    max_examples=200 if IS_LONG else 8,
    stateful_step_count=50,
    derandomize=not IS_LONG,
    deadline=None,
    suppress_health_check=(HealthCheck.too_slow, HealthCheck.filter_too_much),
    phases=(Phase.explicit, Phase.generate),
)
"""Ten thousand steps in the long form, each time others; four hundred without it, always the same."""


def test_runs_in_a_store_do_what_the_reference_does() -> None:
    """Whatever is called next: what is answered, what is counted, and what is done."""
    run_state_machine_as_test(Walk, settings=SETTINGS)
