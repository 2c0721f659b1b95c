"""Commands of checks: what may be run, how, and what they wrote."""
