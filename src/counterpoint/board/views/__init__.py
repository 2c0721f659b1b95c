"""Pages that look at the work from further away, one module each."""
