"""Clusters vectors by cosine, with numpy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.domain.retrieval.query import Vector


def cluster(vectors: Sequence[Vector], least: float) -> list[int]:
    """Return the number of each vector's cluster, from 0 in order of their first vectors.

    Each vector, in order, joins the cluster whose mean is nearest if their cosine is `least` or
    more, else it begins one (leader clustering; Hartigan 1975, chapter 3). O(vectors x clusters).
    """
    if not vectors:
        return []
    matrix = np.array(vectors, dtype=np.float32)
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    matrix /= np.where(lengths > 0, lengths, 1)
    sums = np.zeros_like(matrix)
    means = np.zeros_like(matrix)
    found: list[int] = []
    count = 0
    for vector in matrix:
        cosines = means[:count] @ vector
        number = int(cosines.argmax()) if count else 0
        if not count or cosines[number] < least:
            number, count = count, count + 1
        sums[number] += vector
        means[number] = sums[number] / (np.linalg.norm(sums[number]) or 1)
        found.append(number)
    return found
