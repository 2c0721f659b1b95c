"""Which model turns texts into vectors here: loaded when a search first asks."""

from __future__ import annotations

from threading import Lock
from typing import Final

from counterpoint.core.ports.models import Embedder
from counterpoint.kernel.errors import InvalidInput

AUTO: Final = "auto"
"""What the project's configuration says of a provider's model, else the one inside the product."""
STATIC: Final = "static"
OFF: Final = "off"
_OPENING: Final = Lock()
_OPENED: Final[dict[str, Embedder]] = {}
"""Models by what was set: one for all projects that this process serves."""


def open_embedder(name: str) -> Embedder | None:
    """Return the model that a setting names, the same for all who ask; None for `off`.

    InvalidInput for an unknown name.
    """
    if name == OFF:
        return None
    with _OPENING:
        name = STATIC if name in {"", AUTO} else name
        embedder = _OPENED.get(name)
        if embedder is None:
            embedder = _OPENED[name] = _opened(name)
    return embedder


def _opened(name: str) -> Embedder:
    if name == STATIC:
        from counterpoint.providers.embedding.static import StaticEmbedder

        return StaticEmbedder()
    raise InvalidInput(
        f"there is no embedding model {name!r}",
        hint=f"Set COUNTERPOINT_EMBEDDING to {AUTO}, {STATIC} or {OFF}. A larger model, also one of this machine, is named by"
        " [models.embedding] in counterpoint.toml (docs/search.md).",
    )
