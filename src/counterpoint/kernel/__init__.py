"""The ground floor: errors, identifiers, time and canonical bytes."""
