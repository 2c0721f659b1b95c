"""Commands to a run: which are refused, and what for."""

from __future__ import annotations

import pytest

from counterpoint.dialects.foundry.envelope import code_of
from counterpoint.dialects.foundry.models.runs import COMMANDS, REASON_CODES, STATUSES, move_of
from counterpoint.dialects.foundry.runs.rules.commands import (
    PhaseGate,
    RunRef,
    beginning,
    only_run,
    refuse_auto_mode,
    refuse_command,
    refuse_locked,
    refuse_unacknowledged,
    refuse_unreasoned,
    refuse_waiver,
)
from counterpoint.dialects.foundry.runs.rules.limits import Terms
from counterpoint.kernel.errors import CounterpointError, InvalidInput, NotFound


def run(status="running", **more):
    """Return a run of a spec in a state."""
    return RunRef(session="s-1", spec="export", status=status, **more)


def code_for(call):
    """Return the code that a call is refused with."""
    with pytest.raises(CounterpointError) as refused:
        call()
    return code_of(refused.value)


def test_the_run_that_is_meant_is_the_only_one_that_fits():
    """None, or more than one, is refused; the latter tells which there are."""
    assert only_run([run()]) == run()
    assert code_for(lambda: only_run([], "s-9")) == "NO_ACTIVE_SESSION"
    assert code_for(lambda: only_run([])) == "NO_ACTIVE_SESSION"
    assert code_for(lambda: only_run([run(), run()])) == "AMBIGUOUS_ACTIVE_SESSION"


@pytest.mark.parametrize("status", [None, *STATUSES])
def test_a_spec_has_one_live_run_whose_start_can_be_repeated(status):
    """The same key is answered with it, force replaces it, anything else is refused."""
    found = run(status, idempotency="k") if status else None
    is_live = status in {"running", "paused"}
    assert beginning(found, "k", force=False) == ("answer" if is_live else "begin")
    assert beginning(found, "other", force=True) == ("replace" if is_live else "begin")
    for key in ("", "other"):
        if is_live:
            assert code_for(lambda key=key: beginning(found, key, force=False)) == (
                "SPEC_SESSION_EXISTS"
            )
        else:
            assert beginning(found, key, force=False) == "begin"


def test_a_run_without_a_key_is_not_found_by_an_empty_one():
    assert code_for(lambda: beginning(run(), "", force=False)) == "SPEC_SESSION_EXISTS"
    assert code_for(lambda: beginning(None, "k" * 129, force=False)) == "VALIDATION_ERROR"


@pytest.mark.parametrize("command", [one for one in COMMANDS if one != "start"])
@pytest.mark.parametrize("status", [None, *STATUSES])
def test_each_command_does_what_its_table_says(command, status):
    """Only the resumption of a failed run asks for more."""
    found = run(status) if status else None
    move = move_of(command, status)
    if move.code:
        assert code_for(lambda: refuse_command(command, found)) == move.code
    else:
        assert refuse_command(command, found) == move.to


def test_a_failed_run_is_resumed_by_force_if_its_spec_is_as_it_knows_it():
    """Else it has to be rebased first."""
    failed = run("failed")
    assert refuse_command("resume", failed, force=True) == "running"
    refused = code_for(lambda: refuse_command("resume", failed, force=True, same_structure=False))
    assert refused == "SPEC_REBASE_REQUIRED"
    assert code_for(lambda: refuse_command("resume", run(), force=True)) == (
        "INVALID_STATE_TRANSITION"
    )


def test_a_run_that_waits_for_a_review_is_resumed_with_the_attempt_that_was_reviewed():
    """Any other pause asks for nothing."""
    waiting = run("paused", pause_reason="gate_review_required", attempt="a1")
    refuse_unacknowledged(waiting, "a1", is_acknowledged=True)
    refuse_unacknowledged(run("paused", pause_reason="blocked"), "", is_acknowledged=False)
    assert code_for(lambda: refuse_unacknowledged(waiting, "a1", is_acknowledged=False)) == (
        "MANUAL_GATE_ACK_REQUIRED"
    )
    for attempt in ("a2", ""):
        call = lambda attempt=attempt: refuse_unacknowledged(  # noqa: E731 -- one call of many
            waiting, attempt, is_acknowledged=True
        )
        assert code_for(call) == "INVALID_GATE_ACK"


@pytest.mark.parametrize(
    ("code", "detail", "named", "paths"),
    [
        (None, None, True, ["reason_code"]),
        ("", None, False, ["session_id", "reason_code"]),
        ("because", "x", True, ["reason_code"]),
        (7, 8, True, ["reason_code", "reason_detail"]),
        ("testing", "x" * 2_001, True, ["reason_detail"]),
    ],
)
def test_a_reason_is_one_of_the_list_and_all_that_is_wrong_is_told(code, detail, named, paths):
    """With the run, where it has to be named by its id."""
    with pytest.raises(InvalidInput) as refused:
        refuse_unreasoned(code, detail, session_named=named)
    assert [fault["path"] for fault in refused.value.facts["faults"]] == paths
    expected = "MISSING_REQUIRED" if code in {None, ""} else "INVALID_FORMAT"
    assert code_of(refused.value) == expected


@pytest.mark.parametrize("code", REASON_CODES)
def test_each_reason_of_the_list_is_taken(code):
    """With a detail or without."""
    refuse_unreasoned(code, None)
    refuse_unreasoned(code, "x" * 2_000)


BYPASS = Terms(may_bypass=True, may_waive=True)


@pytest.mark.parametrize("status", STATUSES)
def test_a_running_run_keeps_its_spec_to_itself_and_lets_its_own_calls_through(status):
    """One that is paused or over locks nothing."""
    for session, code in (
        ("s-1", ""),
        ("", "AUTONOMY_WRITE_LOCK_ACTIVE"),
        ("s-2", "AUTONOMY_WRITE_LOCK_ACTIVE"),
    ):
        call = lambda session=session: refuse_locked(  # noqa: E731 -- one call of many
            run(status), session, "maintainer", BYPASS
        )
        if code and status == "running":
            assert code_for(call) == code
        else:
            call()
    refuse_locked(None, "", "observer", Terms())
    refuse_locked(run(is_locking=False), "", "observer", Terms())


def test_the_lock_is_bypassed_by_a_maintainer_where_the_server_lets_him():
    """Nobody else, and nowhere else."""
    refuse_locked(run(), "", "maintainer", BYPASS, bypass=True)
    for role, terms in (("maintainer", Terms()), ("autonomy_runner", BYPASS)):
        call = lambda role=role, terms=terms: refuse_locked(  # noqa: E731 -- one call of many
            run(), "", role, terms, bypass=True
        )
        assert code_for(call) == "FORBIDDEN"


def test_a_gate_is_waived_by_a_maintainer_once():
    """A phase that there is not is refused with those there are."""
    gates = {
        "phase-1": PhaseGate(phase="phase-1", status="failed"),
        "phase-2": PhaseGate(phase="phase-2", status="passed"),
        "phase-3": PhaseGate(phase="phase-3", status="waived"),
    }
    assert refuse_waiver("phase-1", gates, "maintainer", BYPASS) == gates["phase-1"]
    assert (
        code_for(lambda: refuse_waiver("phase-1", gates, "autonomy_runner", BYPASS)) == "FORBIDDEN"
    )
    assert code_for(lambda: refuse_waiver("phase-1", gates, "maintainer", Terms())) == "FORBIDDEN"
    with pytest.raises(NotFound) as refused:
        refuse_waiver("phase-9", gates, "maintainer", BYPASS)
    assert refused.value.facts["available_phases"] == list(gates)
    for phase in ("phase-2", "phase-3"):
        call = lambda phase=phase: refuse_waiver(phase, gates, "maintainer", BYPASS)  # noqa: E731 -- one call of many
        assert code_for(call) == "VALIDATION_ERROR"


def test_a_run_is_configured_for_a_spec():
    refuse_auto_mode("export")
    assert code_for(lambda: refuse_auto_mode("")) == "AUTO_MODE_SPEC_REQUIRED"
