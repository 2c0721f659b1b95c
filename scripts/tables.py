"""Words the table of each noun as a migration does, for both databases: what a new migration is written from.

python scripts/tables.py TABLE …     prints the statements for tables of these names, for SQLite and for PostgreSQL
"""

from __future__ import annotations

import sys

from counterpoint.app import NOUNS
from counterpoint.storage.schema import TYPES, tables_of


def main() -> None:
    """Print the statements."""
    named = {noun.table: noun for noun in NOUNS}
    for name in sys.argv[1:]:
        if name not in named:
            sys.exit(f"there is no noun with a table {name!r}; there are {', '.join(named)}")
        for database, types in TYPES.items():
            print(f"-- {database}\n{tables_of(named[name], types)}")


if __name__ == "__main__":
    main()
