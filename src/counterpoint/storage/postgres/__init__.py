"""The store on a PostgreSQL server, for many machines on one database."""
