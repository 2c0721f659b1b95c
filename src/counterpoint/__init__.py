"""Counterpoint: the shared, provable memory of work for teams of coding agents."""

__version__ = "0.1.0"
