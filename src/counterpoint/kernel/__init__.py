"""The lowest layer: errors, identifiers, time and canonical bytes."""
