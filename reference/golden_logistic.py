"""Writes tests/golden/eval/logistic-*.npy: logistic regressions that src/eval/logistic.c must reproduce.

    python reference/golden_logistic.py tests/golden

needs numpy and scikit-learn (made with 1.9). Files:

    logistic-vectors.npy    f32 [90, 7]: three classes that overlap, columns of different size
    logistic-classes.npy    u32 [90]
    logistic-weights.npy    f64 [3, 3, 8]: for C of 0.1, 1 and 30, each class's coefficients and intercept
"""

import os
import sys

import numpy as np
from sklearn.linear_model import LogisticRegression

directory = os.path.join(sys.argv[1], "eval")
random = np.random.default_rng(7)
classes = (np.arange(90) * 7 % 10 // 4).astype(np.uint32)  # 0 to 2, the last one rare
centers = random.normal(size=(3, 7))
vectors = (centers[classes] + random.normal(size=(90, 7)) * 1.5) * [1, 1, 0.1, 3, 1, 0.5, 1] + [0, 2, 0, 0, -1, 0, 0]
vectors = vectors.astype(np.float32)
weights = []
for c in (0.1, 1, 30):
    model = LogisticRegression(C=c, tol=1e-10, max_iter=100000).fit(vectors.astype(np.float64), classes)
    weights.append(np.concatenate([model.coef_, model.intercept_[:, None]], axis=1))
np.save(os.path.join(directory, "logistic-vectors.npy"), vectors)
np.save(os.path.join(directory, "logistic-classes.npy"), classes)
np.save(os.path.join(directory, "logistic-weights.npy"), np.array(weights))
