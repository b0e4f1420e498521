"""Writes tests/golden/significance/: p-values that src/lab/measures/significance.c must reproduce.

    python reference/golden_significance.py tests/golden/significance

needs numpy, scipy, statsmodels and mpmath (made with scipy 1.17 and statsmodels 0.15). Files, numbers separated by blanks:

    pairs.txt     NAME N; the N values of a; those of b; EXACT (1 or 0: Wilcoxon's distribution), the p-values of Wilcoxon, t and,
                  for 1 to 16 differences that are not 0, every way to put signs to them, else nan
    student.txt   T DEGREES P(|T| >= T), from 50 digits
    holm.txt      M; M p-values; those corrected
"""

import os
import sys

import mpmath
import numpy as np
import scipy.stats
from statsmodels.stats.multitest import multipletests


def p_values(a, b):
    d = b - a
    used = d[d != 0]
    exact = len(used) <= 50 and len(np.unique(abs(used))) == len(used)
    wilcoxon = scipy.stats.wilcoxon(used, correction=True, zero_method="wilcox", method="exact" if exact else "asymptotic").pvalue
    signs = np.nan
    if len(used) <= 16:
        # In units of 1/1024 the sums are exact, so that those that tie do.
        signs = scipy.stats.permutation_test((np.round(used * 1024),), lambda x, axis: x.sum(axis=axis), permutation_type="samples",
                                             vectorized=True, n_resamples=np.inf).pvalue if len(used) > 1 else 1.0
    return int(exact), wilcoxon, scipy.stats.ttest_rel(b, a).pvalue, signs


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    rng = np.random.default_rng(23)

    def row(values):
        return " ".join(repr(float(v)) for v in values)

    with open(os.path.join(folder, "pairs.txt"), "w", encoding="utf8") as out:
        kinds = (("plain", 1024, (2, 3, 6, 10, 16, 33, 50)), ("large", 2**40, (51, 120)), ("ties", 8, (4, 9, 15, 40, 70)))
        for name, units, sizes in kinds:
            for n in sizes:
                for shift in (0, 0.12):  # without and with an effect; of "ties" many differences are 0, too
                    a = np.round(rng.uniform(0, 0.7, n) * units) / units
                    b = np.round((a + rng.normal(shift, 0.15, n)) * units) / units
                    if name != "ties":  # all different in size
                        while len(np.unique(abs(b - a)[b != a])) < n:
                            b = np.round((a + rng.normal(shift, 0.15, n)) * units) / units
                    exact, *ps = p_values(a, b)
                    out.write(f"{name} {n}\n{row(a)}\n{row(b)}\n{exact} {row(ps)}\n")

    mpmath.mp.dps = 50
    with open(os.path.join(folder, "student.txt"), "w", encoding="utf8") as out:
        for degrees in (0.5, 1, 2, 3, 7, 24, 49.5, 127, 128, 999, 100000, 1000000):
            for t in (1e-9, 0.1, 0.9, 1.5, 1.8, 2.3, 4, 12.5, 37):
                x = mpmath.mpf(degrees) / (degrees + mpmath.mpf(t) ** 2)
                p = mpmath.betainc(mpmath.mpf(degrees) / 2, 0.5, 0, x, regularized=True)
                if p > 1e-290:
                    out.write(f"{t!r} {degrees!r} {mpmath.nstr(p, 20)}\n")

    with open(os.path.join(folder, "holm.txt"), "w", encoding="utf8") as out:
        for m in (1, 2, 5, 12):
            p = np.round(rng.uniform(0, 1, m) ** 6, 4)
            p[-1] = p[0]
            out.write(f"{m}\n{row(p)}\n{row(multipletests(p, method='holm')[1])}\n")


main()
