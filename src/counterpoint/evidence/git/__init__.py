"""Working trees that git knows: looking at them, and what changed in them."""
