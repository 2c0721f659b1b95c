"""Reads objects that are kept as texts, which a person may have taken away."""

from __future__ import annotations

from typing import Any, cast

from counterpoint.core.model.rows import REDACTED
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json


def kept_object(text: str) -> dict[str, Any]:
    """Return the object of a text; an empty one if there is none, or it was redacted."""
    return {} if text in {"", REDACTED} else object_of(canonical.load(text))


def object_of(value: Json) -> dict[str, Any]:
    """Return a value if it is an object, else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
