"""Sobol' points: the cohort's random numbers, known to everybody.

Conventions
-----------
    x_i = shift + sum over the bits j of the Gray code of i of v_j, without carry (exclusive or)
    v_j   (width,) direction numbers, binary fractions as integers of BITS bits, most significant first
    scrambled: v_j <- L v_j mod 2, L lower triangular with ones on the diagonal (Matousek 1998)

The points are those of `scipy.stats.qmc.Sobol` bit for bit, and a test compares them: importing scipy.stats
takes longer than all that is computed after a release.

References: Joe and Kuo (2008), Constructing Sobol sequences with better two-dimensional projections
(the numbers of `TABLE`); Antonov and Saleev (1979) (the order of the Gray code).
"""

import numpy as np

from discreet.types import Array

BITS = 30
TABLE = """
3 1, 7 1 3, 11 1 3 1, 13 1 1 1, 19 1 1 3 3, 25 1 3 5 13, 37 1 1 5 5 17, 41 1 1 5 5 5, 47 1 1 7 11
19, 55 1 1 5 1 1, 59 1 1 1 3 11, 61 1 3 5 5 31, 67 1 3 3 9 7 49, 91 1 1 1 15 21 21, 97 1 3 1 13 27
49, 103 1 1 1 15 7 5, 109 1 3 1 15 13 25, 115 1 1 5 5 19 61, 131 1 3 7 11 23 15 103, 137 1 3 7 13 13
15 69, 143 1 1 3 13 7 35 63, 145 1 3 5 9 1 25 53, 157 1 3 1 13 9 35 107, 167 1 3 1 5 27 61 31, 171 1
1 5 11 19 41 61, 185 1 3 5 3 3 13 69, 191 1 1 7 13 1 19 1, 193 1 3 7 5 13 19 59, 203 1 1 3 9 25 29
41, 211 1 3 5 13 23 1 55, 213 1 3 7 3 13 59 17, 229 1 3 1 3 5 53 69, 239 1 1 5 5 23 33 13, 241 1 1 7
7 1 61 123, 247 1 1 7 9 13 61 49, 253 1 3 3 5 3 55 33, 285 1 3 1 15 31 13 49 245, 299 1 3 5 15 31 59
63 97, 301 1 3 1 11 11 11 77 249, 333 1 3 1 11 27 43 71 9, 351 1 1 7 15 21 11 81 45, 355 1 3 7 3 25
31 65 79, 357 1 3 1 1 19 11 3 205, 361 1 1 5 9 19 21 29 157, 369 1 3 7 11 1 33 89 185, 391 1 3 3 3
15 9 79 71, 397 1 3 7 11 15 39 119 27, 425 1 1 3 1 11 31 97 225, 451 1 1 1 3 23 43 57 177, 463 1 3 7
7 17 17 37 71, 487 1 3 1 5 27 63 123 213, 501 1 1 3 5 11 43 53 133, 529 1 3 5 5 29 17 47 173 479,
539 1 3 3 11 3 1 109 9 69, 545 1 1 1 5 17 39 23 5 343, 557 1 3 1 5 25 15 31 103 499, 563 1 1 1 11 11
17 63 105 183, 601 1 1 5 11 9 29 97 231 363, 607 1 1 5 15 19 45 41 7 383, 617 1 3 7 7 31 19 83 137
221, 623 1 1 1 3 23 15 111 223 83, 631 1 1 5 13 31 15 55 25 161, 637 1 1 3 13 25 47 39 87 257
"""
"""Of the second column and those after it: a primitive polynomial over two elements, as the bits of a
number, and the first direction numbers."""


def sobol_points(width: int, size: int, seed: int) -> Array:
    """The first points of a scrambled sequence, (size, width); `size` is a power of two."""
    columns = [[int(part) for part in row.split()] for row in TABLE.split(",")]
    if width > len(columns) + 1:
        from scipy.stats import qmc  # noqa: PLC0415 - half a second, and a larger table

        return np.asarray(qmc.Sobol(width, rng=seed).random(size))
    found = [_directions([], 0)] + [_directions(first, p) for p, *first in columns[: width - 1]]
    random = np.random.default_rng(np.random.SeedSequence(seed).spawn(1)[0])
    places = np.arange(BITS, dtype=np.uint32)
    shift = random.integers(2, size=(width, BITS), dtype=np.uint32) @ (1 << places)
    turn = np.tril(random.integers(2, size=(width, BITS, BITS), dtype=np.uint32), -1)
    turn += np.eye(BITS, dtype=np.uint32)
    bits = np.array(found, dtype=np.uint32)[:, None] >> places[::-1, None] & 1  # (width, BITS, j)
    directions = (1 << places[::-1]) @ (turn @ bits & 1)
    points = shift[None].astype(np.uint32)
    while len(points) < size:
        points = np.vstack([points, points[::-1] ^ directions[:, len(points).bit_length() - 1]])
    return points / 2.0**BITS


def _directions(first: list[int], polynomial: int) -> list[int]:
    """v_j of one column: the polynomial's recurrence from the first numbers on."""
    degree, found = len(first), first.copy() or [1] * BITS
    for j in range(len(found), BITS):
        new = found[j - degree] ^ found[j - degree] << degree
        for k in range(1, degree):
            if polynomial >> (degree - k) & 1:
                new ^= found[j - k] << k
        found.append(new)
    return [number << (BITS - 1 - j) for j, number in enumerate(found)]
