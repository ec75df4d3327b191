"""The shop: takes orders and shows them. It finds PostgreSQL by the name of its deployment.

POST /orders with "<id> <text>" writes a row, reads it back on its own and answers it. GET /orders/<id> answers the row. Every answer
names the deployment and the address that it came from, so that a client can tell a wrong one.
"""
import json
import os
import queue
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import psycopg2

IDLE = queue.LifoQueue()
# PostgreSQL takes 200 connections, and there are three of us.
BUSY = threading.Semaphore(50)


def connect():
    connection = psycopg2.connect(
        host="pg",
        user="postgres",
        dbname="postgres",
        password=os.environ["POSTGRES_PASSWORD"],
        connect_timeout=10,
        # A server that is gone for good is found out; a way that is away for some seconds is waited for.
        tcp_user_timeout=12000,
    )
    connection.autocommit = True
    return connection


def query(sql, values=()):
    with BUSY:
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
            forget()
            raise
        IDLE.put(connection)
        return rows


def forget():
    """What one of them ran into, the others will: the next requests connect again."""
    while True:
        try:
            IDLE.get_nowait().close()
        except queue.Empty:
            return


class Shop(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/":
            return self.say(200, {})
        self.attempt(self.show, self.path.rsplit("/", 1)[-1])

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        self.attempt(self.write, *body.split(" ", 1))

    def attempt(self, work, *args):
        try:
            work(*args)
        except psycopg2.Error as error:
            self.say(503, {"problem": str(error).strip()})

    def write(self, order, text):
        query("INSERT INTO orders VALUES (%s, %s)", (order, text))
        self.show(order)

    def show(self, order):
        rows = query("SELECT id, text FROM orders WHERE id = %s", (order,))
        self.say(404, {"id": order}) if not rows else self.say(200, {"id": rows[0][0], "text": rows[0][1]})

    def say(self, status, told):
        here = {"deployment": "web", "at": self.connection.getsockname()[0]}
        body = json.dumps({**told, **here}).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


# Once: what is started before the name answers ends here, and its restarts tell.
query("SELECT pg_advisory_lock(1)")
query("CREATE TABLE IF NOT EXISTS orders (id text PRIMARY KEY, text text NOT NULL)")
query("SELECT pg_advisory_unlock(1)")
Server(("0.0.0.0", 8080), Shop).serve_forever()
