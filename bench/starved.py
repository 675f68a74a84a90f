#!/usr/bin/env python3
"""Does a busy neighbour on the generator's core get into the service latency? Interleaved rounds, medians.

Starts `tare origin` on the first core and `tare load` at a constant rate on the last one, in turn with and without a
busy loop beside it. The kernel's arrival stamps should keep the 99th percentile of `service` within 1.5 x of
the unstarved one, while `lateness` must show the starvation.

usage: bench/starved.py [ROUNDS] [RATE]
"""
import json
import os
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TARE = os.path.join(ROOT, "tare")
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
RATE = sys.argv[2] if len(sys.argv) > 2 else "2000"
CORES = sorted(os.sched_getaffinity(0))


def pinned(core, *words, **options):
    return subprocess.Popen(["taskset", "-c", str(core), *words], **options)


def one(address, starved):
    """One load; (service p99, felt p99, lateness p99) in microseconds."""
    busy = None
    if starved:
        busy = pinned(CORES[-1], sys.executable, "-c", "while True: pass")
    try:
        load = pinned(CORES[-1], TARE, "load", address, "--rate", RATE, "--duration", "3s", "--warmup", "1s",
                      "--json", "--quiet", stdout=subprocess.PIPE)
        text, _ = load.communicate(timeout=60)
    finally:
        if busy:
            busy.kill()
            busy.wait()
    found = json.loads(text)
    spread = {tag.split(".", 1)[1].rsplit(".", 1)[-1]: value for tag, value in found["latency_ns"].items()
              if tag.count(".") == 2}
    lateness = found["result"]["instrument"]["lateness"]["p99_ns"]
    us = lambda ns: None if not isinstance(ns, (int, float)) else ns / 1000
    return us(spread["service"]["p99"]), us(spread["felt"]["p99"]), us(lateness)


def main():
    origin = pinned(CORES[0], TARE, "origin", "--listen", "127.0.0.1:0", stdout=subprocess.PIPE, text=True)
    try:
        address = origin.stdout.readline().split()[-1]
        rows = {False: [], True: []}
        for number in range(ROUNDS):
            order = [False, True] if number % 2 == 0 else [True, False]
            for starved in order:
                rows[starved].append(one(address, starved))
                print(f"round {number + 1} {'starved' if starved else 'alone  '} "
                      "service p99 {:.0f} us, felt p99 {:.0f} us, lateness p99 {:.0f} us".format(*rows[starved][-1]),
                      flush=True)
        ratios = [starved[0] / alone[0] for alone, starved in zip(rows[False], rows[True])]
        print(f"service p99, starved / alone: median {statistics.median(ratios):.2f}, "
              f"range {min(ratios):.2f}-{max(ratios):.2f} (bar: 1.5)")
        late = [starved[2] for starved in rows[True]]
        print(f"lateness p99 while starved: median {statistics.median(late):.0f} us (a trial above 100 us is unfit)")
    finally:
        origin.terminate()
        origin.wait()


if __name__ == "__main__":
    main()
