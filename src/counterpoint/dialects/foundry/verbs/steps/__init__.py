"""Steps of unattended runs: decided, issued, reported back and told again."""
