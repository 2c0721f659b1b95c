"""Models that can be asked, and what a project says of them."""
