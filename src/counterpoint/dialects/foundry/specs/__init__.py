"""Specs as wholes: made, judged, completed, put in phases."""
