"""What HTTP asks of the project, in one process: whether it is ready, and whom it serves."""

from __future__ import annotations

import pytest

from counterpoint.cli.server.up import HttpBackend
from counterpoint.core.ports.circuits import Breaker
from counterpoint.evidence.trust.local_token import local_token
from counterpoint.kernel.errors import CircuitOpen, StoreFull
from counterpoint.protocol.surface import Caller
from fakes.failing import FailingStore


def test_an_open_breaker_makes_the_server_not_ready_and_is_measured(app):
    """With the reason; as soon as it is time for a trial, callers are welcome again."""
    office = HttpBackend(app=app, issuer=None, connections=lambda: 3)
    office.open()
    assert office.troubles() == []
    seconds = [0.0]
    app.breaker = Breaker(seconds=lambda: seconds[0])

    def down():
        raise StoreFull

    for _ in range(5):
        with pytest.raises(StoreFull):
            app.breaker.opening(down)
    with pytest.raises(CircuitOpen):
        app.breaker.opening(down)
    assert office.troubles() == ["circuit_open: store_full, a trial in 60 s"]
    measured = {name: value for name, (_, value) in office.gauges().items()}
    assert measured.pop("counterpoint_ledger_entries") > 0
    assert measured == {
        "counterpoint_open_connections": 3,
        "counterpoint_circuit_state": 2,
        "counterpoint_circuit_failures": 5,
        "counterpoint_circuit_openings_total": 1,
        "counterpoint_circuit_refusals_total": 1,
    }
    seconds[0] += 60
    assert office.troubles() == []


def test_a_store_that_fails_does_not_hide_the_other_measures(app, monkeypatch):
    """That is when somebody looks at them."""
    office = HttpBackend(app=app, issuer=None, connections=lambda: 3)
    office.open()
    monkeypatch.setattr(app, "store", FailingStore(app.store, fault=StoreFull))
    assert office.troubles() == ["store_full"]
    assert "counterpoint_ledger_entries" not in office.gauges()
    assert office.gauges()["counterpoint_open_connections"][1] == 3


def test_a_caller_of_a_guarded_surface_is_refused_over_http_too(app):
    """Before anybody asks the store in which session the caller sits; others ask it as ever."""
    kept = local_token(app.environ, app.place, app.project)
    office = HttpBackend(app=app, issuer=None, connections=lambda: 0, local=kept)
    office.open()
    grant = office.find(kept.make(), "127.0.0.1")
    office.call_for(grant, Caller(guarded=True)).core.items.project()

    def down():
        raise StoreFull

    for _ in range(5):
        with pytest.raises(StoreFull):
            app.breaker.opening(down)
    with pytest.raises(CircuitOpen):
        office.call_for(grant, Caller(guarded=True))
    office.call_for(grant, Caller()).core.items.project()
