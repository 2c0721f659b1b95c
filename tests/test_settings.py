"""Settings: flags before the environment, the environment before the defaults."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from counterpoint.app import open_app
from counterpoint.kernel.errors import InvalidInput
from counterpoint.settings import Settings, load_settings


def test_without_flags_and_variables_the_defaults_hold() -> None:
    """Nothing set is what the class says."""
    assert load_settings({}) == Settings()


def test_a_setting_has_another_name_too() -> None:
    """Its own variable goes before the other one, a flag before both."""
    environ = {"COUNTERPOINT_ISSUE_ID": "SYM-001", "COUNTERPOINT_AGENT_TYPE": "worker"}
    found = load_settings(environ)
    assert (found.item, found.profile) == ("SYM-001", "worker")
    assert load_settings({**environ, "COUNTERPOINT_ITEM": "demo-2"}).item == "demo-2"
    assert load_settings(environ, item="demo-3").item == "demo-3"


def test_a_flag_is_stronger_than_its_variable() -> None:
    """The environment speaks only where no flag was given."""
    environ = {"COUNTERPOINT_AGENT": "ada", "COUNTERPOINT_PROJECT": "one"}
    found = load_settings(environ, agent="bob", project=None)
    assert (found.agent, found.project) == ("bob", "one")


@pytest.mark.parametrize(("text", "seconds"), [("1", 1), ("86400", 86_400), ("0090", 90)])
def test_the_lease_is_a_number_of_seconds(text: str, seconds: int) -> None:
    assert load_settings({"COUNTERPOINT_LEASE_SECONDS": text}).lease_seconds == seconds


@pytest.mark.parametrize("text", ["", "0", "86401", "-1", "1.5", "soon", "²"])
def test_a_lease_out_of_bounds_is_refused(text: str) -> None:
    """The refusal names the variable and the bounds."""
    with pytest.raises(InvalidInput, match="COUNTERPOINT_LEASE_SECONDS") as refusal:
        load_settings({"COUNTERPOINT_LEASE_SECONDS": text})
    assert "86400" in refusal.value.hint


@pytest.mark.parametrize(("minutes", "seconds"), [(None, 5), (1, 60)])
def test_a_claim_holds_as_long_as_the_settings_say(
    repository: Path, minutes: int | None, seconds: int
) -> None:
    """The setting counts for a caller that names no lease, and only for that."""
    app = open_app(repository, {"COUNTERPOINT_LEASE_SECONDS": "5"})
    core = app.core(app.agent())
    made = core.plans.create(core.plans.read("# Plan\n- [ ] task\n"))
    claim = core.claims.start(made.ready[0], minutes).claim
    app.close()
    held = datetime.fromisoformat(claim.leased_until) - datetime.fromisoformat(claim.claimed_at)
    assert held.total_seconds() == seconds


def test_a_mode_that_is_left_empty_is_the_usual_one() -> None:
    """Launchers hand an empty variable on where nothing was set."""
    assert load_settings({"COLIBRI_MODE": ""}).mode == "FULL"
    assert load_settings({"COUNTERPOINT_MODE": "", "COLIBRI_MODE": "READONLY"}).mode == "READONLY"
    assert load_settings({"COLIBRI_MODE": "READONLY"}, mode="TEST").mode == "TEST"
