#!/usr/bin/env python3
"""Does a busy neighbour on the generator's core get into the service latency? Interleaved rounds, medians.

Starts `tare origin` on the first core and `tare load` at a constant rate on the last one, in turn with and without a
busy loop beside it. The kernel's arrival stamps should keep the 99th percentile of `service` within 1.5 x of
the unstarved one, while `lateness` must show the starvation.

usage: bench/starved.py [ROUNDS] [RATE]
"""
import json
import statistics
import sys

sys.dont_write_bytecode = True
import harness
import server


def one(tare, address, rate, is_starved):
    """One load; (service p99, response p99, lateness p99) in microseconds."""
    busy = harness.start(harness.LOAD_CORE, [sys.executable, "-c", "while True: pass"]) if is_starved else None
    try:
        ran = harness.run([tare, "load", address, "--rate", str(rate), "--duration", "3s", "--warmup", "1s", "--json",
                          "--quiet", "--no-calibrate"], 60)
    finally:
        if busy:
            busy.kill()
            busy.wait()
    found = json.loads(ran.text)
    spread = {tag.rsplit(".", 1)[-1]: value for tag, value in found["latency_ns"].items() if tag.count(".") == 2}
    times_ns = spread["service"]["p99"], spread["response"]["p99"], found["result"]["generator"]["lateness"]["p99_ns"]
    if not all(isinstance(ns, (int, float)) for ns in times_ns):
        raise harness.Failed("too few exchanges for a 99th percentile")
    return tuple(ns / 1000 for ns in times_ns)


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    rate = sys.argv[2] if len(sys.argv) > 2 else "2000"
    tare = harness.build("tare")["tare"]
    rows = {False: [], True: []}
    with server.Origin(tare) as origin:
        for number in range(count):
            order = [False, True] if number % 2 == 0 else [True, False]
            for is_starved in order:
                rows[is_starved].append(one(tare, origin.address, rate, is_starved))
                print(f"round {number + 1} {'starved' if is_starved else 'alone  '} "
                      "service p99 {:.0f} us, response p99 {:.0f} us, lateness p99 {:.0f} us".format(*rows[is_starved][-1]),
                      flush=True)
    ratios = [starved[0] / alone[0] for alone, starved in zip(rows[False], rows[True])]
    print(f"service p99, starved / alone: median {statistics.median(ratios):.2f}, "
          f"range {min(ratios):.2f}-{max(ratios):.2f} (bar: 1.5)")
    late = [starved[2] for starved in rows[True]]
    print(f"lateness p99 while starved: median {statistics.median(late):.0f} us")


if __name__ == "__main__":
    main()
