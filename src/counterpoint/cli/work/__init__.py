"""Commands for people about work: planned, looked at, taken up, judged."""
