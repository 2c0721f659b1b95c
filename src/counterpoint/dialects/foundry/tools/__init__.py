"""The tools of foundry, one file for each noun."""
