"""What colibri decides about the texts it reads, and about the moves of its tasks."""
