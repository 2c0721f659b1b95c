"""The tools of colibri, one file for each noun."""
