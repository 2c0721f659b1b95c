"""Every page by the first part of its path, and how the bar groups them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from counterpoint.board.pages import PAGES, Page
from counterpoint.board.sessions import read_sessions

ROUTES: Final[Mapping[str, Page]] = {
    **PAGES,
    "sessions": Page("sessions.html", read_sessions),
}
BAR: Final = (("", "Now"), ("review", "Review"), ("board", "Board"), ("proof", "Proof"))
MENU: Final = (("Work", (("sessions", "Sessions"),)),)
"""What the menu of the bar holds: groups of pages that are not asked for all day."""
