#!/usr/bin/env python3
"""Writes distributions.csv: what the distribution functions must return.

Made with scipy 1.16.3 and numpy 2.4.6 on Python 3.11:
    pip install scipy==1.16.3 numpy==2.4.6
    python3 distributions.py > distributions.csv
Dunnett's probability is integrated adaptively here (QUADPACK) and by a fixed rule in the crate; the published
tables (Dunnett 1964: k = 2, 5 degrees: 3.03; k = 3, 12 degrees: 2.68; k = 3, infinity: 2.35) agree.
"""
import numpy as np
from scipy import integrate, optimize, special, stats


def row(name, *numbers):
    print(",".join([name] + [repr(float(n)) for n in numbers]))


def dunnett_cdf(c, k, nu, rho):
    a, b = np.sqrt(rho), np.sqrt(1 - rho)

    def inner(s):
        f = lambda z: (special.ndtr((c * s + a * z) / b) - special.ndtr((a * z - c * s) / b)) ** k \
            * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
        return integrate.quad(f, -9, 9, epsabs=1e-12, epsrel=1e-11, limit=200)[0]
    if np.isinf(nu):
        return inner(1.0)
    chi = stats.chi(nu, scale=1 / np.sqrt(nu))
    top = chi.isf(1e-15)
    return integrate.quad(lambda s: inner(s) * chi.pdf(s), 0, top, epsabs=1e-11, epsrel=1e-10, limit=200,
                          points=[chi.ppf(0.01), 1.0, chi.ppf(0.99)])[0]


print("# function,arguments...,value (scipy 1.16.3)")
for x in [-9, -6, -3, -1, -0.3, 0, 0.2, 0.4687, 0.469, 1, 2, 3.99, 4.01, 6, 10, 20]:
    row("erfc", x, special.erfc(x))
    row("normal_cdf", x, special.ndtr(x))
for p in [1e-300, 1e-20, 1e-8, 0.001, 0.025, 0.074, 0.076, 0.3, 0.5, 0.6, 0.9, 0.975, 0.9999, 1 - 1e-10]:
    row("normal_quantile", p, special.ndtri(p))
for x in [0.1, 0.5, 1, 1.5, 2, 3.7, 10, 100.5, 5000]:
    row("ln_gamma", x, special.gammaln(x))
for a, b in [(0.5, 0.5), (1, 3), (2.5, 0.5), (8.5, 0.5), (50, 40), (500, 0.5)]:
    for x in [0.001, 0.1, 0.5, 0.77, 0.95, 0.9999]:
        row("incomplete_beta", a, b, x, special.betainc(a, b, x))
for nu in [1, 2, 3, 4, 7.3, 12, 17, 100, 5000]:
    for t in [-40, -3.2, -1, -0.01, 0.5, 2, 4.5]:
        row("student_cdf", t, nu, stats.t.cdf(t, nu))
    for p in [1e-9, 0.001, 0.05, 0.4, 0.5, 0.9, 0.975, 0.99917]:
        row("student_quantile", p, nu, stats.t.ppf(p, nu))
for d1, d2 in [(2, 2), (4, 4), (4, 9), (14, 14), (14, 3.5)]:
    for p in [0.01, 0.5, 0.95, 0.9917]:
        row("f_quantile", p, d1, d2, stats.f.ppf(p, d1, d2))
        row("f_cdf", 2 * p, d1, d2, stats.f.cdf(2 * p, d1, d2))
for k, nu, rho in [(1, 4, 0.5), (2, 2, 0.5), (2, 5, 0.5), (3, 12, 0.5), (3, 17, 1 / 3), (3, 17, 0.2), (5, 30, 0.5),
                   (8, 60, 1 / 3), (4, 8, 0.8), (3, np.inf, 0.5), (2, 1, 0.5), (12, 200, 0.0)]:
    for c in [1.0, 2.5, 4.0]:
        row("dunnett", c, k, nu, rho, dunnett_cdf(c, k, nu, rho))
    for alpha in [0.05, 0.05 / 6]:
        critical = optimize.brentq(lambda c: dunnett_cdf(c, k, nu, rho) - (1 - alpha), 1, 300, xtol=1e-9, rtol=1e-10)
        row("dunnett_critical", alpha, k, nu, rho, critical)
for c, nu, shift in [(2, 4, 0), (2.6, 17, 3.9), (3.4, 12, 4.5), (4, 2, 6), (3, 40, 1)]:
    row("power", c, nu, shift, stats.nct.sf(c, nu, shift) + stats.nct.cdf(-c, nu, shift))
