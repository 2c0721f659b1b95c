"""Acts that land as one, or are only tried."""

from __future__ import annotations

from counterpoint.core.operations.recording.unit import perform

__all__ = ["perform"]
