"""The tools of agentic, one file for each noun."""
