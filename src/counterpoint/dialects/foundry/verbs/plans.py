"""Plans that specs are made from: written as skeletons, and listed."""

from __future__ import annotations

from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import recording
from counterpoint.dialects.foundry.places import PLANS, SpecsPlaces
from counterpoint.dialects.foundry.plan_files import (
    PlanFile,
    create_plan,
    list_plans,
    skeleton,
)
from counterpoint.dialects.foundry.rules.numbering import slug_of


class Plans:
    """Verbs for plans."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def create(self, name: str) -> tuple[str, str]:
        """Write the skeleton of a plan; return its slug and its path. Conflict if it exists."""
        today = self._context.ports.clock.now()
        slug = f"{slug_of(name)}-{today[:10]}"
        places = self._places
        # With an entry a retry under the same key gets the file that the first call wrote.
        with recording(self._context, "plan_file.created") as change:
            path = create_plan(places.home, places.specs, slug, skeleton(name, today))
            change.add_facts(path=path)
        return slug, path

    def list(self) -> list[PlanFile]:
        """List plans by name."""
        return list_plans(self._places.home, self._places.specs)

    def folder(self) -> str:
        """Return the folder of plans, relative to the main worktree."""
        places = self._places
        return (places.specs / PLANS).relative_to(places.home).as_posix()

    @property
    def _places(self) -> SpecsPlaces:
        return self._context.ports.get(SpecsPlaces)
