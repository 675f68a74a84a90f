#!/usr/bin/env python3
"""Writes foreign.hlog: a log as another implementation writes it, for the reader's tests.

Made with the Python port of HdrHistogram:
    pip install hdrhistogram==0.10.8
    python3 hlog.py
With an argument it reads that log instead and prints, per interval, tag, start, count, p50 and max: to look at logs
of ours through another implementation's eyes (the tests' golden log was).
"""
import sys
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader, HistogramLogWriter

if len(sys.argv) > 1:
    reader = HistogramLogReader(sys.argv[1], HdrHistogram(1, 3_600_000_000_000, 3))
    while (h := reader.get_next_interval_histogram()) is not None:
        print(h.get_start_time_stamp(), h.get_total_count(), h.get_value_at_percentile(50), h.get_max_value())
    sys.exit()

with open("foreign.hlog", "w") as out:
    log = HistogramLogWriter(out)
    log.output_comment("from another implementation")
    log.output_log_format_version()
    out.write("#[StartTime: 1763680000.250000 (seconds since epoch), 2025-11-20 23:06:40]\n")
    log.output_legend()
    for second in range(3):
        h = HdrHistogram(1, 3_600_000_000_000, 3)
        for i in range(1, 1001):
            h.record_value((second + 1) * i * 1000)
        log.output_interval_histogram(h, 0.5 + second, 1.5 + second)
