#!/usr/bin/env python3
"""Servers over one database under ten times the load that they answer, one of them killed: is anything lost or wrong?

    bench/postgresql_load.py CALQUE ADDRESS WORK [SERVERS [SECONDS [CLIENTS]]]

ADDRESS has an index (calque index new) whose documents may be changed. First, for five seconds, CLIENTS send a request
when their last one is answered: the rate is the capacity. Then ten times that many requests a second are offered for
SECONDS, each when its time has come, whether or not others were answered; at most 400 are under way at once, and what
comes beyond them is counted as not sent. Half-way one server is killed (SIGKILL).

Requests add documents with a word that no other has, replace and delete documents whose ids all requests share, and
search for what was acknowledged, at any server. Every answer is judged: an acknowledged document must be found by its
word, as the first hit, and nothing else for that word. At the end every acknowledged document is read again, and every
shared document must be one that was sent for it, or be missing. Prints counts; exit code 1 when anything was lost or
wrong. Standard library only; connections are this machine's."""
import http.client
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time


def start(program, address, work, number):
    out = open(os.path.join(work, "server-%d" % number), "w+")
    server = subprocess.Popen([program, "serve", "--store", address, "--writable", "--port", "0", "--threads", "1"],
                              stdout=out, stderr=subprocess.STDOUT)
    for _ in range(200):
        out.seek(0)
        for line in out.read().splitlines():
            if line.startswith("listening on "):
                return server, int(line.rsplit(":", 1)[1])
        time.sleep(0.1)
    raise SystemExit("server %d does not start" % number)


N_SHARED, MAX_UNDER_WAY = 50, 400


class Load:
    def __init__(self, ports):
        self.ports, self.lock = ports, threading.Lock()
        self.acknowledged, self.counts, self.wrong, self.times = [], {}, [], []
        self.n, self.n_unsent, self.shared = 0, 0, {}

    def ask(self, port, method, path, body=None):
        begin = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            code, text = answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            code, text = 0, b""  # killed, or not taken: nothing was said
        finally:
            connection.close()
        with self.lock:
            kind = "%s %s" % (method, code or "no answer")
            self.counts[kind] = self.counts.get(kind, 0) + 1
            if code == 200:
                self.times.append(time.monotonic() - begin)
        return code, text

    def judge(self, port, name):
        code, text = self.ask(port, "GET", "/api/search?q=%s&mode=words&k=3" % name)
        if code != 200:
            return
        hits = json.loads(text)["hits"]
        if len(hits) != 1 or hits[0]["id"] != name:
            with self.lock:
                self.wrong.append("%s: found %s" % (name, [h["id"] for h in hits]))

    def put(self, name, text):
        body = json.dumps({"text": text, "language": "en"})
        return self.ask(random.choice(self.ports), "PUT", "/api/documents/" + name, body)[0]

    def one(self):
        """A request, drawn: a fifth adds, a tenth replaces or deletes a shared document, the rest searches."""
        kind = random.random()
        with self.lock:
            self.n += 1
            name = "word%dx" % self.n
            known = random.choice(self.acknowledged) if self.acknowledged else None
        if kind < 0.2 or not known:
            if self.put(name, "The %s is a made-up word." % name) == 200:
                with self.lock:
                    self.acknowledged.append(name)
        elif kind < 0.3:
            shared = "shared%d" % random.randrange(N_SHARED)
            if random.random() < 0.3:
                self.ask(random.choice(self.ports), "DELETE", "/api/documents/" + shared)
            else:
                text = "The shared document, version %s." % name
                with self.lock:
                    self.shared.setdefault(shared, set()).add(text)
                self.put(shared, text)
        else:
            self.judge(random.choice(self.ports), known)

    def measure(self, n_clients, seconds):
        """Requests a second, each client waiting for its answer."""
        before, end = self.n, time.monotonic() + seconds

        def client():
            while time.monotonic() < end:
                self.one()
        clients = [threading.Thread(target=client) for _ in range(n_clients)]
        for c in clients:
            c.start()
        for c in clients:
            c.join()
        return (self.n - before) / seconds

    def offer(self, rate, seconds, at_half):
        """Open loop: request i at i / rate, whatever became of the others."""
        room = threading.Semaphore(MAX_UNDER_WAY)

        def request():
            try:
                self.one()
            finally:
                room.release()
        begin, threads, killed = time.monotonic(), [], False
        for i in range(int(rate * seconds)):
            late = time.monotonic() - begin - i / rate
            if late < 0:
                time.sleep(-late)
            if not killed and i >= rate * seconds / 2:
                at_half()
                killed = True
            if time.monotonic() - begin > seconds:
                self.n_unsent += int(rate * seconds) - i
                break
            if not room.acquire(blocking=False):
                self.n_unsent += 1
                continue
            thread = threading.Thread(target=request)
            thread.start()
            threads.append(thread)
        if not killed:
            at_half()
        for t in threads:
            t.join()


def main():
    program, address, work = sys.argv[1:4]
    given = dict(enumerate(sys.argv))
    n_servers, seconds, n_clients = (int(given.get(i, d)) for i, d in ((4, 4), (5, 20), (6, 40)))
    servers = [start(program, address, work, i) for i in range(n_servers)]
    try:
        load = Load([port for _, port in servers])
        capacity = load.measure(n_clients, 5)
        load.times.clear()
        load.offer(10 * capacity, seconds, lambda: servers[0][0].send_signal(signal.SIGKILL))
        servers[0][0].wait()
        lost = 0
        port = servers[-1][1]
        for name in load.acknowledged:
            for _ in range(50):
                code, text = load.ask(port, "GET", "/api/documents/" + name)
                if code in (200, 404):
                    break
                time.sleep(0.1)
            lost += code != 200 or name not in json.loads(text)["text"]
        for name, texts in load.shared.items():
            code, text = load.ask(port, "GET", "/api/documents/" + name)
            if code != 404 and (code != 200 or json.loads(text)["text"] not in texts):
                load.wrong.append("%s: %d %s" % (name, code, text[:80]))
    finally:
        for server, _ in servers:
            server.terminate()
        for server, _ in servers:
            server.wait()
    times = sorted(load.times)
    print("%d servers, %d clients: %.0f requests a second" % (n_servers, n_clients, capacity))
    print("offered %.0f a second for %d s, %d of them not sent: %d documents acknowledged, %d lost; %d wrong answers" %
          (10 * capacity, seconds, load.n_unsent, len(load.acknowledged), lost, len(load.wrong)))
    print("answers with 200: p50 %.0f ms, p99 %.0f ms" %
          (times[len(times) // 2] * 1e3, times[len(times) * 99 // 100] * 1e3))
    print("; ".join("%s: %d" % c for c in sorted(load.counts.items())))
    for w in load.wrong[:5]:
        print(w)
    sys.exit(1 if lost or load.wrong or not load.acknowledged else 0)


main()
