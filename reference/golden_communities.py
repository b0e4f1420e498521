"""Writes tests/golden/communities: vectors and sentence-transformers' communities of them at some thresholds.

    python reference/golden_communities.py tests/golden/communities

needs sentence-transformers (6.2 was used). expected-THRESHOLD-SIZE.tsv has a line a member: the community and the row, both from 1.
"""

import os
import sys

import numpy as np
from sentence_transformers.util import community_detection


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    random = np.random.default_rng(7)
    # Clouds of different sizes and widths around 12 centers, and scattered rows; no two cosines are equal.
    parts = [random.standard_normal((60, 16))]
    for i in range(12):
        center = random.standard_normal(16)
        parts.append(center + random.standard_normal((3 + 5 * i, 16)) * (0.15 + 0.07 * (i % 5)))
    vectors = np.concatenate(parts).astype(np.float32)
    vectors = vectors[random.permutation(len(vectors))]
    np.save(os.path.join(folder, "vectors.npy"), vectors)
    for threshold, size in (("0.8", 3), ("0.5", 10), ("0.95", 2), ("0.3", 40)):
        found = community_detection(vectors, threshold=float(threshold), min_community_size=size)
        with open(os.path.join(folder, f"expected-{threshold}-{size}.tsv"), "w") as out:
            for i, community in enumerate(found):
                for row in community:
                    out.write(f"{i + 1}\t{row + 1}\n")


main()
