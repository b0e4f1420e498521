#!/usr/bin/env python3
"""Servers over one database kept busy by many clients, one of them killed: is anything lost or wrong?

    bench/postgresql_load.py CALQUE ADDRESS WORK [SERVERS [SECONDS [CLIENTS]]]

ADDRESS has an index (calque index new) whose documents may be changed. Clients add documents of their own, each with a word
that no other has, and search for what was acknowledged, at any server; half-way one server is killed (SIGKILL). Every
answer is judged: an acknowledged document must be found by its word, as the first hit, with its own text; a search must
not find anything else for that word. At the end every acknowledged document is read again. Prints counts; exit code 1
when anything was lost or wrong. A client sends its next request when the last one is answered (a closed loop): the rate is
what the servers answer, and no capacity is measured. Standard library only; connections are this machine's."""
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


class Load:
    def __init__(self, ports, seconds, n_clients):
        self.ports, self.seconds = ports, seconds
        self.lock = threading.Lock()
        self.acknowledged, self.counts, self.wrong, self.times = [], {}, [], []
        self.end = time.monotonic() + seconds
        self.clients = [threading.Thread(target=self.client, args=(i,)) for i in range(n_clients)]

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
        code, text = self.ask(port, "GET", "/api/search?q=%s&mode=lexical&k=3" % name)
        if code != 200:
            return
        hits = json.loads(text)["hits"]
        if len(hits) != 1 or hits[0]["id"] != name:
            with self.lock:
                self.wrong.append("%s: found %s" % (name, [h["id"] for h in hits]))

    def client(self, number):
        draw = random.Random(number)
        n = 0
        while time.monotonic() < self.end:
            if draw.random() < 0.3:
                n += 1
                name = "word%dx%d" % (number, n)
                body = json.dumps({"text": "The %s is a made-up word." % name, "language": "en"})
                code, _ = self.ask(draw.choice(self.ports), "PUT", "/api/documents/" + name, body)
                if code == 200:
                    with self.lock:
                        self.acknowledged.append(name)
            else:
                with self.lock:
                    name = draw.choice(self.acknowledged) if self.acknowledged else None
                if name:
                    self.judge(draw.choice(self.ports), name)

    def run(self, at_half):
        for c in self.clients:
            c.start()
        time.sleep(self.seconds / 2)
        at_half()
        for c in self.clients:
            c.join()


def main():
    program, address, work = sys.argv[1:4]
    n_servers, seconds, n_clients = (int(sys.argv[i]) if len(sys.argv) > i else d for i, d in ((4, 4), (5, 20), (6, 40)))
    servers = [start(program, address, work, i) for i in range(n_servers)]
    try:
        load = Load([port for _, port in servers], seconds, n_clients)
        load.run(lambda: servers[0][0].send_signal(signal.SIGKILL))
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
    finally:
        for server, _ in servers:
            server.terminate()
        for server, _ in servers:
            server.wait()
    times = sorted(load.times)
    print("%d servers, %d clients, %d s: %d documents acknowledged, %d lost; %d wrong answers; p50 %.0f ms, p99 %.0f ms" %
          (n_servers, n_clients, seconds, len(load.acknowledged), lost, len(load.wrong), times[len(times) // 2] * 1e3,
           times[len(times) * 99 // 100] * 1e3))
    print("; ".join("%s: %d" % c for c in sorted(load.counts.items())))
    for w in load.wrong[:5]:
        print(w)
    sys.exit(1 if lost or load.wrong or not load.acknowledged else 0)


main()
