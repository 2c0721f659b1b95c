"""What is done in a tree beside measuring it: files put there, branches read."""
