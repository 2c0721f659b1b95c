"""What is done in a working tree beside measuring it: files put there, branches read."""
