"""The ledgers that have to be readable for ever: how they are made, and how they are looked at."""
