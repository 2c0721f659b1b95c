"""Turns on a PostgreSQL server, in the order they were asked for."""

from __future__ import annotations

import threading

from counterpoint.storage.postgres.pool import FairSemaphore


def test_turns_come_in_the_order_they_were_asked_for():
    """Whoever gives a turn up does not overtake the line; who waited too long leaves it."""
    turns = FairSemaphore(1)
    assert turns.take(0)
    assert not turns.take(0.01)
    order: list[int] = []

    def stand(number: int) -> None:
        assert turns.take(20)
        order.append(number)
        turns.give()

    line = [threading.Thread(target=stand, args=(number,)) for number in range(5)]
    for place, one in enumerate(line):
        one.start()
        while len(turns._line) <= place:
            one.join(0.001)
    turns.give()
    for one in line:
        one.join(20)
    assert order == [0, 1, 2, 3, 4]
