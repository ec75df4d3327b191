"""Asks the shop: every fourth request writes an order, the others read one that was acknowledged before.

    load.py closed <requests> <clients> <host>     one after the other in each client, until all are made
    load.py open <per second> <hosts> [<site>]     at that pace, whatever became of those before, until its input ends; with a site: from
                                                   outside, where the hosts are addresses of that site and any that can be connected to will do
    load.py connect <times> <address>              opens connections one after the other; answers the median in milliseconds

A line for each: when it began (seconds since 1970), how long it took, what became of it, the host asked, who answered, the order
written or the problem. What became of it: ok; failed (no answer, or one that says so); wrong (somebody else's answer, or another row);
missing (a row that was acknowledged and is not there).
"""
import http.client
import json
import random
import socket
import statistics
import sys
import threading
import time
import uuid

RUN = uuid.uuid4().hex[:12]
DEADLINE = 15
LOCK = threading.Lock()
WRITTEN = []
HOSTS = []
SITE = ""
MADE = 0


def ask(host):
    global MADE
    with LOCK:
        MADE += 1
        number = MADE
    began = time.time()
    writes = number % 4 == 1 or not WRITTEN
    order = (f"{RUN}-{number}", uuid.uuid4().hex) if writes else random.choice(WRITTEN)
    try:
        outcome, by = judge(*request(host, writes, order), order)
    except (OSError, http.client.HTTPException) as error:
        outcome, by = ("failed", f"{type(error).__name__}: {error}"), "-"
    what, detail = outcome
    if writes and what == "ok":
        WRITTEN.append(order)
        detail = order[0]
    with LOCK:
        print(f"{began:.3f} {time.time() - began:.3f} {what} {host} {by} {detail}".strip(), flush=True)


def request(host, writes, order):
    connection = connected_to(host)
    headers = {"host": SITE} if SITE else {}
    try:
        if writes:
            connection.request("POST", "/orders", " ".join(order), headers)
        else:
            connection.request("GET", f"/orders/{order[0]}", None, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def connected_to(host):
    if not SITE:
        return http.client.HTTPConnection(host, 8080, timeout=DEADLINE)
    # As browsers do with the addresses of a name.
    problem = None
    for address in [host, *(one for one in HOSTS if one != host)]:
        connection = http.client.HTTPConnection(address, 80, timeout=2)
        try:
            connection.connect()
            connection.sock.settimeout(DEADLINE)
            return connection
        except OSError as error:
            problem = error
    raise problem


def judge(status, body, order):
    try:
        told = json.loads(body)
    except ValueError:
        if status >= 500:
            return ("failed", f"{status} {' '.join(body[:80].decode(errors='replace').split())}"), "-"
        return ("wrong", f"{status} {body[:80]!r}"), "-"
    by = told.get("at", "-")
    if told.get("deployment") != "web":
        return ("wrong", f"{status} {body[:80]!r}"), by
    if status == 503:
        return ("failed", told["problem"].replace("\n", " ")), by
    if status == 404:
        return ("missing", order[0]), by
    if status != 200 or (told.get("id"), told.get("text")) != order:
        return ("wrong", f"{status} {body[:80]!r} for {order[0]}"), by
    return ("ok", ""), by


def closed(count, clients, host):
    left = iter(range(count))

    def client():
        while True:
            with LOCK:
                if next(left, None) is None:
                    return
            ask(host)

    together = [threading.Thread(target=client) for _ in range(clients)]
    for one in together:
        one.start()
    for one in together:
        one.join()


def paced(rate, hosts):
    over = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
    under_way = []
    began = time.monotonic()
    for number in range(10**9):
        if over.wait(max(0, began + number / rate - time.monotonic())):
            break
        one = threading.Thread(target=ask, args=(hosts[number // 4 % len(hosts)],))
        one.start()
        under_way = [*(thread for thread in under_way if thread.is_alive()), one]
    for one in under_way:
        one.join()


def connected(address):
    began = time.monotonic()
    socket.create_connection((address, 8080), DEADLINE).close()
    return (time.monotonic() - began) * 1000


mode, *args = sys.argv[1:]
if mode == "closed":
    closed(int(args[0]), int(args[1]), args[2])
elif mode == "connect":
    print(f"{statistics.median(connected(args[1]) for _ in range(int(args[0]))):.2f}")
else:
    HOSTS = args[1].split(",")
    SITE = args[2] if len(args) > 2 else ""
    paced(float(args[0]), HOSTS)
