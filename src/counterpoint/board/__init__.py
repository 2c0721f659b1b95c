"""The board: pages about the work of one project, for people with a browser."""
