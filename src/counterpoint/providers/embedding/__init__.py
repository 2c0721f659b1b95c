"""Models that turn texts into vectors; the smallest comes with the product."""
