"""Asking models: who is asked, again or not, within limits, and what is written down."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any, cast

import pytest

from counterpoint.core.model.models import (
    KeptAnswer,
    ModelDay,
    Modelling,
    ModelUse,
    Price,
    Question,
    SaidProvider,
    Tokens,
    make_question,
)
from counterpoint.core.model.trust.checking import Checking
from counterpoint.core.operations.models import spending
from counterpoint.core.operations.models.asking import ModelVerbs
from counterpoint.core.operations.recording.unit import Unit, recording
from counterpoint.core.ports.circuits import MOST_FAULTS
from counterpoint.core.ports.models import NoModels
from counterpoint.core.rules.models.providers import refuse_overspent
from counterpoint.kernel.errors import (
    AllResting,
    BudgetSpent,
    CircuitOpen,
    InvalidInput,
    NoProvider,
    NotFound,
    NotTrusted,
    ProviderAway,
    ProviderBusy,
    ProviderFailed,
    ProviderRefused,
    ProviderTimedOut,
    SessionEnded,
    Unavailable,
)
from fakes.scripted_models import MODEL, NAME, ScriptedModels, provider
from fakes.studio import Studio

DEAR = Price(model="dear-1", input=1_000_000, cached=100_000, output=10_000_000)


class Desk:
    """A project with models, and an agent who asks."""

    def __init__(self, *said: Any, models: Modelling | None = None, **more: Any) -> None:
        self.models = ScriptedModels(said=list(said) or ["fine"], **more)
        self.said = models
        outside: dict[str, Any] = {"models": lambda: self.models}
        if models is not None:
            outside["checking"] = lambda: Checking(models=self.said or Modelling())
        self.studio = Studio(**outside)
        self.core = self.studio.core("a")

    def rows(self, noun: Any) -> list[Any]:
        """Answer what is kept."""
        with self.studio.view() as view:
            return view.select(noun)


def paid(**more: Any) -> Any:
    """Answer a provider whose model costs something."""
    return provider(is_free=False, model="dear-1", **more)


def test_an_answer_comes_back_and_its_use_is_written_down() -> None:
    """Who was asked, for what, how many tokens; of the question and the answer nothing."""
    desk = Desk("forty-two")
    answer = desk.core.models.ask(make_question("what is it?", purpose="review"))
    assert (answer.text, answer.provider, answer.model) == ("forty-two", NAME, MODEL)
    use, day = desk.rows(ModelUse)[0], desk.rows(ModelDay)[0]
    assert (use.number, use.status, use.purpose, use.attempts) == (1, "answered", "review", 1)
    assert (use.input_tokens, use.output_tokens, use.cost_micros) == (10, 5, 0)
    assert (day.requests, day.output_tokens, day.failures) == (1, 5, 0)
    image = desk.studio.image()
    assert not [text for text in image.texts.values() if "forty" in text or "what is" in text]


@pytest.mark.parametrize("there", [paid(), provider(model="dear-1")])
def test_what_tokens_cost_is_worked_out_by_the_table_of_the_project(there: Any) -> None:
    """Also at a gateway on this machine. Tokens that the provider has kept cost less; the sum of the day grows with each use."""
    desk = Desk(models=Modelling(prices=(DEAR,)), there=(there,))
    desk.models.tokens = Tokens(input=1000, cached=400, output=100)
    trusted(desk)
    for _ in range(2):
        assert (
            desk.core.models.ask(make_question("?", max_tokens=10)).cost_micros == 600 + 40 + 1000
        )
    assert [one.cost_micros for one in desk.rows(ModelDay)] == [2 * 1640]


def trusted(desk: Desk) -> None:
    """Have a person trust what the project says."""
    assert desk.said is not None
    desk.studio.core("p", kind="human").projects.trust(Checking(models=desk.said), "")


def test_nobody_is_asked_beyond_the_limit_of_a_day() -> None:
    """What may come to more than is left is refused before anything leaves; the next day goes on."""
    desk = Desk(
        models=Modelling(prices=(DEAR,), day_limit=25_000, limit=0),
        there=(paid(),),
        tokens=Tokens(input=0, output=1000),
    )
    trusted(desk)
    question = make_question("?", max_tokens=1200)
    desk.core.models.ask(question)
    desk.core.models.ask(question)
    fault = desk.studio.refuses(BudgetSpent, lambda: desk.core.models.ask(question))
    assert fault.facts["spent_micros"] == 20_000
    assert fault.facts["resets_at"] > desk.studio.clock.now()
    assert len(desk.models.asked) == 2
    desk.studio.clock.pass_by(seconds=86_400)
    desk.core.models.ask(question)
    desk.said = replace(desk.said, limit=31_000, day_limit=10**9)
    trusted(desk)
    desk.studio.refuses(BudgetSpent, lambda: desk.core.models.ask(question))


def test_what_is_being_spent_counts_too() -> None:
    """Two who ask at once stay within the limit together."""
    desk = Desk(models=Modelling(prices=(DEAR,), day_limit=20_000), there=(paid(),))
    trusted(desk)
    found: list[Any] = []

    def meanwhile(_: Question) -> str:
        with pytest.raises(BudgetSpent) as caught:
            desk.studio.core("b").models.ask(make_question("?", max_tokens=1200))
        found.append(caught.value)
        return "yes"

    desk.models.said = [meanwhile]
    desk.core.models.ask(make_question("?", max_tokens=1200))
    assert found
    desk.models.said = ["again"]
    assert desk.core.models.ask(make_question("?", max_tokens=1200)).text == "again"


def test_of_many_who_ask_at_the_same_moment_only_one_is_asked_that_the_day_pays_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever reads what is spent and sets his own aside does both alone; here all would read before any has set aside."""
    many = 4
    desk = Desk(models=Modelling(prices=(DEAR,), day_limit=20_000), there=(paid(),))
    trusted(desk)
    have_read, are_refused = threading.Barrier(many), threading.Semaphore(0)

    def wait_for_others(*told: Any) -> None:
        # Where one at a time comes here nobody else does, and it breaks at once for those behind.
        with suppress(threading.BrokenBarrierError):
            have_read.wait(0.5)
        refuse_overspent(*told)

    def wait_for_refusals(_: Question) -> str:
        return "yes" if all(are_refused.acquire(timeout=10) for _ in range(many - 1)) else "late"

    def ask(core: Any) -> str:
        try:
            return core.models.ask(make_question("?", max_tokens=1200)).text
        except BudgetSpent:
            are_refused.release()
            return "spent"

    monkeypatch.setattr(spending, "refuse_overspent", wait_for_others)
    desk.models.said = [wait_for_refusals]
    cores = [desk.studio.core(f"agent-{number}") for number in range(many)]
    with ThreadPoolExecutor(many) as threads:
        found = sorted(threads.map(ask, cores))
    assert found == ["spent"] * (many - 1) + ["yes"]
    assert len(desk.models.asked) == 1


def test_a_model_without_a_price_is_not_asked_where_it_costs() -> None:
    """No limit could be held; it is passed over by who names nobody, and refused to who names it."""
    desk = Desk(there=(provider("far", is_free=False, model="unheard-of"),))
    desk.studio.refuses(NoProvider, lambda: desk.core.models.ask(make_question("?")))
    desk.studio.refuses(
        InvalidInput, lambda: desk.core.models.ask(make_question("?", provider="far"))
    )
    assert desk.core.models.standing().first == ()


def test_what_was_busy_is_asked_again_after_as_long_as_it_says() -> None:
    """Three times in all; who watches is told."""
    busy = ProviderBusy("it is busy", retry_after=7)
    desk, told = Desk(busy, ProviderBusy("busy"), "there"), []
    assert desk.core.models.ask(make_question("?"), told.append).text == "there"
    assert desk.models.waits[0] == 7
    assert 2 <= desk.models.waits[1] <= 2.5
    assert [one.attempts for one in desk.rows(ModelUse)] == [3]
    assert told[0] == "it is busy; trying again in 7 s"


@pytest.mark.parametrize("said", [0, -5, float("nan")])
def test_no_provider_is_asked_again_at_once(said: float) -> None:
    """Whatever it says: a time that is past, or none at all."""
    desk = Desk(ProviderBusy("busy", retry_after=said), "there")
    assert desk.core.models.ask(make_question("?")).text == "there"
    assert 1 <= desk.models.waits[0] <= 1.25


@pytest.mark.parametrize(
    ("fault", "tries"),
    [
        (ProviderBusy("busy"), 3),
        (ProviderBusy("busy", retry_after=1000), 1),
        (ProviderRefused("no"), 1),
        (ProviderFailed("strange"), 1),
    ],
)
def test_what_does_not_help_is_not_tried_again(fault: ProviderFailed, tries: int) -> None:
    """The refusal goes to who asked, and the use is written down as failed, at no cost."""
    desk = Desk(fault)
    with pytest.raises(type(fault)):
        desk.core.models.ask(make_question("?"))
    use = desk.rows(ModelUse)[0]
    assert (len(desk.models.asked), use.status, use.fault) == (tries, "failed", fault.code)
    assert (use.attempts, use.cost_micros, desk.rows(ModelDay)[0].failures) == (tries, 0, 1)


def test_who_goes_ends_it_and_that_is_written_down() -> None:
    """What a caller's watch raises comes out, while it waits to try again too."""

    def gone(_: str) -> None:
        raise Unavailable("nobody waits for this call any more")

    for said in ("x" * 500, ProviderBusy("busy")):
        desk = Desk(said)
        with pytest.raises(Unavailable, match="nobody waits"):
            desk.core.models.ask(make_question("?"), gone)
        assert desk.rows(ModelUse)[0].status == "cancelled"


def test_what_is_given_up_in_the_middle_counts_as_far_as_it_was_said() -> None:
    """Who cancels each call does not spend without limit; a question that nobody took costs nothing."""
    desk = Desk("x" * 600, models=Modelling(prices=(DEAR,)), there=(paid(),))
    trusted(desk)

    def gone(_: str) -> None:
        raise Unavailable

    with pytest.raises(Unavailable):
        desk.core.models.ask(make_question("y" * 290), listen=gone)
    in_all = 116 + 10 * 200
    assert [one.cost_micros for one in desk.rows(ModelUse)] == [in_all]
    for fault, more in ((ProviderTimedOut("late"), 116), (ProviderRefused("no"), 0)):
        desk.models.said = [fault]
        with pytest.raises(type(fault)):
            desk.core.models.ask(make_question("y" * 290))
        in_all += more
        assert desk.rows(ModelDay)[0].cost_micros == in_all


def test_an_answer_whose_tokens_nobody_tells_costs_what_its_size_tells() -> None:
    """A provider that counts nothing is not one that costs nothing."""
    said = Modelling(prices=(DEAR,))
    desk = Desk("x" * 299, models=said, there=(paid(),), tokens=Tokens())
    trusted(desk)
    assert desk.core.models.ask(make_question("y" * 290)).cost_micros == 116 + 10 * 100


def test_pieces_are_heard_as_they_come() -> None:
    """By whoever wants them; how long the answer is, is told after some hundred characters."""
    desk, pieces, told = Desk("y" * 500), [], []
    desk.core.models.ask(make_question("?"), told.append, pieces.append)
    assert pieces == ["y" * 500]
    assert told == [f"{NAME} is answering: 500 characters so far"]


def test_a_provider_that_keeps_failing_is_left_alone_and_passed_over() -> None:
    """Who names it is refused at once; who names nobody is answered by the next."""
    desk = Desk(ProviderBusy("busy", retry_after=1000), there=(provider("one"), provider("two")))
    for _ in range(MOST_FAULTS):
        with pytest.raises(ProviderBusy):
            desk.core.models.ask(make_question("?", provider="one"))
    with pytest.raises(CircuitOpen, match="one failed"):
        desk.core.models.ask(make_question("?", provider="one"))
    desk.models.said = ["fine"]
    assert desk.core.models.ask(make_question("?")).provider == "two"
    assert [one.name for one in desk.core.models.standing().first] == ["two"]


def test_where_all_are_left_alone_the_next_step_is_to_wait() -> None:
    """Nobody has to look for a key: one of them is asked again in a minute, and who can only be given a key is named too."""
    there = (provider("one"), provider("two", reason="it has no key"))
    desk = Desk(ProviderBusy("busy", retry_after=1000), there=there)
    for _ in range(MOST_FAULTS):
        with pytest.raises(ProviderBusy):
            desk.core.models.ask(make_question("?"))
    with pytest.raises(AllResting, match=r"one: it failed 5 times.*; two: it has no key") as caught:
        desk.core.models.ask(make_question("?"))
    assert (caught.value.facts, caught.value.retryable) == ({"retry_after": 60}, True)
    assert "retry_after" in caught.value.hint


def test_a_refusal_for_the_caller_opens_no_breaker() -> None:
    """A wrong key or question says nothing of whether the provider is there."""
    desk = Desk(ProviderRefused("no"))
    for _ in range(MOST_FAULTS + 1):
        with pytest.raises(ProviderRefused):
            desk.core.models.ask(make_question("?"))


def test_answers_are_kept_at_temperature_0_or_where_it_is_asked_for() -> None:
    """The second is free and instant; another question, model, limit or sample is another one; it expires."""
    desk = Desk("first", "second", "third", "fourth")
    cold = make_question("?", temperature=0)
    assert desk.core.models.ask(cold).text == "first"
    again = desk.core.models.ask(cold)
    assert (again.text, again.is_kept, again.cost_micros) == ("first", True, 0)
    assert desk.core.models.ask(replace(cold, sample="2")).text == "second"
    assert desk.core.models.ask(replace(cold, caching="never")).text == "third"
    desk.studio.clock.pass_by(seconds=8 * 86_400)
    assert desk.core.models.ask(cold).text == "fourth"
    assert [one.text for one in desk.rows(KeptAnswer)] == ["fourth"]
    assert [one.status for one in desk.rows(ModelUse)].count("kept") == 1


@pytest.mark.parametrize(
    "change", ["system", "model", "max_tokens", "schema", "messages", "provider"]
)
def test_what_an_answer_depends_on_tells_it_from_others(change: str) -> None:
    """Each alone makes another question of it."""
    desk = Desk("first", "second", there=(provider(), provider("two")))
    cold = make_question("?", temperature=0)
    other: Any = {
        "system": "Be brief.",
        "model": "another",
        "max_tokens": 7,
        "schema": {"type": "object"},
        "messages": make_question("!").messages,
        "provider": "two",
    }
    desk.core.models.ask(cold)
    assert desk.core.models.ask(replace(cold, **{change: other[change]})).text == "second"


def test_at_another_temperature_each_answer_is_another_one() -> None:
    """Unless it is asked for."""
    desk = Desk("first", "second")
    warm = make_question("?", temperature=0.7)
    assert [desk.core.models.ask(warm).text for _ in range(2)] == ["first", "second"]
    always = replace(warm, caching="always")
    assert not desk.core.models.ask(always).is_kept
    assert desk.core.models.ask(always).is_kept


def test_an_answer_whose_text_was_taken_away_is_asked_for_again() -> None:
    """What was redacted comes back from nowhere."""
    desk = Desk("first", "second")
    cold = make_question("?", temperature=0)
    desk.core.models.ask(cold)
    with recording(desk.studio.context(desk.core), "state.set") as change:
        (kept,) = change.select(KeptAnswer)
        change.put(replace(kept, text="[redacted]"))
    assert desk.core.models.ask(cold).text == "second"


def test_where_the_signer_is_away_nothing_is_kept_and_all_is_answered() -> None:
    """The names of answers are worked out of its key."""
    desk = Desk("first", "second")

    class Away:
        def known_key(self, _ledger: str) -> bytes:
            raise Unavailable

    desk.studio.ports = replace(desk.studio.ports, signer=cast("Any", Away()))
    core = desk.studio.core("b")
    assert [core.models.ask(make_question("?", temperature=0)).text for _ in range(2)] == [
        "first",
        "second",
    ]


def test_with_no_provider_it_is_said_and_nothing_is_written() -> None:
    """What is configured and away is named, with why."""
    desk = Desk(there=())
    desk.studio.refuses(NoProvider, lambda: desk.core.models.ask(make_question("?")))
    desk.models.there = (
        provider("one", reason="it has no key"),
        provider("two", reason="off", is_set=False),
    )
    fault = desk.studio.refuses(NoProvider, lambda: desk.core.models.ask(make_question("?")))
    assert fault.message == "no model can be asked: one: it has no key"
    desk.studio.refuses(
        ProviderAway, lambda: desk.core.models.ask(make_question("?", provider="one"))
    )
    desk.studio.refuses(
        NotFound, lambda: desk.core.models.ask(make_question("?", provider="three"))
    )
    assert desk.core.models.standing().first == ()


def test_without_models_nobody_is_there() -> None:
    """As in a program that embeds this one and brings none."""
    core = Studio().core("a")
    assert core.models.providers() == ()
    NoModels().pause(1, print)
    with pytest.raises(NoProvider):
        NoModels().ask(provider(), make_question("?"), print)


def test_the_order_of_the_project_goes_first() -> None:
    """Those that it does not name come after."""
    desk = Desk(models=Modelling(order=("two",)), there=(provider("one"), provider("two")))
    assert [one.name for one in desk.core.models.standing().first] == ["two", "one"]
    assert desk.core.models.ask(make_question("?")).provider == "two"


@pytest.mark.parametrize(
    "said",
    [
        Modelling(providers=(SaidProvider(name="x", address="https://elsewhere.example/v1"),)),
        Modelling(providers=(SaidProvider(name="x", command=("sh", "-c", "true")),)),
        Modelling(prices=(DEAR,)),
        Modelling(day_limit=10_000_001),
    ],
)
def test_an_address_a_command_a_price_or_a_higher_limit_holds_only_once_it_is_trusted(
    said: Modelling,
) -> None:
    """An agent can edit that file."""
    desk = Desk(models=said)
    assert [one.name for one in desk.core.models.standing().every] == [NAME]
    desk.studio.refuses(NotTrusted, lambda: desk.core.models.ask(make_question("?")))
    assert "trusted" in desk.core.models.providers()[0].reason
    trusted(desk)
    assert desk.core.models.ask(make_question("?")).text == "fine"
    assert desk.said is not None
    desk.said = replace(desk.said, day_limit=desk.said.day_limit + 20_000_000)
    desk.studio.refuses(NotTrusted, lambda: desk.core.models.ask(make_question("?")))


def test_a_lower_limit_and_another_order_take_no_trust() -> None:
    """Nothing is loosened by them."""
    desk = Desk(models=Modelling(day_limit=5, order=("local",)))
    assert desk.core.models.ask(make_question("?")).text == "fine"


def test_no_model_is_asked_while_a_transaction_is_open() -> None:
    desk = Desk()
    context = desk.studio.context(desk.core)

    def call() -> None:
        with Unit(context=context):
            with recording(context, "state.set"):
                pass
            ModelVerbs(context).ask(make_question("?"))

    with pytest.raises(RuntimeError, match="transaction"):
        call()


def test_a_use_lands_also_if_the_call_that_asked_is_refused() -> None:
    """What was spent was spent; and a call may ask several times under one idempotency key."""
    desk = Desk()

    def call() -> Any:
        desk.core.models.ask(make_question("?"))
        desk.core.models.ask(make_question("!"))
        raise InvalidInput("no")

    with pytest.raises(InvalidInput):
        desk.core.once("key", {}, call)
    assert len(desk.rows(ModelUse)) == 2


def test_what_would_be_refused_afterwards_is_refused_before() -> None:
    """An item that there is not, a session that has ended: nobody is asked."""
    desk = Desk()
    desk.studio.refuses(NotFound, lambda: desk.core.models.ask(make_question("?", item="demo-9")))
    desk.core.models.ask(make_question("?"))
    desk.core.sessions.end(desk.core.caller.actor.session, "completed")
    with pytest.raises(SessionEnded):
        desk.core.models.ask(make_question("?"))
    assert len(desk.models.asked) == 1


def test_a_program_is_found_where_the_person_finds_it_who_trusted_it() -> None:
    """Whoever started the server, with whatever PATH."""
    desk = Desk(
        models=Modelling(providers=(SaidProvider(name="local", command=("agent",)),)),
        there=(provider(kind="command", command=("agent",)),),
    )
    said = Checking(models=desk.said or Modelling())
    desk.studio.core("p", kind="human").projects.trust(said, "/trusted_path/bin")
    desk.core.models.ask(make_question("?"))
    desk.core.models.ask(make_question("?", provider="local"))
    assert [one.search_path for one in desk.models.whom] == ["/trusted_path/bin"] * 2


def test_what_a_question_costs_at_most_is_told_before_it_is_asked() -> None:
    """Nothing for a model of this machine, what its size and the length of its answer come to for another; None without a price."""
    free = Desk()
    assert free.core.models.at_most(make_question("x"))[1] == 0
    desk = Desk(there=(paid(),), models=Modelling(prices=(DEAR,)))
    trusted(desk)
    whom, most = desk.core.models.at_most(make_question("x" * 300, max_tokens=100))
    assert (whom.model, most) == ("dear-1", 120 + 1_000)
    assert desk.core.models.at_most(make_question("x", model="nobody-1"))[1] is None
    with pytest.raises(NotFound):
        desk.core.models.at_most(make_question("x", provider="nobody"))
    assert (free.models.asked, desk.models.asked, desk.rows(ModelUse)) == ([], [], [])
