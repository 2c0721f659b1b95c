"""The process that one command of a check runs under, and ends with."""
