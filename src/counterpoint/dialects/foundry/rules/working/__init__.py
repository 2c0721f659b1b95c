"""Which tasks are given out together, and what is said beside them."""
