"""Limits, stop conditions, policies and postures of unattended runs."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.dialects.foundry.models.runs import Limits, StopConditions
from counterpoint.dialects.foundry.runs.rules.limits import (
    PROFILES,
    RANGES,
    Terms,
    limits_text,
    read_terms,
    terms_of,
)
from counterpoint.kernel.errors import InvalidInput
from fakes.spec_documents import ANY_JSON

DEFAULTS = {
    "max_tasks_per_session": 100,
    "max_consecutive_errors": 3,
    "context_threshold_pct": 85,
    "heartbeat_stale_minutes": 10,
    "heartbeat_grace_minutes": 5,
    "step_stale_minutes": 60,
    "max_fidelity_review_cycles_per_phase": 3,
    "avg_pct_per_step": 3,
    "context_staleness_threshold": 5,
    "context_staleness_penalty_pct": 5,
    "context_reset_threshold_pct": 10,
    "sidecar_max_age_seconds": 120,
}


def faults_of(arguments, configured=None):
    """Return the paths that are refused."""
    with pytest.raises(InvalidInput) as refused:
        read_terms(arguments, configured)
    return {fault["path"] for fault in refused.value.facts["faults"]}


def test_the_defaults_are_those_of_the_contract():
    """Nothing given means the limits as they are documented, strict gates and the lock."""
    terms = read_terms({})
    assert asdict(terms.limits) == DEFAULTS
    assert set(RANGES) == set(DEFAULTS)
    assert terms == Terms()
    assert terms.stop == StopConditions(
        stop_on_phase_completion=False, auto_retry_fidelity_gate=True
    )
    assert (terms.policy, terms.is_locking, terms.may_waive) == ("strict", True, False)


@pytest.mark.parametrize(
    ("posture", "role", "expected"),
    [
        ("unattended", "autonomy_runner", ("strict", True, 100, 3, 3, False)),
        ("supervised", "maintainer", ("strict", True, 100, 5, 3, True)),
        ("debug", "maintainer", ("manual", False, 250, 20, 10, True)),
    ],
)
def test_a_posture_sets_what_it_stands_for(posture, role, expected):
    """Each has its role, policy, stop, limits, and what a maintainer may do."""
    terms = read_terms({}, {"posture_profile": posture})
    limits = terms.limits
    found = (limits.max_tasks_per_session, limits.max_consecutive_errors)
    cycles = limits.max_fidelity_review_cycles_per_phase
    stops = terms.stop.stop_on_phase_completion
    assert (terms.policy, stops, *found, cycles, terms.may_waive) == expected
    assert terms.may_bypass == terms.may_waive
    assert PROFILES[posture].role == role


def test_arguments_win_over_the_configuration_and_that_over_the_posture():
    """None counts as not given."""
    configured = {"posture_profile": "debug", "max_consecutive_errors": 7, "gate_policy": "lenient"}
    terms = read_terms({"gate_policy": "strict", "max_consecutive_errors": None}, configured)
    assert terms.policy == "strict"
    assert terms.limits.max_consecutive_errors == 7
    assert terms.limits.max_tasks_per_session == 250


def test_every_fault_is_told_at_once():
    """Of the arguments and of the configuration, each with its place."""
    arguments = {
        "gate_policy": "loose",
        "max_tasks_per_session": 0,
        "context_threshold_pct": 101,
        "heartbeat_stale_minutes": 3,
        "heartbeat_grace_minutes": 3,
        "stop_on_phase_completion": 1,
        "max_consecutive_errors": True,
        "no_such_limit": 1,
        "allow_gate_waiver": True,
    }
    assert faults_of(arguments, {"step_stale_minutes": "60"}) == {
        *("gate_policy", "max_tasks_per_session", "context_threshold_pct"),
        *("heartbeat_grace_minutes", "stop_on_phase_completion", "max_consecutive_errors"),
        *("no_such_limit", "allow_gate_waiver", "configuration.step_stale_minutes"),
    }


@pytest.mark.parametrize(
    ("given_", "wrong"),
    [
        ({"heartbeat_stale_minutes": 5}, True),
        ({"heartbeat_stale_minutes": 6}, False),
        ({"heartbeat_grace_minutes": 10}, True),
        ({"heartbeat_grace_minutes": 0, "heartbeat_stale_minutes": 1}, False),
    ],
)
def test_the_grace_is_shorter_than_what_counts_as_stale(given_, wrong):
    """Whether both are given, or one and the other stays."""
    if wrong:
        assert faults_of(given_) == {"heartbeat_grace_minutes"}
    else:
        assert read_terms(given_).limits.heartbeat_stale_minutes >= 1


@given(st.dictionaries(st.sampled_from([*RANGES, "gate_policy", "posture_profile"]), ANY_JSON))
def test_anything_at_all_is_read_or_refused(arguments):
    """No value stops the server, and what is read lies in its range."""
    with suppress(InvalidInput):
        refused_or_in_range(arguments)


def refused_or_in_range(arguments):
    """Read arguments, and see that what is read lies in its range."""
    terms = read_terms(arguments)
    for name, value in asdict(terms.limits).items():
        assert value in RANGES[name]


def test_a_row_keeps_the_terms_that_a_run_was_started_with():
    """What is written of them reads back as the same."""
    terms = read_terms(
        {"max_tasks_per_session": 7, "stop_on_phase_completion": True},
        {"posture_profile": "debug", "enforce_write_lock": False},
    )
    kept = limits_text(terms)
    assert terms_of(kept, terms.policy, terms.posture or "", is_locking=terms.is_locking) == terms
    assert terms_of({}, "strict", "", is_locking=True) == Terms(limits=Limits())
