"""PostgreSQL as the programs of the shop use it: some connections that are kept, and patience while it moves to another machine.

DATABASE_URL says where it is and who asks.
"""
import os
import queue
import sys
import threading
import time

import psycopg2

# Longer than a planned move of the database takes; whoever asks waits so long before a request has failed.
PATIENCE_SECONDS = 12
# PostgreSQL takes 200 connections, and there are several of us.
BUSY = threading.Semaphore(30)
IDLE = queue.LifoQueue()


def connect():
    connection = psycopg2.connect(
        os.environ["DATABASE_URL"],
        connect_timeout=5,
        # A server that is gone for good is found out.
        tcp_user_timeout=5000,
        keepalives_idle=2,
        keepalives_interval=1,
        keepalives_count=3,
    )
    connection.autocommit = True
    return connection


def query(sql, values=(), patience=PATIENCE_SECONDS):
    """Made again on another connection when one broke, so `sql` has to be safe to run twice."""
    until = time.monotonic() + patience
    while True:
        try:
            with BUSY:
                return attempt(sql, values)
        except psycopg2.OperationalError:
            forget()
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def attempt(sql, values):
    try:
        connection = IDLE.get_nowait()
    except queue.Empty:
        connection = connect()
    try:
        with connection.cursor() as cursor:
            cursor.execute(sql, values)
            rows = cursor.fetchall() if cursor.description else []
    except psycopg2.Error:
        connection.close()
        raise
    IDLE.put(connection)
    return rows


def forget():
    """What one of them ran into, the others will."""
    while True:
        try:
            IDLE.get_nowait().close()
        except queue.Empty:
            return


def need_schema(program, version, wanted):
    """Ends the program where the database is older than the release expects."""
    try:
        ((found,),) = query("SELECT max(version) FROM schema_versions")
    except psycopg2.errors.UndefinedTable:
        found = 0
    if found < wanted:
        sys.exit(f"{program} {version} needs schema {wanted}, the database has schema {found}: run the job migrate of {version} first")
