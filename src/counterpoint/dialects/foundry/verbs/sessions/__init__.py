"""Unattended runs of specs: begun, told, stopped and taken up again."""
