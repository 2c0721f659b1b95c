"""Reads over HTTP, of resources and of streams are recorded as those of tools are."""

from __future__ import annotations

from counterpoint.cli.server.up import HttpBackend
from counterpoint.dialects.registry import surface
from counterpoint.evidence.reads import read_lines, switch_log
from counterpoint.evidence.trust.local_token import local_token
from counterpoint.protocol.surface import Caller

LOG = "a1"


def test_what_is_read_over_http_is_recorded_under_the_token(app):
    """By a tool, by a resource and by who follows events; nothing is recorded of what the server looks at for itself."""
    kept = local_token(app.environ, app.place, app.project)
    office = HttpBackend(app=app, issuer=None, connections=lambda: 0, local=kept)
    office.open()
    switch_log(app.folder, "on", LOG)
    grant = office.find(kept.make(), "127.0.0.1")
    native = surface("native")

    def called():
        return office.call_for(grant, Caller(client="a client"))

    assert not native.invoke(called(), "show", {"id": "harbour-4"}).is_error
    native.read(called, "counterpoint://item/harbour-3")
    native.read(called, "counterpoint://brief")
    workflow = surface("workflow")
    assert workflow.tell is not None
    workflow.tell(called(), 0, 50, 0)
    lines = [line for _, line in read_lines(app.folder, LOG) if line]
    recorded = {(line["entrance"], subject) for line in lines for subject in line["ids"]}
    assert ("counterpoint show", "harbour-4") in recorded
    assert ("counterpoint resources/read", "harbour-3") in recorded
    assert any(entrance == "stream" for entrance, _ in recorded)
    assert {line["by"]["kind"] for line in lines} == {"agent"}
