"""The shop: takes orders and shows them.

POST /orders with "<id> <text>" writes a row, reads it back on its own and answers it; sent again it changes nothing. GET /orders/<id>
answers the row. Every answer names the deployment, the release and the address that it came from, so that a client can tell a wrong one.
"""
import json
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import psycopg2

from database import need_schema, query
from release import SCHEMA, VERSION


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
        query("INSERT INTO orders (id, text) VALUES (%s, %s) ON CONFLICT DO NOTHING", (order, text))
        self.show(order)

    def show(self, order):
        rows = query("SELECT id, text FROM orders WHERE id = %s", (order,))
        self.say(404, {"id": order}) if not rows else self.say(200, {"id": rows[0][0], "text": rows[0][1]})

    def say(self, status, told):
        here = {"deployment": "web", "version": VERSION, "at": self.connection.getsockname()[0]}
        body = json.dumps({**told, **here}).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args):
        pass


class Server(ThreadingHTTPServer):
    """Ends when the requests under way are answered."""

    daemon_threads = False
    request_queue_size = 128


signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
need_schema("web", VERSION, SCHEMA)
server = Server(("0.0.0.0", 8080), Shop)
signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
print(f"web {VERSION} serves", flush=True)
server.serve_forever()
server.server_close()
