"""Posterior of hazards by group, given released counts with noise of a known law.

Symbols and shapes
    G groups, S kinds of exit (event causes, then censoring), K stretches, Z sequences: the S kinds
    of exit and, with late entry, the entries; Q shape functions; P parameters; c chains.
    y_g          released counts of group g: exits by kind and stretch, who stays to the end, and
                 with late entry who enters at the start and in each stretch; D numbers
    h_gsk        hazard of exit s in stretch k, per stretch; T_gk = sum_s h_gsk
    w_k          grid intervals in stretch k, over their mean
    N_g          people of the group who are ever at risk; n people in all, public
    E_g0, E_gk   expected entries at the start and in stretch k
    lambda_g     expected counts, in the order of y_g

Model
    log h_gsk = c_s + log w_k + sum_q (a_sq + A_gsq) b_q(t_k),   b = 1, centred log t, cos(pi j t) sqrt(2) / j
    a ~ N(0, POOLED^2), A ~ N(0, OWN^2), cosines times a roughness (pooled by s, own by g and s)
    N_g = n sigmoid(-m) softmax(u)_g,   m ~ N(ABSENT), softmax(u) ~ Dirichlet(1)
    X_k = R_k q(T_k) + E_k r(T_k),    lambda_sk = h_sk X_k      people-stretches, expected exits
    R_0 = E_0,    R_k+1 = R_k exp(-T_k) + E_k q(T_k)            at risk; E enters evenly in time
    q(T) = (1 - exp(-T)) / T,    r(T) = (1 - q(T)) / T
    y_g ~ N(lambda_g, C_g + noise),    C_g the covariance of the counts of N_g independent people

The roughnesses are set by expectation-maximisation, the mode by damped Gauss-Newton steps with C_g
at the mode, and draws by Hamiltonian Monte Carlo whose mass is the Hessian there. Weights of the log
of what is expected stand for the growth of C_g with it, to first order (`_set_lift`). That Hessian is an
arrow (a block for each group, a border that all share), so the work grows linearly with G.

References: Gelman et al. (2013), Bayesian Data Analysis, chapters 12 and 13; Neal (2011), MCMC
using Hamiltonian dynamics.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from discreet.results.arrow import Arrow, ArrowFactor
from discreet.types import Array

POOLED = (1.5, 1.0, 2.0)
"""Standard deviations of what all groups share: level, slope in log time, cosines."""
OWN = (1.0, 0.8, 2.0)
"""The same of a group's difference from it."""
CENTRE = 0.7
"""Cumulated hazard of events over the axis, and of censoring, where the prior is centred."""
ABSENT = (-6.0, 2.0)
"""Log odds of a person never to be at risk: median 0.2 %, at most 11 % in 39 of 40.

In most registries all are at risk, and then a prior for more makes every group too small."""
ROUGHNESS_WEIGHT = 3.0
"""Cosines that the prior's roughness of one counts as much as."""
COSINES = 20
CHAINS, WARM, KEEP, LEAPS = 80, 25, 15, 8
"""Hamiltonian Monte Carlo: 1,200 draws, 15 of each chain, after 25 that tune the step."""
ACCEPTED = 0.8
STEPS, ROUGH_STEPS = 60, 25
"""Of the mode, the most, and those in which the roughnesses and C are set."""
LARGEST_DAMPING = 1e4
"""Relative to the diagonal of the curvature: no shorter step is tried."""
SILENCE = 0.03
"""People: smaller noise is taken for this."""
SMALL = 1e-3
"""Below this series of q and r are exact to twelve digits."""


@dataclass(frozen=True, eq=False)
class Counts:
    """Released counts of all groups, noise included, unprojected.

    ``events`` has shape (groups, causes, stretches), ``censored`` (groups, stretches + 1): during
    each stretch, then in the last interval, as people are who are there to the end; ``entered``
    (groups, 1 + stretches): at the start, then during each stretch, or None where all people are
    there from the start. ``widths`` are the numbers of grid intervals in the stretches.
    """

    events: Array
    censored: Array
    entered: Array | None
    widths: Array


@dataclass(frozen=True, eq=False)
class Flow:
    """Expected people at c points.

    ``hazards`` (c, G, S, K), ``total`` T, ``exposed`` X and ``exposures`` (q, r, q', r') (c, G, K),
    ``at_risk`` R and ``entering`` E (c, G, K + 1), ``counts`` lambda (c, G, D), ``share``
    softmax(u) (c, G), ``present`` sigmoid(-m) (c,).
    """

    hazards: Array
    total: Array
    exposures: tuple[Array, ...]
    at_risk: Array
    entering: Array
    exposed: Array
    counts: Array
    share: Array
    present: Array


def vector_of(counts: Counts) -> Array:
    """y, shape (G, D)."""
    exits = np.concatenate([counts.events, counts.censored[:, None, :-1]], axis=1)
    parts = [exits.reshape(len(exits), -1), counts.censored[:, -1:]]
    return np.concatenate(parts if counts.entered is None else [*parts, counts.entered], axis=1)


def noise_of(counts: Counts, noise: Mapping[int, Array]) -> Array:
    """Covariance of the noise of y, shape (D, D), from that of sequences by their length."""
    _, causes, stretches = counts.events.shape
    found = np.zeros((vector_of(counts).shape[1],) * 2)
    for cause in range(causes):
        place = slice(cause * stretches, (cause + 1) * stretches)
        found[place, place] = noise[stretches]
    start = causes * stretches
    for first in range(start, len(found), stretches + 1):
        block = slice(first, first + stretches + 1)
        found[block, block] = noise[stretches + 1]
    return found


def shapes(stretches: int) -> Array:
    """b_q(t_k), shape (Q, K)."""
    time = (np.arange(stretches) + 0.5) / stretches
    slope = np.log(time) - np.mean(np.log(time))
    order = np.arange(1, min(COSINES, stretches - 1) + 1)[:, None]
    cosines = np.sqrt(2.0) * np.cos(np.pi * order * time) / order
    return np.vstack([np.ones(stretches), slope, cosines])


def exposures(total: Array) -> tuple[Array, ...]:
    """q(T), r(T) and their derivatives."""
    t = np.maximum(total, SMALL)
    less = -np.expm1(-t)
    q = less / t
    dq = (1.0 - less - q) / t
    r = (1.0 - q) / t
    dr = -(dq + r) / t
    low = total < SMALL
    if low.any():
        t = total[low]
        q[low], r[low] = 1.0 - t / 2.0 + t**2 / 6.0, 0.5 - t / 6.0 + t**2 / 24.0
        dq[low], dr[low] = -0.5 + t / 3.0 - t**2 / 8.0, -1.0 / 6.0 + t / 12.0
    return q, r, dq, dr


def _staying(total: Array) -> Array:
    """Share of those at risk at the start of stretch j who are so at that of k, (G, K + 1, K + 1)."""
    gone = np.concatenate([np.zeros((len(total), 1)), np.cumsum(total, axis=1)], axis=1)
    stay = np.exp(np.minimum(gone[:, None, :] - gone[:, :, None], 0.0))
    return np.asarray(stay * np.tri(stay.shape[1]))


class HazardModel:
    """Log density of the parameters, its gradient, and its curvature at a point.

    A point is a vector of P numbers: own parts (G, Z, Q), pooled parts (Z, Q), both in units of
    their prior's standard deviation, then u (G) and m.
    """

    def __init__(self, counts: Counts, noise: Mapping[int, Array], persons: int) -> None:
        groups, causes, stretches = counts.events.shape
        self.groups, self.kinds, self.stretches = groups, causes + 1, stretches
        self.late, self.persons = counts.entered is not None, float(persons)
        self.sequences = self.kinds + self.late
        self.released, self.noise = vector_of(counts), noise_of(counts, noise)
        self.basis = shapes(stretches)
        self.size = len(self.basis)
        self.own = groups * self.sequences * self.size
        self.shared = self.sequences * self.size
        self.dimension = self.own + self.shared + groups + 1
        centre = np.full(self.sequences, CENTRE / stretches)
        centre[:causes] /= causes
        if self.late:
            centre[-1] = 1.0 / stretches  # of those who enter at the start
        self.offset = np.log(centre)[:, None] + np.log(counts.widths / np.mean(counts.widths))
        smooth = self.size - 2
        pooled_scale = np.r_[POOLED[:2], np.full(smooth, POOLED[2])]
        self.pooled_scale = np.tile(pooled_scale, (self.sequences, 1))
        own_scale = np.r_[OWN[:2], np.full(smooth, OWN[2])]
        self.own_scale = np.tile(own_scale, (groups, self.sequences, 1))
        self.precision = np.zeros((groups, *self.noise.shape))
        self.lift = np.zeros_like(self.released)

    def parts(self, points: Array) -> tuple[Array, Array, Array, Array]:
        """Own parts, pooled parts, u and m of points (c, P)."""
        shape = (len(points), self.groups, self.sequences, self.size)
        own = points[:, : self.own].reshape(shape)
        pooled = points[:, self.own : self.own + self.shared].reshape(shape[0], 1, *shape[2:])
        return own, pooled, points[:, -self.groups - 1 : -1], points[:, -1]

    def flow(self, points: Array) -> Flow:
        """Expected people and counts at points (c, P)."""
        own, pooled, u, absent = self.parts(points)
        logs = (own * self.own_scale + pooled * self.pooled_scale) @ self.basis + self.offset
        rates = np.exp(np.clip(logs, -30.0, 4.0))
        hazards = rates[:, :, : self.kinds]
        total = hazards.sum(axis=2)
        share = np.exp(u - u.max(axis=1, keepdims=True))
        share = share / share.sum(axis=1, keepdims=True)
        present = 1.0 / (1.0 + np.exp(absent))
        people = self.persons * present[:, None] * share
        q, r, *further = exposures(total)
        decay = np.exp(-total)
        entering = np.zeros((*people.shape, self.stretches + 1))
        entering[..., 0] = people
        if self.late:
            late = rates[:, :, -1]
            odds = np.concatenate([np.ones_like(late[..., :1]), late], axis=-1)
            entering = people[..., None] * odds / odds.sum(axis=-1, keepdims=True)
        at_risk = np.empty_like(entering)
        at_risk[..., 0] = entering[..., 0]
        for k in range(self.stretches):
            at_risk[..., k + 1] = at_risk[..., k] * decay[..., k]
            if self.late:
                at_risk[..., k + 1] += entering[..., k + 1] * q[..., k]
        exposed = at_risk[..., :-1] * q + entering[..., 1:] * r
        exits = (hazards * exposed[:, :, None]).reshape(*people.shape, -1)
        parts = [exits, at_risk[..., -1:], *([entering] if self.late else [])]
        y, slopes = np.concatenate(parts, axis=-1), (q, r, *further)
        return Flow(hazards, total, slopes, at_risk, entering, exposed, y, share, present)

    def density(self, points: Array) -> tuple[Array, Array]:
        """Log density (c,) and gradient (c, P), up to a constant."""
        flow = self.flow(points)
        residual = self.released - flow.counts
        push = np.matmul(self.precision, residual.transpose(1, 2, 0)).transpose(2, 0, 1)
        counts = np.maximum(flow.counts, 1e-12)
        _, _, u, absent = self.parts(points)
        plain = points[:, : self.own + self.shared]
        middle, drift = u.mean(axis=1), (absent - ABSENT[0]) / ABSENT[1]
        value = (
            -0.5 * (residual * push).sum(axis=(1, 2))
            + (self.lift * np.log(counts)).sum(axis=(1, 2))
            - 0.5 * (plain**2).sum(axis=1)
            + np.log(np.maximum(flow.share, 1e-300)).sum(axis=1)
            - 0.5 * middle**2
            - 0.5 * drift**2
        )
        rates, people = self._pull(flow, push + self.lift / counts)
        direct = rates @ self.basis.T
        gradient = np.empty_like(points)
        gradient[:, : self.own] = (direct * self.own_scale).reshape(len(points), -1)
        shared = direct.sum(axis=1) * self.pooled_scale
        gradient[:, self.own : self.own + self.shared] = shared.reshape(len(points), -1)
        gradient[:, : self.own + self.shared] -= plain
        everyone = people.sum(axis=1)
        gradient[:, -self.groups - 1 : -1] = (
            people - flow.share * everyone[:, None] + 1.0 - self.groups * flow.share
        ) - (middle / self.groups)[:, None]
        gradient[:, -1] = -(1.0 - flow.present) * everyone - drift / ABSENT[1]
        return value, gradient

    def _pull(self, flow: Flow, push: Array) -> tuple[Array, Array]:
        """Derivatives by log rates (c, G, Z, K) and by log N (c, G) of a function of lambda.

        `push` is its derivative by lambda. The recursion for the people at risk is run backwards.
        """
        cells = self.kinds * self.stretches
        by_exit = push[..., :cells].reshape(*push.shape[:2], self.kinds, self.stretches)
        q, r, dq, dr = flow.exposures
        at_risk, entering = flow.at_risk[..., :-1], flow.entering[..., 1:]
        decay = np.exp(-flow.total)
        by_exposed = (by_exit * flow.hazards).sum(axis=2)
        by_risk = np.empty_like(flow.at_risk)
        by_risk[..., -1] = push[..., cells]
        for k in reversed(range(self.stretches)):
            by_risk[..., k] = by_exposed[..., k] * q[..., k] + by_risk[..., k + 1] * decay[..., k]
        later = by_risk[..., 1:]
        by_total = by_exposed * (at_risk * dq + entering * dr)
        by_total += later * (entering * dq - at_risk * decay)
        by_rates = flow.hazards * (by_exit * flow.exposed[:, :, None] + by_total[:, :, None])
        if not self.late:
            return by_rates, flow.entering[..., 0] * by_risk[..., 0]
        by_entry = push[..., cells + 1 :].copy()
        by_entry[..., 0] += by_risk[..., 0]
        by_entry[..., 1:] += by_exposed * r + later * q
        gained = flow.entering * by_entry
        people = gained.sum(axis=-1)
        odds = flow.entering / np.maximum(flow.entering.sum(axis=-1, keepdims=True), 1e-300)
        by_odds = (gained - odds * people[..., None])[..., 1:]
        return np.concatenate([by_rates, by_odds[:, :, None]], axis=2), people

    def jacobian(self, flow: Flow) -> Array:
        """d lambda / d (log rates on the basis), shape (G, D, Z, Q), at the flow of one point."""
        hazards, total = flow.hazards[0], flow.total[0]
        at_risk, entering = flow.at_risk[0, :, :-1], flow.entering[0, :, 1:]
        q, r, dq, dr = (item[0] for item in flow.exposures)
        decay, number = np.exp(-total), self.stretches
        stay = _staying(total)
        risk = stay[:, :, 1:] * (entering * dq - at_risk * decay)[:, None]  # d R_k / d T_j
        exposed = risk[:, :-1] * q[:, :, None]
        places = np.arange(number)
        exposed[:, places, places] += at_risk * dq + entering * dr
        found = np.zeros((self.groups, self.released.shape[1], self.sequences, self.size))
        cells = self.kinds * number
        exits = found[:, :cells].reshape(self.groups, self.kinds, number, self.sequences, self.size)
        for kind in range(self.kinds):
            moved = hazards[:, kind, :, None] * self.basis.T
            exits[:, :, :, kind] = hazards[..., None] * (exposed @ moved)[:, None]
            own = hazards[:, kind] * flow.exposed[0]
            exits[:, kind, :, kind] += own[..., None] * self.basis.T
            found[:, cells, kind] = (risk[:, -1:] @ moved)[:, 0]
        if self.late:
            everyone = flow.entering[0]
            share = everyone / np.maximum(everyone.sum(axis=1, keepdims=True), 1e-300)
            entries = -everyone[:, :, None] * (share[:, None, 1:] @ self.basis.T)
            entries[:, 1:] += everyone[:, 1:, None] * self.basis.T
            there = stay[:, :, 1:] * q[:, None]
            there = stay[:, :, :1] * entries[:, :1] + there @ entries[:, 1:]
            inside = q[:, :, None] * there[:, :-1] + r[:, :, None] * entries[:, 1:]
            exits[:, :, :, -1] = hazards[..., None] * inside[:, None]
            found[:, cells, -1] = there[:, -1]
            found[:, cells + 1 :, -1] = entries
        return found

    def covariance(self, flow: Flow) -> Array:
        """C, shape (G, D, D): every person leaves once, and enters once, at the flow of one point."""
        counts = flow.counts[0]
        people = np.maximum(flow.entering[0].sum(axis=1), 1e-9)
        found: Array = -counts[:, :, None] * counts[:, None, :] / people[:, None, None]
        places = np.arange(counts.shape[1])
        found[:, places, places] += counts
        if self.late:
            total = flow.total[0]
            q, r = flow.exposures[0][0], flow.exposures[1][0]
            cells, number = self.kinds * self.stretches, self.stretches
            stay = _staying(total)
            # at risk at the start of row k of those who entered at place j
            there = np.concatenate([stay[:, :, :1], stay[:, :, 1:] * q[:, None]], axis=2)
            inside = q[:, :, None] * there[:, :-1]
            inside[:, np.arange(number), np.arange(1, number + 1)] += r
            both = (flow.hazards[0][..., None] * inside[:, None]).reshape(self.groups, cells, -1)
            both = np.concatenate([both, there[:, -1:]], axis=1) * flow.entering[0][:, None]
            found[:, : cells + 1, cells + 1 :] += both
            found[:, cells + 1 :, : cells + 1] += both.transpose(0, 2, 1)
        return found

    def set_precision(self, flow: Flow) -> None:
        """(C + noise)^-1 at the flow of one point."""
        whole = self.covariance(flow) + self.noise
        people = flow.entering[0].sum(axis=1)
        # noise far below a person, or below one in a million, would be lost in rounding
        floor = SILENCE**2 + (1e-6 * people) ** 2
        whole += floor[:, None, None] * np.eye(len(self.noise))
        self.precision = np.asarray(np.linalg.inv(whole))

    def _set_lift(self, flow: Flow, factor: ArrowFactor) -> None:
        """Weights t of log lambda: what C that grows with lambda adds to the mean of the posterior.

        t_d = lambda_d (M J V J' M)_dd with M = (C + noise)^-1, J = d lambda / d parameters of the
        hazards and V their covariance. With C held fixed every hazard parameter that the counts
        determine would make the hazards lower, by about an event each.
        """
        weighted = self.precision @ self.jacobian(flow).reshape(self.groups, -1, self.shared)
        own = weighted * self.own_scale.reshape(self.groups, 1, -1)
        own = own @ factor.blocks.transpose(0, 2, 1)
        last = -own @ factor.border
        last[..., : self.shared] += weighted * self.pooled_scale.ravel()
        last = last @ factor.corner.T
        self.lift = flow.counts[0] * ((own**2).sum(axis=2) + (last**2).sum(axis=2))

    def curvature(self, flow: Flow) -> Arrow:
        """The Hessian of minus the log density, without second derivatives of lambda."""
        groups, size = self.groups, self.shared
        jacobian = self.jacobian(flow).reshape(groups, -1, size)
        counts, share, present = flow.counts[0], flow.share[0], flow.present[0]
        weighted = self.precision @ jacobian
        middle = jacobian.transpose(0, 2, 1) @ weighted
        own, pooled = self.own_scale.reshape(groups, size), self.pooled_scale.ravel()
        turns = np.hstack([np.eye(groups) - share, np.full((groups, 1), present - 1.0)])
        lean = np.einsum("gd,gdp->gp", counts, weighted)
        weight = (counts * (self.precision @ counts[..., None])[..., 0]).sum(axis=1)
        blocks = own[:, :, None] * middle * own[:, None, :] + np.eye(size)
        bent = own[:, :, None] * lean[:, :, None] * turns[:, None, :]
        border = np.concatenate([own[:, :, None] * middle * pooled, bent], axis=2)
        corner = np.zeros((size + groups + 1,) * 2)
        corner[:size, :size] = pooled[:, None] * middle.sum(axis=0) * pooled + np.eye(size)
        corner[:size, size:] = pooled[:, None] * np.einsum("gp,gk->pk", lean, turns)
        corner[size:, :size] = corner[:size, size:].T
        corner[size:, size:] = np.einsum("g,gk,gl->kl", weight, turns, turns)
        dirichlet = groups * (np.diag(share) - np.outer(share, share)) + 1.0 / groups**2
        corner[size:-1, size:-1] += dirichlet + 1e-6 * np.eye(groups)
        corner[-1, -1] += ABSENT[1] ** -2
        return Arrow(blocks, border, corner)

    def start(self) -> Array:
        """A point with the released sizes, as far as they can be sizes."""
        exits = self.kinds * self.stretches + 1
        sizes = np.log(np.maximum(self.released[:, :exits].sum(axis=1), 3e-3 * self.persons + 5.0))
        point = np.zeros(self.dimension)
        point[-self.groups - 1 : -1] = sizes - sizes.mean()
        point[-1] = ABSENT[0]
        return point

    def mode(self) -> tuple[Array, Arrow]:
        """The point of the largest density, with roughnesses set on the way, and its curvature."""
        point, damping = self.start(), 1.0
        self.set_precision(self.flow(point[None]))
        for step in range(STEPS):
            flow = self.flow(point[None])
            if step < ROUGH_STEPS:
                self.set_precision(flow)
            arrow = self.curvature(flow)
            if 3 <= step < ROUGH_STEPS:
                point = self._roughen(point, arrow)
                arrow = self.curvature(flow)
            if step == ROUGH_STEPS:
                self._set_lift(flow, ArrowFactor.of(arrow))
            value, gradient = self.density(point[None])
            rounding = 1e-9 * (1.0 + abs(value[0]))
            while True:
                moved = point + arrow.damped(damping).solve(gradient[0])
                gain = self.density(moved[None])[0][0] - value[0]
                if gain >= -rounding or damping > LARGEST_DAMPING:
                    break
                damping = max(10.0 * damping, 1e-3)
            point = moved if gain >= -rounding else point
            damping = damping / 10.0 if damping > 1e-6 else 0.0
            if step > ROUGH_STEPS and abs(gain) < max(1e-4, rounding):
                break
        return point, self.curvature(self.flow(point[None]))

    def _roughen(self, point: Array, arrow: Arrow) -> Array:
        """One step of expectation-maximisation of the roughnesses; the rates stay as they are."""
        second = point**2 + arrow.variances()
        own, pooled, _, _ = self.parts(second[None])
        here, shared, _, _ = self.parts(point[None].copy())
        number = self.size - 2
        if not number:
            return point
        for scale, prior, squares, values in (
            (self.own_scale, OWN[2], own[0], here[0]),
            (self.pooled_scale, POOLED[2], pooled[0, 0], shared[0, 0]),
        ):
            old = scale[..., 2] / prior
            total = old**2 * squares[..., 2:].sum(axis=-1)
            new = np.sqrt((ROUGHNESS_WEIGHT + total) / (ROUGHNESS_WEIGHT + number))
            scale[..., 2:] = prior * new[..., None]
            values[..., 2:] *= (old / new)[..., None]
        moved = point.copy()
        moved[: self.own] = here.ravel()
        moved[self.own : self.own + self.shared] = shared.ravel()
        return moved


def draw_points(model: HazardModel, generator: Generator) -> Array:
    """Draws of the posterior, shape (CHAINS KEEP, P)."""
    mode, curvature = model.mode()
    factor = ArrowFactor.of(curvature)

    def density(place: Array) -> tuple[Array, Array]:
        value, gradient = model.density(mode + factor.coloured(place))
        steep = np.clip(factor.whitened(gradient), -50.0, 50.0)
        return np.nan_to_num(value, nan=-np.inf), np.nan_to_num(steep)

    place = 0.8 * generator.standard_normal((CHAINS, model.dimension))
    value, gradient = density(place)
    step, kept = 0.35, []
    for turn in range(WARM + KEEP):
        momentum = generator.standard_normal(place.shape)
        length = step * generator.uniform(0.7, 1.1, (CHAINS, 1))
        start = value - 0.5 * (momentum**2).sum(axis=1)
        there, slope = place, gradient
        for _ in range(int(generator.integers(LEAPS // 2, LEAPS + 1))):
            momentum = momentum + 0.5 * length * slope
            there = there + length * momentum
            height, slope = density(there)
            momentum = momentum + 0.5 * length * slope
        change = height - 0.5 * (momentum**2).sum(axis=1) - start
        accept = np.exp(np.minimum(np.nan_to_num(change, nan=-np.inf), 0.0))
        taken = generator.uniform(size=CHAINS) < accept
        place = np.where(taken[:, None], there, place)
        gradient = np.where(taken[:, None], slope, gradient)
        value = np.where(taken, height, value)
        if turn < WARM:
            step *= float(np.exp(0.5 * (np.mean(accept) - ACCEPTED)))
        else:
            kept.append(mode + factor.coloured(place))
    return np.concatenate(kept)


def needed_scales(model: HazardModel, point: Array, readable: float) -> Array:
    """How many times as many people, or as little noise, would show half of each group's curve.

    Shape (G, 2). Half the height of the band at the middle of the axis is taken from the curvature
    with counts that many times as large, or with noise that many times as small, where the group
    has the hazards that all groups share: nothing better is known of one that noise hides.
    """
    number, size = model.stretches, model.shared
    flow = model.flow(np.where(np.arange(model.dimension) < model.own, 0.0, point)[None])
    place = max(number // 2, 1)
    jacobian = model.jacobian(flow).reshape(model.groups, -1, size)
    scale = model.own_scale.reshape(model.groups, size)
    jacobian = np.concatenate([jacobian * scale[:, None], flow.counts[0][..., None]], axis=2)
    prior = np.diag(np.append(np.ones(size), 0.01))
    events = flow.hazards[0, :, :-1, :place]
    risk = events.sum(axis=(1, 2))
    lean = np.zeros((model.groups, model.sequences, model.size))
    lean[:, : model.kinds - 1] = events @ model.basis[:, :place].T / risk[:, None, None]
    lean = np.append(lean.reshape(model.groups, size) * scale, np.zeros((model.groups, 1)), axis=1)
    covariance = model.covariance(flow)
    found = np.full((model.groups, 2), np.inf)
    for factor in 2.0 ** np.arange(0.5, 8.0, 0.5):
        for column, (people, quiet) in enumerate(((factor, 1.0), (1.0, factor))):
            spread = people * covariance + model.noise / quiet**2
            weighted = np.linalg.solve(spread, people * jacobian)
            hessian = people * jacobian.transpose(0, 2, 1) @ weighted + prior
            solved = np.linalg.solve(hessian, lean[..., None])[..., 0]
            variance = np.einsum("gp,gp->g", lean, solved)
            away = np.exp(1.96 * np.sqrt(variance))
            half = (np.exp(-risk / away) - np.exp(-risk * away)) / 2.0
            enough = np.where(half <= readable, factor, np.inf)
            found[:, column] = np.minimum(found[:, column], enough)
        if np.isfinite(found).all():
            break
    return found
