"""Reading what agent command lines tell about their runs."""
