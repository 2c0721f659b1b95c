"""The journal of a spec."""
