"""Calls about specs that lie as files: they come in at first sight."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Final, cast

from counterpoint.core.rules.wording import few
from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.documents.operations import ImportedSpec
from counterpoint.dialects.foundry.files.mirror import Mirroring
from counterpoint.dialects.foundry.runs.guarded import door_of
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.errors import CounterpointError, Forbidden, NotFound
from counterpoint.protocol.surface import Run

_FIXES_TOLD: Final = 20
"""Fixes that the call tells that took a spec in."""


def with_files(call: Call, arguments: Mapping[str, Json], run: Run) -> Json:
    """Run a call; a spec that only has a file is taken in for it, by whoever calls."""
    if call.settings.is_read_only:
        return run()
    spec = arguments.get("spec_id")
    if not isinstance(spec, str):
        return _warned(_warned(run(), _arriving(call)), _kept_elsewhere(call))
    try:
        answer = run()
        answer = _with_first_sight(call, spec, answer, run) if _is_unfound(answer) else answer
    except NotFound as refusal:
        if refusal.facts.get("error_code") != "SPEC_NOT_FOUND":
            raise
        try:
            imported = _first_sight(call, spec)
        except Forbidden as fault:
            raise NotFound(refusal.message, hint=_waits(spec, fault), **refusal.facts) from fault
        # While this call waited for its turn at the files another may have taken it in.
        if imported is None and not call.core.use(Mirroring).is_in(spec):
            raise _with_keeper(call, spec, refusal) from refusal
        answer = _warned(run(), _told(imported) if imported else "")
    answer = _warned(_warned(answer, _warning(call, spec)), _arriving(call))
    return _warned(answer, _kept_elsewhere(call))


def _with_first_sight(call: Call, spec: str, answer: Json, run: Run) -> Json:
    """Return the answer to a call about a spec that is not there, once its file is taken in."""
    try:
        imported = _first_sight(call, spec)
    except Forbidden as fault:
        return _warned(answer, _waits(spec, fault))
    return _warned(run(), _told(imported)) if imported else answer


def _first_sight(call: Call, spec: str) -> ImportedSpec | None:
    role = door_of(call).configured(call.settings.role, call.settings.posture).role
    return call.core.use(Mirroring).first_sight(spec, role)


def _waits(spec: str, fault: Forbidden) -> str:
    """Return in few words that the file of a spec is there, and waits for somebody else to take it in."""
    return f"The file of {spec} waits: {fault.message}."


def _is_unfound(answer: Json) -> bool:
    """Return whether an answer says that there is no spec of its call, and nothing else."""
    data = object_of(object_of(answer).get("data"))
    return data.keys() == {"found", "spec_id"} and data["found"] is False


def _with_keeper(call: Call, spec: str, refusal: NotFound) -> NotFound:
    """Return a refusal of a spec that there is not; it says so if a file of another project has that name."""
    with suppress(CounterpointError):
        mirroring = call.core.use(Mirroring)
        elsewhere = mirroring.kept_elsewhere()
        if elsewhere and spec in mirroring.files.listed():
            return NotFound(refusal.message, hint=elsewhere, **refusal.facts)
    return refusal


def _kept_elsewhere(call: Call) -> str:
    with suppress(CounterpointError):
        return call.core.use(Mirroring).kept_elsewhere()
    return ""


def _told(spec: ImportedSpec) -> str:
    """Return in few words what was mended in the file of a spec that has just come in; empty for nothing."""
    if not spec.fixes:
        return ""
    fix_ids = few([fix.id for fix in spec.fixes], _FIXES_TOLD)
    return f"{spec.spec} came in from its file, in which was mended: {fix_ids}"


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
    warnings = [*cast("list[Json]", meta.get("warnings", [])), warning]
    return {**whole, "meta": {**meta, "warnings": warnings}}
