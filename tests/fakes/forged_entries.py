"""Forged bundles, continued: entries, texts, thoughts and seals, each kind by a function."""

from __future__ import annotations

from typing import Any

from fakes.forgeries import FORGERIES, SOUND, put_together, taken_apart

__all__ = ["FORGERIES", "SOUND", "put_together", "taken_apart"]

Value = Any
