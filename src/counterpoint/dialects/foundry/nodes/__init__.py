"""A spec as items: its nodes, read and written one by one."""
