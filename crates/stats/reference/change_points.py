#!/usr/bin/env python3
"""Writes change_points.csv: series, and the change points that Apache Otava finds in them.

Made with apache-otava 0.8.0 (numpy 2.2.0, scipy 1.16.3) on Python 3.11:
    pip install apache-otava==0.8.0
    python3 change_points.py > change_points.csv
Lines: series,<name>,<max_pvalue>,<min_magnitude>,<window_len>; values,<values>; otava,<indices>; corrected,<indices>.
The last are Otava's answers but for two things: the variance in its t test is that of a sample (it divides by n - 1, not n), and
after a point is removed both neighbours are tested again (Otava tests the two points after it, and the one before keeps the p
value that it had beside the removed one).
"""
from functools import partial
from types import SimpleNamespace

import numpy as np
import otava.analysis
from otava.analysis import TTestSignificanceTester, compute_change_points

rng = np.random.default_rng(20230415)


def noise(n, deviation):
    return np.exp(deviation * rng.normal(size=n))


def steps(sizes, length, deviation):
    levels = np.cumprod(1 + np.array([0, *sizes]))
    return 100 * np.repeat(levels, length) * noise(length * len(levels), deviation)


def merge(points, series, max_pvalue, min_magnitude):
    tester = TTestSignificanceTester(max_pvalue)
    while True:
        intervals = tester.get_intervals(points)
        points = [tester.change_point(point.to_candidate(), series, intervals) for point in points]
        by_p = [point for point in points if point.stats.pvalue >= max_pvalue]
        small = [point for point in points if point.stats.change_magnitude() <= min_magnitude]
        if by_p:
            points.remove(max(by_p, key=lambda point: point.stats.pvalue))
        elif small:
            points.remove(min(small, key=lambda point: point.stats.change_magnitude()))
        else:
            return points


OTAVA_MERGE = otava.analysis.merge


def case(name, values, max_pvalue=0.001, min_magnitude=0.0, window=50):
    values = np.round(values, 3)
    print(f"series,{name},{max_pvalue},{min_magnitude},{window}")
    print("values," + ",".join(repr(float(v)) for v in values))
    for test, divisor, merging in [("otava", 0, OTAVA_MERGE), ("corrected", 1, merge)]:
        otava.analysis.merge = merging
        otava.analysis.np = SimpleNamespace(mean=np.mean, std=partial(np.std, ddof=divisor))
        points, _ = compute_change_points(
            values.tolist(), window_len=window, max_pvalue=max_pvalue, min_magnitude=min_magnitude
        )
        print(",".join([test, *[str(int(p.index)) for p in points]]))


case("flat", steps([], 100, 0.03))
case("flat at a weak p value", steps([], 200, 0.03), max_pvalue=0.04)
case("flat with a smallest change", steps([], 200, 0.03), max_pvalue=0.04, min_magnitude=0.05)
case("a step", steps([0.1], 40, 0.03))
case("a step back", steps([0.15, -0.13], 30, 0.03))
case("five steps", steps([0.1, 0.1, -0.2, 0.1, 0.3], 25, 0.02))
case("small steps below the smallest change", steps([0.02, 0.02, 0.1], 40, 0.005), min_magnitude=0.05)
case("small steps", steps([0.02, 0.02, 0.1], 40, 0.005))
case("drift", 100 * np.linspace(1, 1.4, 120) * noise(120, 0.02))
case("drift with a smallest change", 100 * np.linspace(1, 1.4, 120) * noise(120, 0.02), min_magnitude=0.05)
outlier = steps([], 60, 0.02)
outlier[30] *= 2
case("an outlier", outlier)
last = steps([0.2], 60, 0.02)[:64]
case("four values after a step", last)
case("without noise", np.repeat([10.0, 12.0, 9.0], 20))
case("constant", np.full(40, 7.0))
case("three values", np.array([1.0, 2.0, 3.0]))
case("short", np.array([10.0, 10.1, 9.9, 12.1, 12.0, 11.9]))
case("narrow windows", steps([0.1, -0.1, 0.2], 30, 0.02), window=20)
case("wide windows", steps([0.1, -0.1, 0.2], 60, 0.04), window=100)
case("seven hundred values", steps([0.05, 0.05, -0.08, 0.02, 0.1, 0.03], 100, 0.04), max_pvalue=0.01)
case("alternating", steps([0.3, -0.23] * 8, 6, 0.03))
