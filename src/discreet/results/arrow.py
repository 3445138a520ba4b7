"""Positive matrices whose blocks share a border alone, and solutions of their equations."""

from dataclasses import dataclass

import numpy as np

from discreet.types import Array


@dataclass(frozen=True, eq=False)
class Arrow:
    """A positive matrix: blocks (G, B, B), their borders with the corner (G, B, E), corner (E, E)."""

    blocks: Array
    border: Array
    corner: Array

    def damped(self, share: float) -> "ArrowFactor":
        """The factor of the matrix with its diagonal larger by this share."""
        more = 1.0 + 0.1 * share
        blocks = self.blocks.copy()
        places = np.arange(blocks.shape[1])
        blocks[:, places, places] *= more
        corner = self.corner.copy()
        corner[np.diag_indices(len(corner))] *= more
        return ArrowFactor.of(Arrow(blocks, self.border, corner))

    def variances(self) -> Array:
        """The diagonal of the inverse."""
        factor = ArrowFactor.of(self)
        corner = factor.corner.T @ factor.corner
        spread = factor.blocks.transpose(0, 2, 1) @ factor.border
        within = np.einsum("gkb,gkb->gb", factor.blocks, factor.blocks)
        across = ((spread @ corner) * spread).sum(axis=2)
        return np.concatenate([(within + across).ravel(), np.diag(corner)])


@dataclass(frozen=True, eq=False)
class ArrowFactor:
    """Inverse Cholesky factors of an arrow's blocks and corner, and L_g^-1 border_g."""

    blocks: Array
    border: Array
    corner: Array

    @classmethod
    def of(cls, arrow: Arrow) -> "ArrowFactor":
        """L L' is the arrow."""
        blocks = _inverse_cholesky(arrow.blocks)
        border = blocks @ arrow.border
        flat = border.reshape(-1, border.shape[2])
        schur = arrow.corner - flat.T @ flat
        corner = _inverse_cholesky(schur)
        return cls(blocks, border, corner)

    def _split(self, rows: Array) -> tuple[Array, Array]:
        groups, size, _ = self.blocks.shape
        own = rows[:, : groups * size].reshape(len(rows), groups, size)
        return own.transpose(1, 0, 2), rows[:, groups * size :]

    def _joined(self, own: Array, last: Array) -> Array:
        return np.concatenate([own.transpose(1, 0, 2).reshape(len(last), -1), last], axis=1)

    def whitened(self, rows: Array) -> Array:
        """L^-1 of every row (a gradient)."""
        own, last = self._split(rows)
        own = own @ self.blocks.transpose(0, 2, 1)
        last = (last - (own @ self.border).sum(axis=0)) @ self.corner.T
        return self._joined(own, last)

    def coloured(self, rows: Array) -> Array:
        """L^-T of every row (standard normal numbers)."""
        own, last = self._split(rows)
        last = last @ self.corner
        own = (own - last @ self.border.transpose(0, 2, 1)) @ self.blocks
        return self._joined(own, last)

    def solve(self, vector: Array) -> Array:
        """The inverse of the matrix times a vector."""
        return np.asarray(self.coloured(self.whitened(vector[None]))[0])


def _inverse_cholesky(matrices: Array) -> Array:
    """Inverse Cholesky factors; a diagonal that rounding made too small is raised, by as little as helps."""
    size = matrices.shape[-1]
    diagonal = np.einsum("...ii->...i", matrices)
    for more in (0.0, *(10.0 ** np.arange(-13, 0))):
        try:
            raised = (more * np.abs(diagonal))[..., None] * np.eye(size)
            factor = np.linalg.cholesky(matrices + raised)
            return np.asarray(np.linalg.inv(factor), dtype=np.float64)
        except np.linalg.LinAlgError:
            continue
    raise np.linalg.LinAlgError("no curvature is positive")
