"""Brings the database to the schema that this release needs. Every step is taken once, whole or not at all, and keeps what an older
release needs: it still runs while the new one is rolled out.
"""
import time

import psycopg2

from database import connect
from release import SCHEMA, VERSION

STEPS = [
    """CREATE TABLE orders (
         id text PRIMARY KEY, text text NOT NULL, handled int NOT NULL DEFAULT 0, placed_at timestamptz NOT NULL DEFAULT now());
       CREATE INDEX orders_waiting ON orders (placed_at) WHERE handled = 0""",
    "ALTER TABLE orders ADD COLUMN handled_at timestamptz",
]
LOGIN_SECONDS = 60


def login():
    """On the first day the server, and the role, may be a moment away."""
    until = time.monotonic() + LOGIN_SECONDS
    while True:
        try:
            return connect()
        except psycopg2.OperationalError:
            if time.monotonic() > until:
                raise
            time.sleep(0.5)


connection = login()
connection.autocommit = False
with connection, connection.cursor() as cursor:
    cursor.execute("SELECT pg_advisory_xact_lock(1)")
    cursor.execute("CREATE TABLE IF NOT EXISTS schema_versions (version int PRIMARY KEY)")
    cursor.execute("SELECT coalesce(max(version), 0) FROM schema_versions")
    ((found,),) = cursor.fetchall()
    for version in range(found + 1, SCHEMA + 1):
        cursor.execute(STEPS[version - 1])
        cursor.execute("INSERT INTO schema_versions VALUES (%s)", (version,))
print(f"release {VERSION}: schema {found} -> {max(found, SCHEMA)}")
