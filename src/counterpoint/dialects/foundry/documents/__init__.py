"""Specs as JSON documents: taken in, compared, brought back."""
