"""What is counted before it is parsed or looked at."""
