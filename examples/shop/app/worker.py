"""Handles orders, each once: marks those that nobody handled yet, some at a time. Several of it share the work.

The file /tmp/alive is as old as the last look.
"""
import pathlib
import signal
import sys
import time

import psycopg2

from database import need_schema, query
from release import SCHEMA, VERSION

signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
SINCE_2 = ", handled_at = now()" if SCHEMA >= 2 else ""
HANDLE = f"""
UPDATE orders SET handled = handled + 1{SINCE_2} WHERE id IN
  (SELECT id FROM orders WHERE handled = 0 ORDER BY placed_at LIMIT 50 FOR UPDATE SKIP LOCKED)
"""

need_schema("worker", VERSION, SCHEMA)
print(f"worker {VERSION} looks for orders", flush=True)
while True:
    try:
        query(HANDLE, patience=0)
        pathlib.Path("/tmp/alive").touch()
    except psycopg2.OperationalError as error:
        print(str(error).strip(), flush=True)
    time.sleep(0.25)
