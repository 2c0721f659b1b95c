"""How a drafted plan becomes rows: at once, or in slices that nobody sees."""
