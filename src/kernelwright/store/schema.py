"""The tables of a run's journal, and the triggers that keep them append-only, even at the `sqlite3` prompt.

Every body is a record's JSON; the other columns are there for look-ups.
"""

VERSION = 2
"""The version of this schema, in SQLite's `user_version`; a run of another version is refused."""

_TABLES = {
    "card": "id INTEGER PRIMARY KEY CHECK (id = 0), body TEXT NOT NULL",
    "state": "id INTEGER PRIMARY KEY CHECK (id = 0), body TEXT NOT NULL",
    "expansions": "number INTEGER PRIMARY KEY, body TEXT NOT NULL",
    "proposals": "expansion INTEGER PRIMARY KEY REFERENCES expansions, body TEXT NOT NULL",
    "evaluations": "key TEXT NOT NULL, sample INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (key, sample)",
    "attempts": "number INTEGER PRIMARY KEY, expansion INTEGER NOT NULL REFERENCES expansions,"
    " candidate TEXT NOT NULL, outcome TEXT NOT NULL, body TEXT NOT NULL",
    "tells": "number INTEGER PRIMARY KEY, attempt INTEGER NOT NULL UNIQUE REFERENCES attempts, reward REAL NOT NULL",
    "turns": "number INTEGER PRIMARY KEY, body TEXT NOT NULL",
    "events": "number INTEGER PRIMARY KEY, at TEXT NOT NULL, body TEXT NOT NULL",
    "outcomes": "number INTEGER PRIMARY KEY, body TEXT NOT NULL",
}


def _append_only(table: str) -> str:
    return "".join(
        f"CREATE TRIGGER {table}_no_{verb} BEFORE {verb} ON {table}"
        f" BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END;"
        for verb in ("UPDATE", "DELETE")
    )


def _statements() -> str:
    tables = (f"CREATE TABLE {name} ({columns}) STRICT; {_append_only(name)}" for name, columns in _TABLES.items())
    return "BEGIN;" + "".join(tables) + f"PRAGMA user_version = {VERSION}; COMMIT;"


SCHEMA = _statements()
"""One script, one transaction: a database has all of it or nothing."""
