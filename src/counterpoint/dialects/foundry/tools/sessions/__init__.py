"""The actions of `task` for unattended runs."""
