"""What is played on each surface and at the command line: one scene in each file."""
