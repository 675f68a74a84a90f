#!/usr/bin/env python3
"""Writes paired.csv: tables with missing trials, and what least squares makes of them.

Made with scipy 1.16.3 and numpy 2.4.6 on Python 3.11:
    pip install scipy==1.16.3 numpy==2.4.6
    python3 paired.py > paired.csv
The model is fitted with the full design matrix (a column per block and arm), another route than the
crate's reduced normal equations. Lines: table,<copies>,<arms>; row,<values, empty when missing>; fit,<residual
variance>,<degrees>,<smallest correlation>; arm,<log-ratio>,<standard error>. The last table, of one arm and one copy, is
also given scipy's paired t test, and one line compares two samples by scipy's Welch test.
"""
import numpy as np
from scipy import stats

rng = np.random.default_rng(20181114)


def emit(name, *values):
    print(",".join([name] + ["" if v is None else repr(float(v)) for v in values]))


def case(copies, arms, blocks, missing):
    effects = np.concatenate([np.zeros(copies), rng.normal(0, 0.1, arms)])
    logs = 5 + rng.normal(0, 0.3, blocks)[:, None] + effects + rng.normal(0, 0.03, (blocks, copies + arms))
    values = np.exp(logs)
    emit("table", copies, arms)
    rows, y = [], []
    for b in range(blocks):
        emit("row", *[None if (b, c) in missing else values[b, c] for c in range(copies + arms)])
        for c in range(copies + arms):
            if (b, c) not in missing:
                x = np.zeros(blocks + arms)
                x[b] = 1
                if c >= copies:
                    x[blocks + c - copies] = 1
                rows.append(x)
                y.append(np.log(values[b, c]))
    x, y = np.array(rows), np.array(y)
    beta, _, rank, _ = np.linalg.lstsq(x, y, rcond=None)
    degrees = len(y) - rank
    variance = ((y - x @ beta) ** 2).sum() / degrees
    cov = np.linalg.pinv(x.T @ x)[blocks:, blocks:]
    d = np.sqrt(np.diag(cov))
    corr = (cov / np.outer(d, d))[np.tril_indices(arms, -1)]
    emit("fit", variance, degrees, corr.min() if arms > 1 else 0.5)
    for j in range(arms):
        emit("arm", beta[blocks + j], np.sqrt(variance * cov[j, j]))
    return values


case(2, 3, 5, set())
case(1, 3, 5, set())
case(2, 3, 7, {(0, 0), (1, 2), (2, 3), (2, 4), (5, 1), (6, 0), (6, 1)})
case(1, 4, 6, {(0, 1), (1, 1), (1, 2), (3, 0), (4, 4)})
values = case(1, 1, 6, set())
emit("paired", stats.ttest_rel(np.log(values[:, 1]), np.log(values[:, 0])).pvalue)
a, b = np.exp(rng.normal(2, 0.02, 6)), np.exp(rng.normal(2.02, 0.06, 4))
emit("before", *a)
emit("after", *b)
test = stats.ttest_ind(np.log(b), np.log(a), equal_var=False)
interval = test.confidence_interval(0.95)
emit("welch", test.pvalue, np.exp(interval.low), np.exp(interval.high))
