"""Templates of plans: read, their variables checked, filled into drafts."""
