"""Who can be asked for models, as several tools tell it."""

from __future__ import annotations

from counterpoint.core.rules.models.trying import Standing
from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.verbs.asking import Askable
from counterpoint.kernel.canonical import Json


def standing_of(call: Call) -> Standing:
    """Return who there is, and who is asked first; MalformedDocument."""
    return call.core.use(Askable).list_providers()


def llm_status(call: Call) -> Json:
    """Return what is told of models beside other things."""
    providers = call.core.use(Askable).find()
    names: list[Json] = [provider.name for provider in providers.first] if providers else []
    return {
        "configured": providers is None or any(provider.is_set for provider in providers.every),
        "available": bool(names),
        "providers": names,
        "priority": list(names),
    }
