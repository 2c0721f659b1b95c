"""Databases that other programs wrote."""
