"""Work whose phases and tasks are declared as they begin and end: its verbs and its context."""
