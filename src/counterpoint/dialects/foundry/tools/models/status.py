"""Who can be asked for models, as several tools tell it."""

from __future__ import annotations

from counterpoint.core.rules.models.trying import Standing
from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.verbs.asking import Askable
from counterpoint.kernel.canonical import Json


def standing_of(call: Call) -> Standing:
    """Return who there is, and who is asked first; MalformedDocument."""
    return call.core.use(Askable).standing()


def llm_status(call: Call) -> Json:
    """Return what is told of models beside other things."""
    found = call.core.use(Askable).found()
    names: list[Json] = [one.name for one in found.first] if found else []
    return {
        "configured": found is None or any(one.is_set for one in found.every),
        "available": bool(names),
        "providers": names,
        "priority": list(names),
    }
