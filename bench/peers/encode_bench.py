"""Times encoding, calque against sentence-transformers, in turn within one run.

    python encode_bench.py CALQUE LIBRARY MODEL TEXTS LABEL [THREADS [ROUNDS]]

First a search for the peer's best setting, then A B A B ... with it (wall time, and processor time, which says
something on a busy machine too when THREADS is 1); then, in fresh processes, the whole command from its
start (model load included), the time to the first vector, and the peak of resident memory. TSV on standard output.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))


class Worker:
    """One or more processes that encode all texts together, each a share of them."""

    def __init__(self, side, how, model, path, threads, n=1):
        self.name, self.parts = how, []
        with open(path, encoding="utf-8") as f:
            texts = f.readlines()
        for i in range(n):
            share = tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8")
            share.write("".join(texts[i::n]))
            share.flush()
            process = subprocess.Popen([sys.executable, os.path.join(HERE, "worker.py"), side, how, model, share.name,
                                        str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, text=True)
            self.parts.append((process, share))
        for process, _ in self.parts:
            if process.stdout.readline().strip() != "ready":
                raise RuntimeError(f"{side} {how} failed to start")

    def ask(self, word):
        for process, _ in self.parts:
            process.stdin.write(word + "\n")
            process.stdin.flush()
        return [process.stdout.readline().strip() for process, _ in self.parts]

    def run(self):
        """Wall seconds of the slowest process, and processor seconds of all."""
        times = [[float(x) for x in answer.split()] for answer in self.ask("run")]
        return max(t[0] for t in times), sum(t[1] for t in times)

    def close(self):
        for process, share in self.parts:
            process.stdin.close()
            process.wait()
            share.close()


def command(arguments):
    """Wall seconds, processor seconds and peak kilobytes of a command."""
    start = time.perf_counter()
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(arguments)} failed")
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def spread(times):
    return f"{statistics.median(times):.4f}\t{min(times):.4f}\t{max(times):.4f}"


def best_setting(model, texts, threads):
    """The fastest of the peer's settings: (setting, threads of a process, processes)."""
    if "PEER_SETTING" in os.environ:  # BATCH[,KIND] THREADS PROCESSES, found by an earlier search
        setting, t, n = os.environ["PEER_SETTING"].split()
        return setting, int(t), int(n)
    tried = []
    candidates = [(f"{batch}{extra}", threads, 1) for extra in ("", ",eager") for batch in (8, 16, 32, 64, 128)]
    candidates += [("32", 1, 1)] + [(batch, 1, threads) for batch in ("8", "16", "32")]
    candidates += [("32,compile", threads, 1), ("32,freeze", threads, 1)]
    for setting, t, n in candidates:
        try:
            worker = Worker("peer", setting, model, texts, t, n)
            seconds = worker.run()[0]
            if not tried or seconds < 1.15 * min(tried)[0]:  # the others will not be the best
                seconds = min(seconds, worker.run()[0])
            worker.close()
        except (RuntimeError, ValueError) as error:
            print(f"# peer setting {setting}: {error}", flush=True)
            continue
        tried.append((seconds, setting, t, n))
        print(f"# peer batch {setting}, {n} process(es) of {t} thread(s): {seconds:.3f} s", flush=True)
    return min(tried)[1:]


def main():
    program, library, model, texts, label = sys.argv[1:6]
    threads = int(sys.argv[6]) if len(sys.argv) > 6 else 2
    rounds = int(sys.argv[7]) if len(sys.argv) > 7 else 7
    setting, t, n = best_setting(model, texts, threads)
    ours, theirs = Worker("calque", library, model, texts, threads), Worker("peer", setting, model, texts, t, n)
    a, b = [], []
    for _ in range(rounds):
        a.append(ours.run())
        b.append(theirs.run())
    ours.close()
    theirs.close()
    print("what\ttexts\tside\tmedian_s\tmin_s\tmax_s\tratio")
    for i, what in enumerate(("encode", "encode: processor time")):
        ratio = statistics.median(y[i] / x[i] for x, y in zip(a, b))
        print(f"{what}\t{label}\tcalque\t{spread([x[i] for x in a])}\t")
        print(f"{what}\t{label}\tpeer (batch {setting}, {n} x {t} threads)\t{spread([y[i] for y in b])}\t{ratio:.2f}",
              flush=True)

    with tempfile.TemporaryDirectory() as work:
        one = os.path.join(work, "one")
        with open(one, "w") as f:
            f.write("The first sentence.\n")
        for what, path in (("whole command", texts), ("first vector", one)):
            ours = [program, "encode", "--model", model, "--threads", str(threads), "--output", os.path.join(work, "a.npy"), path]
            theirs = [sys.executable, os.path.join(HERE, "encode_peer.py"), model, path, os.path.join(work, "b.npy"),
                      str(threads), setting.split(",")[0]]
            a, b = [], []
            for _ in range(3 if path == texts else 5):
                if os.path.exists(os.path.join(work, "a.npy")):
                    os.remove(os.path.join(work, "a.npy"))
                a.append(command(ours))
                b.append(command(theirs))
            for i, unit in enumerate(("", ": processor time")):
                ratio = statistics.median(y[i] / x[i] for x, y in zip(a, b))
                print(f"{what}{unit}\t{label}\tcalque\t{spread([x[i] for x in a])}\t")
                print(f"{what}{unit}\t{label}\tpeer\t{spread([y[i] for y in b])}\t{ratio:.2f}")
            kb = [statistics.median(x[2] for x in side) for side in (a, b)]
            print(f"{what}: peak resident MiB\t{label}\tcalque\t{kb[0] / 1024:.1f}\t\t\t")
            print(f"{what}: peak resident MiB\t{label}\tpeer\t{kb[1] / 1024:.1f}\t\t\t{kb[1] / kb[0]:.2f}", flush=True)


if __name__ == "__main__":
    main()
