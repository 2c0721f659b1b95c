"""Every fault that a spec's document can have, and where it is."""
