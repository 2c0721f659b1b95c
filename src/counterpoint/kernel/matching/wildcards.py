"""Rows of tokens with wildcards, matched in a time that grows with the row.

A pattern is a row of tokens, and so is what it is held against: letters of a name, or names of a path. A token is
(1) `MANY`: any number of symbols, (2) `ONE`: any symbol, (3) a symbol that stands for itself, (4) a question that is
asked of a symbol. The whole row must fit.

How: the places that a row can have reached are the bits of one number, and each symbol moves all of them at
once. So every symbol is looked at once, whatever there is to choose from, where an engine that goes back and tries again
takes a time beyond all measure for some patterns. `ONE` as a symbol is one that is not known: it fits every token.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Final, Literal


class Wild(Enum):
    """What stands for other symbols than itself."""

    MANY = "*"
    ONE = "?"


MANY: Final = Wild.MANY
ONE: Final = Wild.ONE
Question = Callable[[str], bool]
Symbol = str | Literal[Wild.ONE]
Token = str | Wild | Question


class Row:
    """A row of tokens that others are held against."""

    __slots__ = ("_always", "_asked", "_end", "_known", "_loops")

    def __init__(self, tokens: Iterable[Token]) -> None:
        """Read the tokens; several `MANY` beside each other are one."""
        self._loops = self._always = 0
        self._known: dict[Symbol, int] = {}
        self._asked: list[tuple[int, Question]] = []
        bit, was_many = 1, False
        for token in tokens:
            is_many = token is MANY
            if is_many and was_many:
                continue
            was_many = is_many
            if is_many:
                self._loops |= bit
            elif token is ONE:
                self._always |= bit
            elif isinstance(token, str):
                self._known[token] = self._known.get(token, 0) | bit
            else:
                self._asked.append((bit, token))
            bit <<= 1
        self._end = bit

    def fits(self, symbols: Iterable[Symbol]) -> bool:
        """Return whether a whole row of symbols is one that the tokens stand for."""
        loops = self._loops
        moves: dict[Symbol, int] = {}
        reached = 1 | (loops & 1) << 1
        for symbol in symbols:
            move = moves.get(symbol)
            if move is None:
                move = moves[symbol] = self._moves(symbol)
            stays = reached & loops
            reached = (reached & move) << 1 | stays
            # Behind a `MANY` one may be as soon as one is before it.
            reached |= (reached & loops) << 1
            if not reached:
                return False
        return bool(reached & self._end)

    def _moves(self, symbol: Symbol) -> int:
        """Return the tokens that a symbol fits."""
        if symbol is ONE:
            return (self._end - 1) & ~self._loops
        fitting = self._always | self._known.get(symbol, 0)
        for bit, question in self._asked:
            if question(symbol):
                fitting |= bit
        return fitting
