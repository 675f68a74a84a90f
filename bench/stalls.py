#!/usr/bin/env python3
"""How long this machine keeps a core from a program that does nothing but read the clock: no generator there is more punctual.

usage: bench/stalls.py CORE SECONDS. Prints JSON: quantiles of how late an instant is seen that falls due at random, and the longest
time without the core. A step of the loop takes some 0.1 µs; what is longer than 2 µs was no step.
"""
import gc
import json
import os
import sys
import time

STEP_NS_MAX = 2000


def held_up(seconds):
    """Times without the core, in ns, and the time watched."""
    clock, gaps = time.monotonic_ns, []
    gc.disable()
    began = last = clock()
    end = began + int(seconds * 1e9)
    while last < end:
        now = clock()
        if now - last > STEP_NS_MAX:
            gaps.append(now - last)
        last = now
    return gaps, last - began


def late_ns(gaps, watched_ns, share):
    """How late an instant is seen that only this share of all instants exceeds: within a gap all latenesses are as likely."""
    low, high = 0, max(gaps, default=0)
    while high - low > 1:
        middle = (low + high) // 2
        if sum(gap - middle for gap in gaps if gap > middle) > share * watched_ns:
            low = middle
        else:
            high = middle
    return high


def main():
    os.sched_setaffinity(0, {int(sys.argv[1])})
    if os.geteuid() == 0:
        os.setpriority(os.PRIO_PROCESS, 0, -20)
    gaps, watched_ns = held_up(float(sys.argv[2]))
    print(json.dumps({"p99_us": late_ns(gaps, watched_ns, 0.01) / 1000, "p999_us": late_ns(gaps, watched_ns, 0.001) / 1000,
                      "max_us": max(gaps, default=0) / 1000, "gaps_per_s": len(gaps) / watched_ns * 1e9,
                      "share": sum(gaps) / watched_ns}))


if __name__ == "__main__":
    main()
