"""The keys of people as they stand, without what signs (start-up)."""

from __future__ import annotations

from counterpoint.core.model.identity import Key
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.kernel.errors import NotFound


class Keys(Verbs):
    """Verbs for looking at the keys of people."""

    def list(self) -> list[Key]:
        """Return every key that was ever enrolled, the oldest first."""
        with self._context.reading() as view:
            return view.select(Key, order="enrolled_at,id")

    def get(self, name: str) -> Key:
        """Return the key of an id, or of the beginning of one, or the only one of an owner; NotFound."""
        keys = self.list()
        matches = [key for key in keys if key.id == name]
        matches = matches or [key for key in keys if key.owner == name and key.is_in_force]
        matches = matches or [
            key for key in keys if key.id.removeprefix("SHA256:").startswith(name)
        ]
        if len(matches) != 1:
            what = "no key" if not matches else f"{len(matches)} keys"
            raise NotFound(
                f"there is {what} {name!r} in this project",
                hint="See `counterpoint key list` for those there are.",
            )
        return matches[0]
