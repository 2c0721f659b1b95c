"""Has agents work on a spec, one after the other, until it is complete."""
