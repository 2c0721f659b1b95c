"""Every page by the first part of its path, and how the bar groups them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from counterpoint.board.drafting import read_new
from counterpoint.board.editing import read_edit
from counterpoint.board.pages import PAGES, WORK_TABLES, Page
from counterpoint.board.proofs import read_proofs
from counterpoint.board.views.graph import read_graph
from counterpoint.board.views.knowledge import read_knowledge
from counterpoint.board.views.lanes import read_board
from counterpoint.board.views.projects import read_projects
from counterpoint.board.views.search import read_search
from counterpoint.board.views.sessions import read_sessions
from counterpoint.board.views.settings import read_settings
from counterpoint.board.views.timeline import read_timeline

ROUTES: Final[Mapping[str, Page]] = {
    **PAGES,
    "proof": Page("proof.html", read_proofs),
    "board": Page("board.html", read_board, WORK_TABLES),
    "search": Page("search.html", read_search),
    "knowledge": Page("knowledge.html", read_knowledge),
    "graph": Page("graph.html", read_graph),
    "timeline": Page("timeline.html", read_timeline),
    "sessions": Page("sessions.html", read_sessions),
    "new": Page("new.html", read_new),
    "edit": Page("edit.html", read_edit),
    "settings": Page("settings.html", read_settings),
    "projects": Page("projects.html", read_projects),
}
LOOKS: Final = frozenset({"new"})
"""Pages that a form may be posted to, to look at what it would make."""
BAR: Final = (
    ("", "Now"),
    ("review", "Review"),
    ("board", "Board"),
    ("search", "Search"),
    ("proof", "Proof"),
)
MENU: Final = (
    (
        "Work",
        (
            ("new", "New work"),
            ("graph", "Graph"),
            ("timeline", "Timeline"),
            ("sessions", "Sessions"),
        ),
    ),
    ("Record", (("knowledge", "Knowledge"),)),
    ("Project", (("settings", "Settings"), ("projects", "Projects"))),
)
"""What the menu of the bar holds: groups of pages that are not asked for all day."""
KEYS: Final = {
    "": "n",
    "board": "b",
    "review": "r",
    "timeline": "t",
    "graph": "g",
    "proof": "p",
    "search": "s",
    "sessions": "e",
    "knowledge": "k",
    "projects": "j",
    "settings": ",",
}
"""What follows `g` to go to a page."""
