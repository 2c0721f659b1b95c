"""The tools of symphony, one file for each noun."""
