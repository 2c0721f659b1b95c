"""Whole documents: taken in, applied, and as they were."""
