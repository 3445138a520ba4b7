"""Predict the error of a private fit before any data is touched.

From public facts alone: a synthetic cohort (numbers uniform on their ranges and levels equally likely,
unless their sd and shares are known), no person censored before the horizon, the constant hazard h with
n (1 - (1 - h)^q) = events, and the expected information H there. Every mechanism's noise is then set
against H:

    err = sqrt(E (f - f*)' H (f - f*) / d),   f* the maximum likelihood estimate,

so 1 is the sampling error of the fit without privacy. Private Newton predicts its standard errors with
the code that states them in a release, from a picture made of the same facts
(`mechanisms.newton.sequence.foreseen`). A prediction is a guess of accuracy; privacy never rests on it.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import brentq

from discreet.base import as_schema
from discreet.design.baseline import parse_baseline
from discreet.design.link import DEFAULT_LINK, get_link
from discreet.design.schema import Schema
from discreet.errors import SettingsError
from discreet.mechanisms.contract import (
    Plan,
    registered,
    require_few_coefficients,
    require_positive,
    require_proof,
)
from discreet.mechanisms.newton.duration import expected_time
from discreet.mechanisms.outlook import UNKNOWN_SPREAD, CovariateSpread, Outlook
from discreet.privacy.guarantee import Guarantee, require_small_delta
from discreet.privacy.shares import ALONE, NoiseShares
from discreet.results.normal import normal_quantile
from discreet.results.tables import WIDTH, ByCause, TextTable
from discreet.text import in_blocks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PROOFS = {
    "proved": "proved",
    "conditional": "conditional",
    "ideal-draw-only": "for an ideal draw only",
    "unproved": "without a proof",
}
NOT_ACROSS_SITES = "not offered across sites"
NOT_FOR_CAUSES = "not offered for competing risks"
FEW_EVENTS = 10.0
"""Events per coefficient below which a cause is called rare (Peduzzi 1996)."""
BEARABLE = 1.5
"""Intervals up to this many times as wide as without privacy are worth publishing."""
DEFAULT = "newton"
EPSILONS, CLOSE = (1e-3, 100.0), 0.01
"""Where an epsilon is looked for, and how near to it, on the scale of logarithms."""
NO_PREDICTION = "no prediction for this mechanism"


@dataclass(frozen=True)
class Forecast:
    """One mechanism: its guarantee, err and standard errors, or why there are none."""

    mechanism: str
    guarantee: Guarantee | None = None
    error: float | None = None
    note: str = ""
    standard_errors: tuple[float, ...] = ()

    @property
    def promise(self) -> str:
        """The guarantee in a few words."""
        if self.guarantee is None:
            return "-"
        proof = PROOFS[self.guarantee.status]
        return f"epsilon = {self.guarantee.epsilon:g}, delta = {self.guarantee.delta:.2g}; {proof}"


def outlook_for(
    schema: Schema,
    persons: int,
    events: int,
    link: str = DEFAULT_LINK,
    baseline: str = "natural-spline:3",
    sites: NoiseShares = ALONE,
    known: CovariateSpread = UNKNOWN_SPREAD,
) -> Outlook:
    """The outlook with names read; every error a user can fix comes from here."""
    schema.require_bounds()
    require_few_coefficients(schema)
    form = parse_baseline(baseline)
    return Outlook(schema, persons, events, get_link(link), form, sites, known)


def forecasts(outlook: Outlook, epsilon: float, delta: float | None = None) -> list[Forecast]:
    """Every registered mechanism, the most accurate first."""
    require_positive("epsilon", epsilon)
    if delta is not None and not 0 <= delta < 1:
        raise SettingsError("delta must be at least 0 and below 1")
    require_small_delta(delta or 0.0, outlook.persons)  # no release has a larger one
    given = {"epsilon": epsilon, "delta": delta, "survival": outlook.survival}
    found = [_forecast(outlook, name, kind, given) for name, kind in registered().items()]
    return sorted(found, key=lambda item: math.inf if item.error is None else item.error)


@dataclass(frozen=True, repr=False)
class Comparison(TextTable):
    """Forecasts of every mechanism at each of several epsilons, the most accurate first."""

    outlook: Outlook
    found: Mapping[float, list[Forecast]]
    heading: tuple[str, ...] = ()

    def best(self, epsilon: float) -> Forecast:
        """The most accurate mechanism whose promise is proved."""
        able = (item for item in self.found[epsilon] if item.error is not None)
        proved = [item for item in able if item.guarantee and item.guarantee.status == "proved"]
        if not proved:
            raise SettingsError("no mechanism can be used with these settings.")
        return proved[0]

    def widening(self, epsilon: float) -> float:
        """Median over coefficients of the width of intervals over that without privacy."""
        best = self.best(epsilon)
        if not best.standard_errors:  # nothing but a baseline
            return math.hypot(1.0, best.error or 0.0)
        ours = np.array(best.standard_errors)
        return float(np.median(ours / np.array(self.outlook.sampling_errors)))

    def columns(self) -> dict[str, tuple[float, ...]]:
        """Predicted standard errors, without privacy and at each epsilon."""
        private = {f"epsilon {e:g}": self.best(e).standard_errors for e in self.found}
        return {"not private": self.outlook.sampling_errors, **private}

    def recommendation(self) -> str:
        """A recommendation in words."""
        widths = {epsilon: self.widening(epsilon) for epsilon in sorted(self.found)}
        cheap = [epsilon for epsilon, width in widths.items() if width <= BEARABLE]
        chosen = cheap[0] if cheap else max(widths)
        best = self.best(chosen)
        how = f"about {widths[chosen]:.2g} times as wide as without privacy"
        said = f"At epsilon {chosen:g} intervals are {how} ({best.mechanism})."
        if best.mechanism != DEFAULT:
            said += f" Use --mechanism {best.mechanism}: it is more accurate here than {DEFAULT}."
        if not cheap:
            said += (
                " Privacy costs much here: take a larger epsilon, more people, fewer coefficients or a "
                "coarser baseline."
            )
        return said

    @property
    def row_names(self) -> tuple[str, ...]:
        """The coefficients."""
        return tuple(self.outlook.schema.coefficient_names)

    def plot(self) -> "Figure":
        """Standard errors against epsilon, one line per coefficient, as a matplotlib figure."""
        from discreet.plots import errors_by_epsilon  # noqa: PLC0415 - matplotlib is slow to load

        epsilons = sorted(self.found)
        table = np.array([self.best(epsilon).standard_errors for epsilon in epsilons])
        ratios = table / np.array(self.outlook.sampling_errors)
        return errors_by_epsilon(epsilons, ratios, self.outlook.schema.coefficient_names)

    @property
    def tables(self) -> Mapping[str, "Comparison"]:
        """The table of each cause; of one event it is this table."""
        return {"": self}

    def duration(self) -> str:
        """How many coefficients there are, and how long a private fit takes."""
        outlook, design = self.outlook, self.outlook.design
        each = " for each cause" if outlook.others else ""
        return (
            f"The model has {design.dimension:,} coefficients{each}, the baseline's included. "
            f"{expected_time(outlook.schema, outlook.persons, design.time_dimension)}"
        )

    @property
    def footer(self) -> tuple[str, ...]:  # type: ignore[override]  # a property here
        """The recommendation, and how long a fit takes; of several causes that is said once."""
        said = self.recommendation()
        return (said,) if self.outlook.others else (said, self.duration())

    def rows(self) -> list[tuple[str, ...]]:
        """Predicted standard errors by epsilon, the heading first."""
        found, columns = self.found, self.columns().values()
        titles = self.outlook.schema.coefficient_titles
        return [
            ("epsilon", "not private", *(f"{epsilon:g}" for epsilon in found)),
            *(
                (title, *(f"{value:.3g}" for value in values))
                for title, *values in zip(titles, *columns, strict=True)
            ),
            ("times as wide", "1", *(f"{self.widening(epsilon):.2f}" for epsilon in found)),
            ("mechanism", "", *(self.best(epsilon).mechanism for epsilon in found)),
        ]

    def blocks(self, width: int) -> Iterator[str]:
        """The table as text; epsilons that do not fit are below."""
        yield in_blocks(self.rows(), width)

    def table(self, width: int = WIDTH) -> str:
        """The table alone as text."""
        return "".join(self.blocks(width))


class CausesComparison(ByCause[Comparison]):
    """A comparison for every cause of competing risks: one release, an error for each cause."""

    def duration(self) -> str:
        """The sentence of any cause: each has the same model."""
        return next(iter(self.tables.values())).duration()

    @property
    def parts(self) -> Mapping[str, Comparison]:
        """The comparison of each cause."""
        return self.tables

    def rare(self) -> list[str]:
        """A sentence for every cause with too few events for its coefficients."""
        return [
            f"Cause {cause} is rare: about {part.outlook.events:,} events for "
            f"{part.outlook.design.dimension} coefficients. Its effects will say little; give it "
            "fewer covariates, or join it with another cause."
            for cause, part in self.tables.items()
            if part.outlook.events < FEW_EVENTS * part.outlook.design.dimension
        ]


def needed_epsilon(
    outlook: Outlook, coefficient: str, margin: float, delta: float | None = None
) -> float | None:
    """The smallest epsilon of private Newton whose 95 % interval is coefficient +- margin at most.

    `coefficient` is one, or a covariate, of which then the least certain counts.  None where even
    epsilon 100, which hardly protects a person, is not enough.
    """
    require_positive("the target", margin)
    names = outlook.schema.coefficient_names
    titles = outlook.schema.coefficient_titles
    places = [
        place
        for place, (name, title) in enumerate(zip(names, titles, strict=True))
        if coefficient in {name, name.partition("[")[0], title}
    ]
    if not places:
        raise SettingsError(
            f"there is no coefficient '{coefficient}'; there are {', '.join(names)}."
        )
    quantile = normal_quantile(0.95)

    def excess(log_epsilon: float) -> float:
        """log of half width over margin; falls with epsilon."""
        given = {"epsilon": math.exp(log_epsilon), "delta": delta, "survival": outlook.survival}
        errors = _forecast(outlook, DEFAULT, registered()[DEFAULT], given).standard_errors
        if not errors:
            return math.inf
        return math.log(quantile * max(errors[place] for place in places) / margin)

    low, high = map(math.log, EPSILONS)
    if excess(high) > 0:
        return None
    if excess(low) <= 0:
        return EPSILONS[0]
    return math.exp(brentq(excess, low, high, xtol=CLOSE) + CLOSE)


def plan(  # noqa: PLR0913 - what is publicly known, each by name
    schema: Schema | str | PathLike[str] | Mapping[str, Any],
    persons: int,
    events: int | Mapping[str, int],
    epsilon: float | Sequence[float] = (0.5, 1.0, 2.0, 4.0),
    *,
    delta: float | None = None,
    link: str = DEFAULT_LINK,
    baseline: str = "natural-spline:3",
    sd: Mapping[str, float] | None = None,
    shares: Mapping[str, Sequence[float]] | None = None,
    sites: int | None = None,
    colluding: int | None = None,
) -> "Comparison | CausesComparison":
    """Predict the accuracy of a release from public facts alone; no data is read.

    Parameters
    ----------
    schema
        A Schema, the path of its TOML file, or its mapping.
    persons, events
        The number of people, and about how many of them have the event; with competing risks a
        number for each cause, ``{"cancer": 900, "other": 300}``.
    epsilon
        One epsilon or several.
    delta
        As in the mechanism; None for its default.
    link, baseline
        As in `SurvivalRegression`.
    sd
        Standard deviations of numbers where they are publicly known, by covariate. Without one a
        number is taken to be spread evenly between its bounds.
    shares
        Shares of the levels of a category, the reference first. Without them levels are alike.
    sites, colluding
        The number of sites of a joint fit, and how many of them may collude, as in sites.toml.

    Returns
    -------
    Comparison
        Prints as a table with a recommendation; ``to_pandas()`` and ``plot()`` give the rest. With
        competing risks a `CausesComparison`, whose ``parts`` has one for each cause.

    Examples
    --------
    >>> ds.plan("schema.toml", persons=20_000, events=2_000)  # doctest: +SKIP
    """
    epsilons = [float(value) for value in np.atleast_1d(np.asarray(epsilon, dtype=np.float64))]
    if not epsilons:
        raise SettingsError("give at least one epsilon")
    declared, known = as_schema(schema), CovariateSpread(sd or {}, shares or {})
    causes = tuple(declared.time.causes or ())
    if isinstance(events, Mapping):
        if set(events) != set(causes):
            raise SettingsError(f"say how many events each cause has: {', '.join(causes)}.")
        if sum(events.values()) > persons:
            raise SettingsError("the causes have more events together than there are persons.")
        counts = {cause: events[cause] for cause in causes}
    elif causes:
        raise SettingsError("the schema has causes: give events for each, such as {'cancer': 900}.")
    else:
        counts = {"": events}
    noise = ALONE if sites is None else NoiseShares.among(sites, colluding)
    parts = {}
    for cause, count in counts.items():
        outlook = outlook_for(declared, persons, count, link, baseline, noise, known)
        # the standard errors of a cause without privacy leave out the others
        outlook = replace(outlook, others=tuple(n for name, n in counts.items() if name != cause))
        found = {epsilon: forecasts(outlook, epsilon, delta) for epsilon in epsilons}
        parts[cause] = Comparison(outlook, found, (f"Cause: {cause}",) if cause else ())
    if not isinstance(events, Mapping):
        return parts[""]
    compared = CausesComparison(parts)
    return replace(compared, footer=(*compared.rare(), compared.duration()))


def _forecast(
    outlook: Outlook, name: str, kind: type[Any], given: Mapping[str, float | None]
) -> Forecast:
    known = {item.name for item in fields(kind)}
    if outlook.sites != ALONE and not kind.across_sites:
        return Forecast(name, note=NOT_ACROSS_SITES)
    if outlook.facts.causes > 1 and name != DEFAULT:
        return Forecast(name, note=NOT_FOR_CAUSES)
    try:
        mechanism = kind(**{key: value for key, value in given.items() if key in known})
        require_proof(mechanism, outlook.facts)
        plan: Plan = mechanism.plan(outlook.facts)
    except SettingsError as refusal:
        return Forecast(name, note=str(refusal))
    extra = mechanism.variance(plan, outlook)
    if extra is None:
        return Forecast(name, plan.guarantee, note=NO_PREDICTION)
    errors = outlook.deviations(extra + outlook.sampling_variance)
    return Forecast(name, plan.guarantee, outlook.error(extra), standard_errors=errors)
