"""The breaker before a store: when it opens, who tries, what closes it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from counterpoint.core.model.work import Item
from counterpoint.core.ports.circuits import MOST_FAULTS, REST, WINDOW, Breaker
from counterpoint.kernel import errors
from counterpoint.kernel.errors import (
    CircuitOpen,
    CounterpointError,
    InvalidInput,
    KeyReused,
    LedgerBroken,
    NotFound,
    ProgramMissing,
    StateDiffers,
    StoreBusy,
    StoreCorrupt,
    StoreFull,
    StoreReadOnly,
    StoreUnreachable,
    Unavailable,
    Unexpected,
)
from counterpoint.storage.breaker import GuardedStore
from counterpoint.storage.sqlite.store import SqliteStore
from fakes.failing import DriverError, FailingStore
from fakes.texts import committed, salted

FAULTS = (
    *(StoreBusy, StoreFull, StoreReadOnly, StoreCorrupt, StoreUnreachable),
    *(Unavailable, LedgerBroken),
)
WHENS = ("begin", "inside", "end")
PATIENCE = 10


class Hands:
    """A time that a test moves."""

    def __init__(self) -> None:
        """Begin somewhere."""
        self.at = 1000.0

    def __call__(self) -> float:
        """Answer the time."""
        return self.at


@pytest.fixture
def hands() -> Hands:
    """Give the time of the breaker."""
    return Hands()


@pytest.fixture
def breaker(hands: Hands) -> Breaker:
    """Give a breaker that is closed."""
    return Breaker(seconds=hands)


@pytest.fixture
def failing() -> Iterator[FailingStore]:
    """Give a store that fails when it is told to."""
    opened = FailingStore(SqliteStore(":memory:"))
    yield opened
    opened.close()


@pytest.fixture
def guarded(failing: FailingStore, breaker: Breaker) -> GuardedStore:
    """Give that store behind the breaker."""
    return GuardedStore(failing, breaker)


def look(store) -> int:
    """Ask a store something."""
    with store.reading("p") as view:
        return len(view.select(Item))


def write(store) -> None:
    """Write something."""
    with store.writing("p") as writing:
        writing.keep({committed("text"): salted("text")})


def fail(store, failing, times=1, fault=StoreFull, when="begin") -> None:
    """Let a store fail so many times in a row, and be well again."""
    failing.fault, failing.when = fault, when
    for _ in range(times):
        with pytest.raises(fault):
            write(store)
    failing.fault = None


def test_a_store_that_is_well_is_asked_every_time(guarded, failing, breaker):
    """Views, transactions and waiting go through; nothing is counted."""
    write(guarded)
    assert look(guarded) == 0
    assert guarded.projects() == []
    assert guarded.wait("p", -1, 0.0) is False
    assert guarded.wait("p", -2, 0.0) is True
    (fault,) = guarded.faults()
    assert "no ledger" in fault.message
    told = breaker.circuit()
    assert (told.state, told.failures, told.opened, told.refused) == ("closed", 0, 0, 0)
    assert (told.retry_after, told.last) == (0, "")


@pytest.mark.parametrize("when", WHENS)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda one: one.__name__)
def test_the_fifth_fault_of_any_sort_opens_it(guarded, failing, breaker, fault, when):
    """Whether the store fails as a block begins, inside it or at its end."""
    fail(guarded, failing, MOST_FAULTS - 1, fault, when)
    assert breaker.circuit().state == "closed"
    fail(guarded, failing, 1, fault, when)
    assert breaker.circuit().state == "open"
    asked = failing.asked
    with pytest.raises(CircuitOpen) as refused:
        look(guarded)
    assert failing.asked == asked
    assert refused.value.facts == {"retry_after": 60, "failures": 5, "last_failure": fault().code}
    assert refused.value.retryable
    assert refused.value.kind == "unavailable"


@pytest.mark.parametrize("method", ["wait", "projects"])
def test_waiting_and_listing_projects_are_counted_too(guarded, failing, breaker, method):
    """Nothing that asks the database is left out."""
    arguments = ("p", 7, 0.0) if method == "wait" else ()
    failing.fault = StoreUnreachable
    for _ in range(MOST_FAULTS):
        with pytest.raises(StoreUnreachable):
            getattr(guarded, method)(*arguments)
    with pytest.raises(CircuitOpen):
        getattr(guarded, method)(*arguments)
    assert breaker.circuit().refused == 1


def test_who_looks_for_faults_or_saves_a_copy_is_never_refused(guarded, failing, tmp_path):
    """That is what somebody does about a store that fails."""
    fail(guarded, failing, MOST_FAULTS)
    assert guarded.faults() == []
    guarded.backup(tmp_path / "copy.db")
    assert (tmp_path / "copy.db").exists()
    guarded.close()


def mistakes() -> list[type[CounterpointError]]:
    """Answer every error that a block may raise."""
    found = [one for one in vars(errors).values() if isinstance(one, type)]
    return [one for one in found if issubclass(one, CounterpointError)]


@pytest.mark.parametrize("mistake", mistakes(), ids=lambda one: one.__name__)
def test_what_a_block_raises_by_itself_is_not_the_fault_of_the_store(guarded, breaker, mistake):
    """Mistakes of callers and refusals of the core never open it, whatever they are called."""
    for _ in range(MOST_FAULTS * 2):
        with pytest.raises(mistake), guarded.reading("p"):
            raise mistake
        with pytest.raises(mistake), guarded.writing("p"):
            raise mistake
    assert breaker.circuit().failures == 0


@pytest.mark.parametrize("fault", [InvalidInput, NotFound, KeyReused, ProgramMissing, Unexpected])
def test_a_store_may_refuse_a_caller_without_being_counted(guarded, failing, breaker, fault):
    """A value that does not fit into an index is the caller's mistake, told by the store."""
    fail(guarded, failing, MOST_FAULTS * 2, fault)
    assert breaker.circuit().failures == 0


def test_an_error_of_the_program_is_not_counted(guarded, failing, breaker):
    """It goes through as it is."""
    for _ in range(MOST_FAULTS * 2):
        with pytest.raises(DriverError), guarded.reading("p"):
            raise DriverError
    assert breaker.circuit().failures == 0


def test_faults_further_apart_than_the_window_do_not_open_it(guarded, failing, breaker, hands):
    """A fault that is 120 seconds old is forgotten."""
    for _ in range(MOST_FAULTS * 3):
        hands.at += WINDOW / (MOST_FAULTS - 1)
        fail(guarded, failing)
        assert breaker.circuit().state == "closed"
    hands.at += WINDOW / (MOST_FAULTS - 1) - 1
    fail(guarded, failing)
    assert breaker.circuit().state == "open"


def test_what_succeeds_between_two_faults_does_not_hide_them(guarded, failing, breaker):
    """Reading from a full disk goes on: it is the faults that are counted."""
    for _ in range(MOST_FAULTS):
        look(guarded)
        fail(guarded, failing)
    assert breaker.circuit().state == "open"


def test_a_trial_that_succeeds_closes_it_and_clears_the_count(guarded, failing, breaker, hands):
    """It takes another five faults to open it again."""
    fail(guarded, failing, MOST_FAULTS)
    hands.at += REST - 0.5
    with pytest.raises(CircuitOpen) as refused:
        look(guarded)
    assert refused.value.facts["retry_after"] == 1
    hands.at += 0.5
    assert breaker.circuit().state == "half_open"
    look(guarded)
    assert breaker.circuit().state == "closed"
    assert breaker.circuit().failures == 0
    fail(guarded, failing, MOST_FAULTS - 1)
    look(guarded)


def test_a_trial_that_fails_opens_it_for_as_long_again(guarded, failing, breaker, hands):
    """One fault is enough, however long ago the others were."""
    fail(guarded, failing, MOST_FAULTS)
    hands.at += REST * 10
    fail(guarded, failing, 1, StoreBusy)
    told = breaker.circuit()
    assert (told.state, told.opened, told.last) == ("open", 2, "store_busy")
    assert told.retry_after == REST
    hands.at += REST - 1
    with pytest.raises(CircuitOpen):
        look(guarded)
    hands.at += 1
    look(guarded)


def test_a_refusal_of_the_core_in_a_trial_shows_that_the_store_serves(
    guarded, failing, breaker, hands
):
    """Whoever says that there is no such item has looked."""
    fail(guarded, failing, MOST_FAULTS)
    hands.at += REST
    with pytest.raises(NotFound), guarded.reading("p"):
        raise NotFound
    assert breaker.circuit().state == "closed"


def test_a_trial_that_told_nothing_is_given_to_the_next(guarded, failing, breaker, hands):
    """Somebody pressed Ctrl-C: that says neither yes nor no."""
    fail(guarded, failing, MOST_FAULTS)
    hands.at += REST
    with pytest.raises(KeyboardInterrupt), guarded.reading("p"):
        raise KeyboardInterrupt
    assert breaker.circuit().state == "half_open"
    look(guarded)
    assert breaker.circuit().state == "closed"


def test_a_trial_has_its_own_calls_inside_it(guarded, failing, breaker, hands):
    """What is read inside the transaction that tries is part of it; its fault is the trial's."""
    fail(guarded, failing, MOST_FAULTS)
    hands.at += REST
    with guarded.writing("p"):
        assert look(guarded) == 0
        assert breaker.circuit().state == "half_open"
        failing.fault = StoreBusy
        with suppress(StoreBusy):
            look(guarded)
        failing.fault = None
    assert breaker.circuit().state == "open"


def test_a_fault_inside_another_call_is_counted_once(guarded, failing, breaker):
    """It leaves both blocks, but only one of them asked the store."""

    def look_inside() -> None:
        with guarded.writing("p"):
            failing.fault = StoreBusy
            look(guarded)

    with pytest.raises(StoreBusy):
        look_inside()
    assert breaker.circuit().failures == 1


def test_while_somebody_tries_the_others_are_refused_at_once(guarded, failing, hands):
    """Sixteen threads come at the same moment; the store hears of one."""
    fail(guarded, failing, MOST_FAULTS)
    hands.at += REST
    asked, together, tried = failing.asked, threading.Barrier(16), threading.Semaphore(0)
    refused = threading.Semaphore(0)

    def come() -> int:
        together.wait(PATIENCE)
        try:
            with guarded.reading("p"):
                # The trial lasts until all the others have heard.
                for _ in range(15):
                    assert refused.acquire(timeout=PATIENCE)
                tried.release()
        except CircuitOpen as open_:
            refused.release()
            return int(open_.facts["retry_after"])
        return 0

    with ThreadPoolExecutor(16) as pool:
        waits = sorted(one.result(PATIENCE) for one in [pool.submit(come) for _ in range(16)])
    assert waits == [0, *[1] * 15]
    assert failing.asked == asked + 3  # the beginning, the inside and the end of the only view
    assert tried.acquire(blocking=False)


def test_a_call_from_before_decides_nothing_any_more(guarded, failing, breaker, hands):
    """It began while it was closed, and ends after it has opened, well or not."""
    with ThreadPoolExecutor(1) as pool:
        late = [guarded.reading("p") for _ in range(2)]
        for one in late:
            pool.submit(one.__enter__).result(PATIENCE)
        fail(guarded, failing, MOST_FAULTS)
        pool.submit(late[0].__exit__, None, None, None).result(PATIENCE)
        assert breaker.circuit().state == "open"
        hands.at += REST
        failing.fault, failing.when = StoreBusy, "end"
        with pytest.raises(StoreBusy):
            pool.submit(late[1].__exit__, None, None, None).result(PATIENCE)
    assert breaker.circuit().state == "half_open"
    assert breaker.circuit().last == "store_full"


def test_opening_a_database_is_guarded_like_any_call(breaker, hands):
    """What cannot be opened is not tried for a while; then once."""

    def closed() -> None:
        raise StoreReadOnly

    for _ in range(MOST_FAULTS):
        with pytest.raises(StoreReadOnly):
            breaker.opening(closed)
    with pytest.raises(CircuitOpen):
        breaker.opening(closed)
    hands.at += REST
    assert breaker.opening(lambda: "open") == "open"
    assert breaker.circuit().state == "closed"


def test_a_row_that_is_not_there_is_no_fault_of_the_database(guarded, breaker):
    """The store itself raises it inside the block: about the row, not about the file."""
    for _ in range(MOST_FAULTS):
        with pytest.raises(StateDiffers), guarded.writing("p") as writing:
            writing.drop(Item, {"id": "T-1"})
    assert breaker.circuit().failures == 0


CALLERS = [ThreadPoolExecutor(1) for _ in range(4)]
"""Threads that come and go through a breaker, each one call at a time."""


class Walk(RuleBasedStateMachine):
    """Any calls of several threads, ending in any way, at any time: the breaker keeps its rules."""

    @initialize()
    def begin(self) -> None:
        """Nobody has called yet."""
        self.hands = Hands()
        self.breaker = Breaker(seconds=self.hands)
        self.inside: dict[int, tuple] = {}
        self.faults: list[float] = []
        self.until: float | None = None
        self.trial: int | None = None
        self.turns = 0

    @rule(who=st.integers(0, 3))
    def enter(self, who: int) -> None:
        """A thread comes: it is let in while closed, or alone when it is time for the trial."""
        if who in self.inside:
            return
        passing = self.breaker.passing()
        is_due = self.until is None or (self.hands.at >= self.until and self.trial is None)
        if not is_due:
            with pytest.raises(CircuitOpen):
                CALLERS[who].submit(passing.__enter__).result(PATIENCE)
            return
        mine = CALLERS[who].submit(passing.__enter__).result(PATIENCE)
        self.inside[who] = (passing, mine, self.turns)
        if self.until is not None:
            self.trial = who

    @rule(who=st.integers(0, 3), how=st.sampled_from(["served", "refused", "cut", "fault"]))
    def leave(self, who: int, how: str) -> None:
        """A thread goes, and the store served it, refused it, failed, or told nothing."""
        if who not in self.inside:
            return
        passing, mine, turn = self.inside.pop(who)
        raised = {"served": None, "refused": NotFound(), "cut": KeyboardInterrupt()}.get(how)
        if how == "fault":
            raised = StoreFull()
            mine.blame(raised)
        told = (type(raised), raised, None) if raised else (None, None, None)
        with suppress(NotFound, KeyboardInterrupt, StoreFull):
            CALLERS[who].submit(passing.__exit__, *told).result(PATIENCE)
        if turn == self.turns:
            self._conclude(how, is_trial=who == self.trial)

    def _conclude(self, how: str, *, is_trial: bool) -> None:
        if how == "fault":
            self.faults = [one for one in self.faults if self.hands.at - one < WINDOW]
            self.faults.append(self.hands.at)
            if is_trial or len(self.faults) >= MOST_FAULTS:
                self.until, self.turns = self.hands.at + REST, self.turns + 1
        elif is_trial and how != "cut":
            self.until, self.faults, self.turns = None, [], self.turns + 1
        if is_trial:
            self.trial = None

    @rule(seconds=st.sampled_from([0.5, 29, 30, 31, 60, 119, 120, 121]))
    def wait(self, seconds: float) -> None:
        """Time goes on."""
        self.hands.at += seconds

    @rule(who=st.integers(0, 3), times=st.integers(1, MOST_FAULTS))
    def fail(self, who: int, times: int) -> None:
        """A thread meets faults one after the other."""
        for _ in range(times):
            self.enter(who)
            self.leave(who, "fault")

    @rule(who=st.integers(0, 3), how=st.sampled_from(["refused", "cut"]))
    def mistake(self, who: int, how: str) -> None:
        """A thread makes mistakes; while it is closed they change nothing."""
        before = self.breaker.circuit()
        for _ in range(MOST_FAULTS + 1):
            self.enter(who)
            self.leave(who, how)
        if before.state == "closed":
            assert self.breaker.circuit() == before

    @invariant()
    def it_stands_as_it_should(self) -> None:
        """State and count are those of the rules, and never are there two trials."""
        told = self.breaker.circuit()
        if self.until is None:
            assert told.state == "closed"
            fresh = [one for one in self.faults if self.hands.at - one < WINDOW]
            assert told.failures == len(fresh) < MOST_FAULTS
        else:
            assert told.state == ("open" if self.hands.at < self.until else "half_open")
        trying = [turn for _, _, turn in self.inside.values() if turn == self.turns]
        assert self.until is None or len(trying) <= 1

    def teardown(self) -> None:
        """Everybody goes home."""
        for who in list(self.inside):
            self.leave(who, "served")


TestWalk = Walk.TestCase
TestWalk.settings = settings(max_examples=60, stateful_step_count=30)
