"""Risk: levels, points, reasons and which gate results are used."""

from __future__ import annotations

from dataclasses import astuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.dialects.symphony.rules.risk import (
    THRESHOLDS,
    GateResult,
    Thresholds,
    basis_of,
    judge,
    sensitive_paths,
    thresholds_of,
    used,
)
from counterpoint.kernel.errors import InvalidInput

counts = st.integers(0, 2000)
gate_results = st.builds(
    GateResult,
    command=st.sampled_from(["pytest", "ruff", "build"]),
    label=st.sampled_from(["", "Tests"]),
    is_passed=st.booleans(),
    is_required=st.booleans(),
    is_verified=st.booleans(),
)
RANK = {"low": 0, "medium": 1, "high": 2}


def gate(passed=True, required=True, verified=True, command="pytest"):
    """Answer a result of a gate."""
    return GateResult(
        command=command,
        label="Tests",
        is_passed=passed,
        is_required=required,
        is_verified=verified,
    )


@pytest.mark.parametrize(
    ("lines", "files", "sensitive", "gates", "level", "parts"),
    [
        (0, 0, (), (), "low", (0, 0, 0, 0)),
        (50, 3, (), (gate(),), "low", (4, 6, 0, 0)),
        (51, 3, (), (gate(),), "medium", (4, 6, 0, 0)),
        (50, 4, (), (gate(),), "medium", (4, 8, 0, 0)),
        (499, 14, (), (gate(),), "medium", (40, 28, 0, 0)),
        (500, 1, (), (gate(),), "high", (40, 2, 0, 0)),
        (1, 15, (), (gate(),), "high", (0, 30, 0, 0)),
        (1, 1, (".env",), (gate(),), "high", (0, 2, 20, 0)),
        (1, 1, (), (gate(passed=False),), "high", (0, 2, 0, 10)),
        (1, 1, (), (gate(passed=False, required=False),), "low", (0, 2, 0, 5)),
        (1, 1, (), (gate(verified=False),), "low", (0, 2, 0, 5)),
        (9999, 99, ("a", "b"), (gate(passed=False, verified=False),), "high", (40, 30, 20, 10)),
    ],
)
def test_level_and_points_follow_the_table(lines, files, sensitive, gates, level, parts):
    """The borders of each threshold, sensitive paths, failed and merely claimed gates."""
    risk = judge(lines=lines, files=files, sensitive=sensitive, gates=gates)
    assert risk.level == level
    assert astuple(risk.parts) == parts
    assert risk.score == sum(parts)


@given(lines=counts, files=counts, more=counts, gates=st.lists(gate_results, max_size=5))
def test_a_larger_change_is_never_less_risky(lines, files, more, gates):
    """The score stays from 0 to 100, and is the sum of its parts."""
    small = judge(lines=lines, files=files, gates=gates)
    large = judge(lines=lines + more, files=files + more, sensitive=["x"], gates=gates)
    assert 0 <= small.score < large.score <= 100
    assert RANK[small.level] <= RANK[large.level] == 2
    assert small.score == sum(astuple(small.parts))


@given(gates=st.lists(gate_results, max_size=8))
def test_what_the_server_measured_counts_before_what_was_claimed(gates):
    chosen = used(gates)
    assert len({result.command for result in chosen}) == len(chosen)
    for result in chosen:
        of_command = [one for one in gates if one.command == result.command]
        measured = [one for one in of_command if one.is_verified]
        assert result == (measured or of_command)[-1]
    assert {result.command for result in chosen} == {result.command for result in gates}


@given(gates=st.lists(gate_results, max_size=8))
def test_the_basis_says_which_results_were_used(gates):
    """Verified or claimed only if all of them are."""
    chosen = used(gates)
    basis = judge(lines=1, files=1, gates=gates).basis
    assert basis == basis_of(chosen)
    assert (basis == "none") is (not gates)
    assert (basis == "verified") is (bool(chosen) and all(one.is_verified for one in chosen))
    assert (basis == "claimed") is (bool(chosen) and not any(one.is_verified for one in chosen))


def test_the_reasons_say_it_in_words():
    """Size, sensitive paths, failed gates, and on what it rests."""
    risk = judge(
        lines=700,
        files=5,
        sensitive=[f"secret/{n}" for n in range(7)],
        gates=[
            gate(passed=False, command="a"),
            GateResult(command="b", label="", is_passed=False, is_required=False),
        ],
    )
    assert risk.basis == "mixed"
    assert risk.sensitive == tuple(f"secret/{n}" for n in range(7))
    assert risk.reasons == (
        "700 changed lines: large from 500",
        "5 changed files: more than 3",
        "7 sensitive paths: secret/0, secret/1, secret/2, secret/3, secret/4 and 2 more",
        "the required gate Tests failed",
        "the optional gate b failed",
        "only claimed by the agent, not run by the server: b",
    )
    calm = judge(lines=1, files=1, gates=[gate()])
    assert calm.reasons[-1] == "1 gate result was measured by the server"
    assert judge(lines=1, files=1).reasons == (
        "1 changed line: small up to 50",
        "1 changed file: small up to 3",
        "no gate results",
    )


@pytest.mark.parametrize(
    ("area", "path", "expected"),
    [
        (".env*", ".env", True), (".env*", "app/.env.local", True), (".env*", "environment", False),
        ("server/database/*", "server/database/schema.ts", True),
        ("server/database/*", "server/database/deep/x.sql", True),
        ("server/database/*", "x/server/database/y", False), ("secrets/", "a/secrets/key", True),
        ("/auth", "src/auth", False), ("**/auth/**", "src/auth/x", True), ("", "x", False),
        (" ", "x", False),
    ],
)  # fmt: skip
def test_sensitive_areas_are_globs(area, path, expected):
    """As in git: an area without a slash counts in every folder, any other from the root."""
    assert sensitive_paths([path], [area]) == ([path] if expected else [])


def test_thresholds_are_replaced_one_by_one():
    """What is not given keeps its default; none given are the defaults."""
    assert thresholds_of({}) == Thresholds()
    assert thresholds_of({"high_lines": 60, "low_files": 15}) == Thresholds(
        high_lines=60, low_files=15
    )
    tight = judge(lines=60, files=1, thresholds=thresholds_of({"high_lines": 60}))
    assert tight.level == "high"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"lines": 5}, "'lines' is not a threshold"), ({"low_lines": 0}, "low_lines"),
        ({"low_lines": -1}, "low_lines"), ({"low_lines": True}, "low_lines"),
        ({"low_lines": "5"}, "low_lines"), ({"low_lines": 5.0}, "low_lines"),
        ({"high_files": 10**9}, "high_files"), ({"low_lines": 501}, "above high_lines (500)"),
        ({"high_files": 2}, "low_files (3) is above"), ({"low_files": None}, "low_files"),
    ],
)  # fmt: skip
def test_thresholds_that_make_no_sense_are_refused(values, words):
    """Unknown names, numbers that are none, low above high."""
    with pytest.raises(InvalidInput) as refusal:
        thresholds_of(values)
    assert words in refusal.value.message


def test_all_faults_of_thresholds_come_together():
    """One refusal names each."""
    with pytest.raises(InvalidInput) as refusal:
        thresholds_of({"x": 1, **dict.fromkeys(THRESHOLDS, 0)})
    assert refusal.value.message.count(";") == 4
