"""Whole documents: taken in, applied, mirrored as files, and as they were."""
