"""Work whose phases and tasks are declared as they begin and end."""
