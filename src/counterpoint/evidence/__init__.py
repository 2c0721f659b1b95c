"""Measured facts: git snapshots, executed commands, signatures."""
