"""Compares two training logs step by step.

    python curves.py OURS.jsonl THEIRS.jsonl [LIMIT [FIRST_STEPS]]

Prints the maximum relative difference of the losses (and of the gradients' norms) over the first steps, and the median time
of a step on each side; fails when the losses differ by more than the limit (1e-3) anywhere in the first 100 steps.
"""

import json
import statistics
import sys


def read(path):
    with open(path) as f:
        records = [json.loads(line) for line in f]
    return {r["step"]: r for r in records if r.get("type", "step") == "step"}


ours, theirs = read(sys.argv[1]), read(sys.argv[2])
limit = float(sys.argv[3]) if len(sys.argv) > 3 else 1e-3
steps = range(1, (int(sys.argv[4]) if len(sys.argv) > 4 else 100) + 1)
missing = [s for s in steps if s not in ours or s not in theirs]
if missing:
    sys.exit(f"step {missing[0]} is missing in a log")


def maximum(key):
    return max((abs(ours[s][key] - theirs[s][key]) / abs(theirs[s][key]), s) for s in steps if theirs[s][key])


for key in ("loss", "gradient_norm", "learning_rate"):
    difference, step = maximum(key)
    print(f"{key}: maximum relative difference {difference:.2e}, at step {step}")
print(f"loss from {theirs[1]['loss']:.6g} to {theirs[steps[-1]]['loss']:.6g}")
a, b = (statistics.median(log[s]["seconds"] for s in log if s > 3) for log in (ours, theirs))
print(f"seconds a step: calque {a:.4f}, peer {b:.4f}, ratio {b / a:.2f}")
worst = maximum("loss")[0]
sys.exit(f"the loss curves differ by {worst:.2e}, more than {limit:g}" if not worst <= limit else 0)
