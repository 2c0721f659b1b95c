"""What the command that supervises refuses before anything is begun, and what it takes a signal for."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from counterpoint.app import App
from counterpoint.cli.supervise.command import listen_for_signals
from counterpoint.core.model.drafts import Draft
from counterpoint.dialects.foundry.runs.sessions import Watching

SPEC = "pier-2026-01-02-001"
TAKEN = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Leave the signals of this process as they were."""
    before = {number: signal.getsignal(number) for number in TAKEN}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", TAKEN)
def test_the_first_signal_is_a_wish_and_the_second_an_order(
    number: signal.Signals, capfd: pytest.CaptureFixture[str]
) -> None:
    # Whoever runs the tests may have had one of them ignored, as `nohup` does.
    before = signal.default_int_handler
    signal.signal(number, before)
    with listen_for_signals() as stopping:
        assert not stopping.is_asked
        os.kill(os.getpid(), number)
        assert stopping.is_asked
        assert "Once more kills it" in capfd.readouterr().err
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert signal.getsignal(number) is before


def test_who_was_started_to_ignore_the_end_of_its_terminal_goes_on_ignoring_it() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with listen_for_signals() as stopping:
        os.kill(os.getpid(), signal.SIGHUP)
        assert not stopping.is_asked


@pytest.mark.usefixtures("ledger")
def test_an_agent_has_to_be_named(call: Callable[..., Any]) -> None:
    assert call("supervise", "harbour").code == 2


@pytest.mark.usefixtures("place")
def test_nothing_is_made_where_there_is_no_ledger(call: Callable[..., Any], place: Path) -> None:
    said = call("supervise", "harbour", "--", "true")
    assert (said.code, "counterpoint init" in said.err) == (3, True)
    assert not (place / ".counterpoint").exists()


@pytest.mark.usefixtures("ledger")
def test_a_prompt_that_cannot_be_given_is_refused(call: Callable[..., Any], tmp_path: Path) -> None:
    odd, long = tmp_path / "odd", tmp_path / "long"
    odd.write_bytes(b"\xff\xfe")
    long.write_text("x" * 100_001)
    for file, why in (
        (tmp_path / "none", "cannot be read"),
        (odd, "cannot be read"),
        (long, "more than 100,000"),
    ):
        said = call("supervise", "harbour", "--prompt", str(file), "--", "true")
        assert (said.code, why in said.err) == (2, True), said.err


def made(app: App, **attributes: str) -> None:
    """Make a spec with one node."""
    names = (("node", f"{SPEC}/verify-1-1"),)
    node = Draft(kind="task", title="Try it", aliases=names, attributes=attributes)
    phase = Draft(kind="phase", title="Build", children=(node,))
    named = (("spec", SPEC),)
    root = Draft(kind="spec", title="Pier", lifecycle="declared", aliases=named, children=(phase,))
    app.person().plans.create(root)


def test_a_spec_that_there_is_not_starts_nothing(call: Callable[..., Any], app: App) -> None:
    made(app)
    before = {path.name for path in app.folder.iterdir()}
    said = call("supervise", f"{SPEC}x", "--", "no-such-agent")
    assert (said.code, "counterpoint list --all" in said.err) == (1, True), said.err
    assert f"there is no spec '{SPEC}x'; nothing was started" in said.err
    assert {path.name for path in app.folder.iterdir()} == before


def test_a_spec_whose_commands_nobody_lets_be_run_is_not_begun(
    call: Callable[..., Any], app: App
) -> None:
    """No agent gets past such a verification: a person hears what to type before any is started."""
    made(app, type="verify", verification_type="run-tests", command="make all")
    said = call("supervise", SPEC, "--", "no-such-agent")
    assert (said.code, "counterpoint trust --allow 'make all'" in said.err) == (3, True), said.err
    watching = app.person().use(Watching)
    assert watching.list(SPEC, None, 1) == []


def test_a_plan_is_supervised_by_any_name_and_not_with_a_check_that_nobody_allows(
    call: Callable[..., Any], app: App
) -> None:
    task = Draft(kind="task", title="Try it", checks=(("make", "all"),))
    phase = Draft(kind="phase", title="Build", children=(task,))
    plan = app.person().plans.create(Draft(kind="plan", title="Pier of stone", children=(phase,)))
    id_, number = plan.root.id, plan.root.id.rpartition("-")[2]
    before = {path.name for path in app.folder.iterdir()}
    for name in (id_, number, f"#{number}", id_.upper()):
        said = call("supervise", name, "--", "no-such-agent")
        assert (said.code, "counterpoint trust --allow 'make all'" in said.err) == (3, True), name
    said = call("supervise", str(int(number) + 1), "--", "no-such-agent")
    assert (said.code, f"Name the whole: {id_}." in said.err) == (2, True), said.err
    assert {path.name for path in app.folder.iterdir()} == before


def test_a_run_is_not_begun_for_an_agent_that_is_not_there(
    call: Callable[..., Any], app: App
) -> None:
    made(app)
    said = call("supervise", SPEC, "--", "no-such-agent", "{prompt}")
    assert (said.code, "`no-such-agent`" in said.err) == (3, True), said.err
    assert app.person().use(Watching).list(SPEC, None, 1) == []
