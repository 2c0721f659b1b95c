"""The tools of workflow, one file for each noun."""
