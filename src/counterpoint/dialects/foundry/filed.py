"""Calls about specs that lie as files: they come in at first sight."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Final, cast

from counterpoint.core.rules.wording import few
from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.verbs.documents.importing import ImportedSpec
from counterpoint.dialects.foundry.verbs.documents.mirroring import Mirroring
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.errors import CounterpointError, NotFound
from counterpoint.protocol.surface import Run

_FIXES_TOLD: Final = 20
"""Fixes that the call tells that took a spec in."""


def with_files(call: Call, arguments: Mapping[str, Json], run: Run) -> Json:
    """Run a call; a spec that only has a file is taken in for it, by whoever calls."""
    if call.settings.is_read_only:
        return run()
    spec = arguments.get("spec_id")
    if not isinstance(spec, str):
        return _warned(run(), _arriving(call))
    try:
        answer = run()
    except NotFound as refusal:
        if refusal.facts.get("error_code") != "SPEC_NOT_FOUND":
            raise
        mirroring = call.core.use(Mirroring)
        made = mirroring.first_sight(spec)
        # While this call waited for its turn at the files another may have taken it in.
        if made is None and not mirroring.is_in(spec):
            raise
        answer = _warned(run(), _told(made) if made else "")
    return _warned(_warned(answer, _warning(call, spec)), _arriving(call))


def _told(made: ImportedSpec) -> str:
    """Return in few words what was mended in the file of a spec that has just come in; empty for nothing."""
    if not made.fixes:
        return ""
    named = few([one.id for one in made.fixes], _FIXES_TOLD)
    return f"{made.spec} came in from its file, in which was mended: {named}"


def _warning(call: Call, spec: str) -> str:
    # What keeps the files from being looked at keeps no call from its answer.
    with suppress(CounterpointError):
        return call.core.use(Mirroring).warning(spec)
    return ""


def _arriving(call: Call) -> str:
    with suppress(CounterpointError):
        return call.core.use(Mirroring).arriving()
    return ""


def _warned(answer: Json, warning: str) -> Json:
    if not warning:
        return answer
    whole = cast("dict[str, Json]", answer)
    meta = object_of(whole.get("meta"))
    said = [*cast("list[Json]", meta.get("warnings", [])), warning]
    return {**whole, "meta": {**meta, "warnings": said}}
