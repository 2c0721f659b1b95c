"""Nouns of our own dialects: what a store has tables for beside those of the core."""

from __future__ import annotations

from typing import Final

from counterpoint.core.model.rows import Noun
from counterpoint.dialects.agentic.nouns.briefs import Brief
from counterpoint.dialects.colibri.nouns.actions import Action

NOUNS: Final[tuple[type[Noun], ...]] = (Action, Brief)
