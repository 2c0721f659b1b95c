"""Read models: what pages, lists and briefs ask of a project, each in few statements."""
