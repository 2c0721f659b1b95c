"""The tools of the native dialect, one file for each noun."""
