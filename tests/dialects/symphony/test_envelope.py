"""Refusals: codes by kind, and what to do next in the words themselves."""

from __future__ import annotations

import pytest

from counterpoint.dialects.symphony.envelope import refuse
from counterpoint.kernel import errors
from counterpoint.kernel.acts import Act


@pytest.mark.parametrize(
    ("refusal", "code"),
    [
        (errors.NotFound("x"), "NOT_FOUND"),
        (errors.InvalidInput("x"), "VALIDATION_ERROR"),
        (errors.PathOutside("x"), "VALIDATION_ERROR"),
        (errors.Forbidden("x"), "PERMISSION_DENIED"),
        (errors.IllegalMove("x"), "INVALID_STATE"),
        (errors.NotReady("x"), "INVALID_STATE"),
        (errors.ClaimLost("x"), "INVALID_STATE"),
        (errors.NotClaimHolder("x"), "INVALID_STATE"),
        (errors.SessionEnded("x"), "INVALID_STATE"),
        (errors.GateClosed("x"), "INVALID_STATE"),
        (errors.AlreadyClaimed("x"), "CONFLICT"),
        (errors.KeyReused("x"), "CONFLICT"),
        (errors.RateLimited("x"), "LIMIT_EXCEEDED"),
        (errors.QuotaExceeded("x"), "LIMIT_EXCEEDED"),
        (errors.StoreBusy("x"), "UNAVAILABLE"),
        (errors.Unexpected("x"), "INTERNAL"),
        (errors.ChainBroken("x"), "INTERNAL"),
        (errors.Conflict("x", workspace="tree"), "WORKSPACE_INVALID"),
    ],
)
def test_a_refusal_has_the_code_of_its_kind(refusal, code):
    """A refusal about the working tree has its own."""
    assert refuse(refusal)["code"] == code


def test_a_refusal_says_what_to_do_next():
    """In one sentence for the agent, and apart for a program; facts never hide what is said."""
    told = refuse(errors.StaleVersion("It is at 3.", hint="Read again.", version=3, hint_="x"))
    assert told["error"] == "It is at 3. Read again."
    assert told["details"]["version"] == 3
    assert told["details"]["hint"] == "Read again."
    assert told["details"]["retryable"] is True


def test_the_next_step_names_tools_that_there_are():
    """What agents of the dialect cannot do is said as the command of a person."""
    told = refuse(errors.NotFound("There is none."))
    assert told["error"] == "There is none. Check the id with `list_issues`."
    gates = errors.GateClosed("x", hint=f"{Act.VERIFY}; {Act.SUBMIT}.")
    said = refuse(gates)["details"]["hint"]
    assert said.startswith("Have its checks run by")
    assert "`counterpoint waive ID GATE --reason TEXT`" in said
