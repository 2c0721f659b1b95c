"""Which commands the checks of a project may run, as people see it."""
