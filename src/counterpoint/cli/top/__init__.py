"""The live view of a project, in which a person decides."""
