"""Whether reads are recorded, and what the ledger knows of their records.

The policy, and the end of each record, stand in attributes of no item: `reads` and `reads/<log>`. A record lies outside of the ledger;
its end is anchored in batches, so that what was changed or cut off before an anchor is found.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, cast, get_args

from counterpoint.core.ledger.entry import Entry
from counterpoint.core.model.identity import ProposedAct
from counterpoint.core.model.rows import Prose
from counterpoint.core.model.work import Attribute
from counterpoint.core.operations.recording.authority import (
    refuse_agent,
    refuse_agents_of_all,
)
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.facets import value_of
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.reads import ReadHead, ReadPolicy
from counterpoint.core.ports.store import Reading
from counterpoint.kernel import canonical
from counterpoint.kernel.acts import Act

SWITCHED: Final = "reads.switched"
MISSED: Final = "reads.missed"
ANCHORED: Final = "reads.anchored"
POLICY: Final = "reads"
_LOG: Final = "reads/"
_SWITCHES: Final = 100


class Switch(NamedTuple):
    """When somebody switched recording, and to what."""

    time: str
    policy: str
    name: str


class Gap(NamedTuple):
    """A time in which a machine did not record although the ledger said so."""

    time: str
    since: str


class Reads(Verbs):
    """Verbs for the records of reads."""

    def policy(self) -> ReadPolicy:
        """Return whether reads are to be recorded."""
        with self._context.reading() as view:
            return policy_of(view)

    def proposed(self, policy: ReadPolicy) -> ProposedAct:
        """Return what switching would decide, for a person to sign."""
        return ProposedAct(action=SWITCHED, decision={"reads": policy})

    def switch(self, policy: ReadPolicy, reason: str = "") -> ReadPolicy:
        """Say whether reads are recorded from now on, and return what held before; the same again writes nothing.

        Raises Forbidden to all but a person.
        """
        # The projects of a database share one record on each machine.
        act = "change whether reads are recorded"
        refuse_agents_of_all(self._context, act, Act.BY_PERSON)
        with recording(self._context, SWITCHED) as change:
            change.open_session()
            refuse_agent(change, act, Act.BY_PERSON)
            before = policy_of(change.writing)
            if before == policy:
                return before
            value = Prose(canonical.dump_any(policy))
            project = self._context.project
            change.put(Attribute(project=project, item="", name=POLICY, value=value))
            change.add_facts(reads=policy, before=before)
            change.add_texts(reason=reason)
            return before

    def switches(self) -> list[Switch]:
        """Return when recording was switched, by whom and to what, the latest first."""
        return [
            Switch(time=entry.time, policy=str(entry.facts["reads"]), name=entry.actor.name)
            for entry in self._entries(SWITCHED)
        ]

    def tell_gap(self, since: str) -> None:
        """Write down that nothing was recorded on the caller's machine from a time until now."""
        with recording(self._context, MISSED) as change:
            change.open_session()
            change.add_facts(since=since)

    def gaps(self) -> list[Gap]:
        """Return the times in which a machine did not record, the latest first."""
        return [
            Gap(time=entry.time, since=str(entry.facts["since"])) for entry in self._entries(MISSED)
        ]

    def _entries(self, action: str) -> list[Entry]:
        with self._context.reading() as view:
            places = view.sequences(action=action, limit=_SWITCHES)
            return [Entry.from_bytes(next(view.entries(place, place + 1))) for place in places]

    def anchor(self, head: ReadHead) -> None:
        """Write the end of a record into the ledger."""
        with recording(self._context, ANCHORED) as change:
            value = Prose(canonical.dump_any({"lines": head.lines, "hash": head.hash}))
            name = f"{_LOG}{head.log}"
            change.put(Attribute(project=self._context.project, item="", name=name, value=value))
            change.add_facts(log=head.log, lines=head.lines, hash=head.hash)

    def anchors(self) -> list[ReadHead]:
        """Return the end of each record as it was anchored last."""
        with self._context.reading() as view:
            rows = [row for row in view.select(Attribute, item="") if row.name.startswith(_LOG)]
        heads: list[ReadHead] = []
        for row in rows:
            value = cast("dict[str, Any]", value_of(row))
            heads.append(
                ReadHead(
                    log=row.name.removeprefix(_LOG),
                    lines=int(value["lines"]),
                    hash=str(value["hash"]),
                )
            )
        return heads


def policy_of(view: Reading) -> ReadPolicy:
    """Return whether the ledger of a view asks for a record of reads."""
    attribute = view.find(Attribute, "", POLICY)
    value = value_of(attribute) if attribute is not None else "off"
    return cast("ReadPolicy", value) if value in get_args(ReadPolicy) else "off"
