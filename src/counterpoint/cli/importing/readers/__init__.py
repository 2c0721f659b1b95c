"""Readers of the files of other programs, each giving the same shape."""
