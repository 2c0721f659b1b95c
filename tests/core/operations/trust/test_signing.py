"""What a ledger says of its signer where there is no ledger, no signer, or too many of them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.ledger.entry import Entry
from counterpoint.core.model.filters import Check
from counterpoint.core.model.journal import Receipt
from counterpoint.core.model.rows import Prose
from counterpoint.core.model.trust.heads import FIRST_EPOCH, Epoch, Growth, Left, SignedHead
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import recording, transaction
from counterpoint.core.operations.trust.signing import LedgerSigning
from counterpoint.kernel.errors import (
    Forbidden,
    ForkRefused,
    InvalidInput,
    LedgerMoved,
    NotFound,
    SignerAway,
    StaleVersion,
    Unavailable,
)
from fakes.studio import Studio


@dataclass
class Odd:
    """A signer that is away, or that others are always faster at."""

    inner: Any
    away: bool = False
    late: bool = False
    lost: bool = False
    meanwhile: Callable[[], object] | None = None
    before: dict[str, str] = field(default_factory=dict)

    def placed(self) -> dict[str, str]:
        """Answer other ledgers, if some were here before."""
        if self.away:
            raise Unavailable("away")
        return self.before or self.inner.placed()

    def known_key(self, ledger: str) -> bytes | None:
        """Answer the key, unless it was lost."""
        if self.away:
            raise Unavailable("away")
        return None if self.lost else self.inner.known_key(ledger)

    def public_key(self, ledger: str) -> bytes:
        """Answer the key, after another process did something."""
        if self.meanwhile is not None:
            self.meanwhile()
        return self.inner.public_key(ledger)

    def __getattr__(self, name: str) -> Any:
        """Answer what the signer does, or refuse it."""
        if self.away:
            raise Unavailable("away")
        return getattr(self.inner, name)

    def sign_head(self, ledger: str, head: Growth) -> SignedHead:
        """Refuse a head as one that does not lead on from the last."""
        if self.late:
            raise StaleVersion("another was faster")
        return self.inner.sign_head(ledger, head)


@pytest.fixture
def studio() -> Iterator[Studio]:
    """Give a project with a few entries."""
    opened = Studio()
    opened.core("ada").memory.put("project", "n", 1)
    yield opened
    opened.close()


def signing(studio: Studio, **ports: Any) -> LedgerSigning:
    """Answer the verbs about signed heads, with other surroundings."""
    core = Core(replace(studio.ports, **ports), studio.system.caller)
    return core.signing


def test_a_project_without_a_ledger_has_nothing_signed(studio: Studio) -> None:
    """Nobody is asked for a signature; what needs one says so."""
    none = signing(studio, project="none")
    assert (none.sign(), none.last(), none.at(0), none.keys()) == (None, None, None, ())
    assert none.leaving() == Left(head=None, gone=())
    for asked in (lambda: none.key, none.head, lambda: none.statement(b"x")):
        with pytest.raises(SignerAway):
            asked()
    with pytest.raises(NotFound, match="no project"):
        none.asked("restored")


def test_what_was_signed_is_told_while_the_signer_is_away(studio: Studio) -> None:
    """The last head is kept beside the ledger; of another size nobody can tell."""
    signed = signing(studio).sign()
    assert signed is not None
    assert signing(studio).at(signed.size) == signing(studio).head() == signed
    away = signing(studio, signer=Odd(studio.ports.signer, away=True))
    assert (away.head().note, away.at(signed.size)) == (signed.note, None)
    assert away.unsigned().why == "away"
    with studio.view() as view:
        assert [fault.message for fault in away.faults(view)] == ["away"]
    studio.drawer.notes.clear()
    with pytest.raises(Unavailable):
        away.head()
    reading = signing(studio, signer=Odd(studio.ports.signer, away=True), may_sign=False)
    with pytest.raises(SignerAway, match="nothing"):
        reading.head()


def test_whoever_is_always_too_late_is_told(studio: Studio) -> None:
    """After some attempts; the head is not signed."""
    late = signing(studio, signer=Odd(studio.ports.signer, late=True))
    with pytest.raises(SignerAway, match="all the time"):
        late.sign()


def test_no_ledger_where_one_was_signed_is_a_fault(studio: Studio) -> None:
    """As a ledger that is another one; whoever signs in no place has nothing to compare with."""
    for project, words in (("none", "there is no ledger"), ("demo", "the ledger is led_demo")):
        signer = Odd(studio.ports.signer, before={f"counterpoint/{project}": "led_before"})
        found = signing(studio, signer=signer, project=project).unsigned()
        assert (found.why.split(",")[0], found.broken) == (words, True)
        assert not signing(studio, project=project).unsigned().broken


def test_ledgers_that_are_gone_are_named_by_an_epoch(studio: Studio) -> None:
    """In what a person signs, in the entry and in its row; a ledger that is there is none of them."""
    before = {"counterpoint/demo": "led_demo", "counterpoint/other": "led_other"}
    verbs = signing(studio, signer=Odd(studio.ports.signer, before=before))
    with studio.view() as view:
        (fault,) = verbs.faults(view)
    assert "led_other of counterpoint/other was signed in this database" in fault.message
    assert verbs.proposed().decision == {"epoch": 2, "gone": ["counterpoint/other"]}
    assert verbs.open_epoch("It was taken away").gone == ("counterpoint/other",)
    with studio.view() as view:
        *_, last = map(Entry.from_bytes, view.entries())
    assert last.facts["gone"] == ["counterpoint/other"]
    away = signing(studio, signer=Odd(studio.ports.signer, away=True))
    assert away.leaving().gone == ()


def test_an_epoch_has_a_reason(studio: Studio) -> None:
    """It stands in the ledger for ever."""
    size = studio.image().size
    with pytest.raises(InvalidInput, match="reason"):
        signing(studio).open_epoch("  ")
    assert studio.image().size == size


def test_a_signer_that_lost_its_key_is_told(studio: Studio) -> None:
    """The ledger names the key of its epoch."""
    signing(studio).open_epoch("restored")
    with studio.view() as view:
        assert list(signing(studio).faults(view)) == []
        lost = signing(studio, signer=Odd(studio.ports.signer, lost=True))
        assert [fault.code for fault in lost.faults(view)][:1] == ["signer_away"]


def test_an_epoch_that_nobody_signed_is_told(studio: Studio) -> None:
    """Whoever writes it into the ledger alone has no head of it."""
    signing(studio).sign()
    with recording(studio.context(studio.system), "epoch.opened") as change:
        change.put(
            Epoch(
                project="demo",
                number=FIRST_EPOCH + 1,
                public_key="",
                left_epoch=1,
                left_size=1,
                left_root="",
                gone=(),
                reason=Prose("mine"),
                confirmed_by="",
                agent="eve",
                opened_at=change.now,
            )
        )
    with studio.view() as view:
        told = [fault.message for fault in signing(studio).faults(view)]
    assert any("tells of epoch" in one for one in told), told


def test_work_goes_on_without_a_signer() -> None:
    """A project is opened, and a check leaves its receipt, which the head of the ledger covers later."""
    opened = Studio(signer=Odd(None, away=True))
    ada = opened.core("ada")
    item = ada.plans.create(ada.plans.read("# P\n- [ ] A\n  - verify: make\n")).items[1].id
    token = ada.claims.start(item).claim.token
    ada.gates.verify(Check(item=item), token)
    (receipt,) = ada.overview.rows(Receipt)
    assert receipt.signature == ""
    project = opened.system.projects.find()
    assert project is not None
    assert project.public_key == ""
    opened.close()


@dataclass
class Watched:
    """A signer and a store that tell whether it is asked while a transaction is open. dies: at an epoch."""

    signer: Any
    store: Any
    dies: bool = False
    asked: list[tuple[str, bool]] = field(default_factory=list[tuple[str, bool]])
    _is_open: bool = False

    @contextmanager
    def writing(self, project: str) -> Generator[Any]:
        """Open a transaction of the store."""
        with self.store.writing(project) as opened:
            self._is_open = True
            try:
                yield opened
            finally:
                self._is_open = False

    def __getattr__(self, name: str) -> Any:
        """Answer what the signer does, or the store."""
        if not hasattr(self.signer, name):
            return getattr(self.store, name)
        self.asked.append((name, self._is_open))
        if self.dies and name == "open_epoch":
            raise KeyboardInterrupt
        return getattr(self.signer, name)


def test_a_key_is_named_once_by_an_entry_of_its_own(studio: Studio) -> None:
    """Not inside of what else is written, and not again where another process did it meanwhile."""
    watched = Watched(studio.ports.signer, studio.ports.store)
    context = Context(ports=replace(studio.ports, signer=watched), caller=studio.system.caller)
    with transaction(context), recording(context, "project.changed") as change:
        LedgerSigning(context).name_key()
        change.add_facts(name="demo")
    assert watched.asked == []
    other = signing(studio)
    size = studio.image().size
    signing(studio, signer=Odd(studio.ports.signer, meanwhile=other.name_key)).name_key()
    assert studio.image().size == size + 1


def test_of_a_ledger_that_moved_away_no_head_is_signed(studio: Studio) -> None:
    """It goes on in another place, where others are signed."""
    signing(studio).sign()
    with studio.store.writing("demo") as writing:
        writing.leave("another database", studio.clock.now())
    studio.refuses(LedgerMoved, signing(studio).sign)


def test_no_signer_is_asked_in_the_transaction_of_an_epoch(studio: Studio) -> None:
    """A slow one keeps nobody from writing then, and who is refused has it asked for nothing."""
    watched = Watched(studio.ports.signer, studio.ports.store)
    ports: dict[str, Any] = {"signer": watched, "store": watched}
    signing(studio, **ports).open_epoch("restored")
    assert {"last", "public_key", "open_epoch"} <= {name for name, _ in watched.asked}
    assert not [name for name, is_open in watched.asked if is_open]
    watched.asked.clear()
    agent = Core(replace(studio.ports, **ports), studio.core("ada").caller)
    studio.refuses(Forbidden, lambda: agent.signing.open_epoch("mine"))
    assert watched.asked == []


def test_an_epoch_leaves_what_was_signed_since_the_signer_was_asked(studio: Studio) -> None:
    """As whoever signs keeps it beside the ledger, which is looked at in the transaction."""
    verbs = signing(studio)
    verbs.sign()
    left = verbs.asked("restored")
    studio.core("ada").memory.put("project", "n", 2)
    signed = verbs.sign()
    assert signed is not None
    with recording(studio.context(studio.system), "epoch.opened") as change:
        assert verbs.begin(change, "restored", left).left_size == signed.size
    assert left.head is not None
    assert left.head.size < signed.size


def test_an_epoch_that_was_killed_before_its_head_was_signed_can_be_opened_again(
    studio: Studio,
) -> None:
    """Until then nothing is signed; the epoch that nobody signed stays in the ledger, below the next."""
    signing(studio).sign()
    dying = Watched(studio.ports.signer, studio.ports.store, dies=True)
    with pytest.raises(KeyboardInterrupt):
        signing(studio, signer=dying).open_epoch("restored")
    with pytest.raises(ForkRefused, match="the signer is in epoch 1"):
        signing(studio).sign()
    assert signing(studio).open_epoch("restored").number == FIRST_EPOCH + 2
    with studio.view() as view:
        assert list(signing(studio).faults(view)) == []
    studio.core("ada").memory.put("project", "n", 2)
    assert signing(studio).sign() is not None
    studio.check()
