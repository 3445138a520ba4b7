"use strict";
// The model in the browser: the same formulas as discreet.design.link, discreet.design.baseline and
// discreet.results.prediction, tested against them to 1e-9.
const survival = (() => {
  const SQRT2 = Math.SQRT2;

  // exp(x^2) erfc(x) for x >= 0: a continued fraction far out (Lentz), a series near 0.
  function scaledErfc(x) {
    if (x < 2.5) {
      return Math.exp(x * x) * (1 - erfSeries(x));
    }
    let fraction = 0;
    for (let step = 120; step >= 1; step--) {
      fraction = step / 2 / (x + fraction);
    }
    return 1 / (Math.sqrt(Math.PI) * (x + fraction));
  }

  // erf(x) = 2/sqrt(pi) exp(-x^2) sum 2^n x^(2n+1) / (1 3 5 ... (2n+1)), all terms positive.
  function erfSeries(x) {
    let term = x;
    let sum = x;
    for (let n = 1; n < 200 && term > 1e-18 * sum; n++) {
      term *= (2 * x * x) / (2 * n + 1);
      sum += term;
    }
    return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
  }

  // Phi(-eta) and Mills' ratio pdf(eta) / Phi(-eta).
  function normalTail(eta) {
    const x = Math.abs(eta) / SQRT2;
    const upper = 0.5 * Math.exp(-x * x) * scaledErfc(x);
    return eta >= 0 ? upper : 1 - upper;
  }

  function mills(eta) {
    if (eta >= 0) {
      return Math.sqrt(2 / Math.PI) / scaledErfc(eta / SQRT2);
    }
    return Math.exp(-0.5 * eta * eta) / Math.sqrt(2 * Math.PI) / normalTail(eta);
  }

  function negativeLogTail(eta) {
    if (eta >= 0) {
      const x = eta / SQRT2;
      return x * x - Math.log(0.5 * scaledErfc(x));
    }
    const x = -eta / SQRT2;
    return -Math.log1p(-0.5 * Math.exp(-x * x) * scaledErfc(x));
  }

  // loss: phi = -log(1 - h); slope: phi'.
  const links = {
    logit: {
      hazard: (eta) => 1 / (1 + Math.exp(-eta)),
      loss: (eta) => Math.max(eta, 0) + Math.log1p(Math.exp(-Math.abs(eta))),
      slope: (eta) => 1 / (1 + Math.exp(-eta)),
    },
    cloglog: {
      hazard: (eta) => -Math.expm1(-Math.exp(eta)),
      loss: (eta) => Math.exp(eta),
      slope: (eta) => Math.exp(eta),
    },
    probit: {
      hazard: (eta) => normalTail(-eta),
      loss: negativeLogTail,
      slope: mills,
    },
  };

  function cube(value) {
    const positive = Math.max(value, 0);
    return positive * positive * positive;
  }

  // The natural cubic spline of the paper, time in [0, 1].
  function spline(time, knots) {
    const row = [1, time].slice(0, knots);
    if (knots < 3) {
      return row;
    }
    const scaled = (j) => (cube(time - j / (knots - 1)) - cube(time - 1)) / (1 - j / (knots - 1));
    const last = scaled(knots - 2);
    for (let j = 0; j < knots - 2; j++) {
      row.push(scaled(j) - last);
    }
    return row;
  }

  // The declared functions, then a step at the end of every period of effects, as design.baseline.
  function basis(facts, step) {
    return [...declared(facts, step), ...facts.baseline.steps.map((end) => (step > end ? 1 : 0))];
  }

  function declared(facts, step) {
    const size = facts.baseline.dimension;
    if (facts.baseline.kind === "natural-spline") {
      return spline(step / facts.intervals, size);
    }
    if (facts.baseline.kind === "log-time") {
      return Array.from({ length: size }, (_, power) => Math.log(step / facts.intervals) ** power);
    }
    const row = new Array(size).fill(0);
    row[Math.ceil((size * step) / facts.intervals) - 1] = 1;
    return row;
  }

  function dot(left, right) {
    return left.reduce((sum, value, index) => sum + value * right[index], 0);
  }

  // The columns of one covariate on the user's scale: a number, its logarithm or spline, or
  // indicators of levels.
  function columns(item, value) {
    if (item.levels) {
      return item.levels.slice(1).map((_, level) => (value === level + 1 ? 1 : 0));
    }
    if (item.scale === "spline") {
      return spline((value - item.low) / (item.high - item.low), item.knots).slice(1);
    }
    return [item.scale === "log" ? Math.log(value) : value];
  }

  // All columns: of each covariate, then products of pairs, without the columns for what is missing.
  // A number that is not known is null: its fill stands in for it, and its own column is 1.
  function raw(facts, profile) {
    const blocks = facts.covariates.map((item, index) => columns(item, profile[index] ?? item.fill));
    const own = blocks.flatMap((block, index) => (facts.covariates[index].indicator ? [...block, profile[index] === null ? 1 : 0] : block));
    const factors = blocks.map((block, index) => (facts.covariates[index].levels ? block.slice(0, facts.covariates[index].declared - 1) : block));
    const products = facts.interactions.flatMap(([one, other]) => factors[one].flatMap((left) => factors[other].map((right) => left * right)));
    return own.concat(products);
  }

  // The places of the columns' coefficients in the period of an interval.
  function places(facts, step) {
    return facts.periods.places[facts.periods.ends.findIndex((end) => step <= end)];
  }

  // z in the places of the stratum's own baseline and of the effects in force; a profile ends with the
  // number of the stratum where there are any.
  function placed(facts, profile, row, x, step) {
    const before = facts.strata ? profile[facts.covariates.length] * row.length : 0;
    const time = facts.parts[0].alpha.length * row.length;
    const vector = new Array(time + facts.parts[0].beta.length).fill(0);
    row.forEach((value, index) => (vector[before + index] = value));
    places(facts, step).forEach((place, index) => (vector[time + place] = x[index]));
    return vector;
  }

  function quadratic(vector, matrix) {
    return vector.reduce((sum, value, index) => sum + value * dot(matrix[index], vector), 0);
  }

  // 97.5% quantile of the normal law.
  const Z = 1.959963984540054;

  // Points {time, survival, lower, upper, hazard}; the limits are null without a covariance. With
  // competing risks each cause has a part: with o = h / (1 - h) of each, no event has the
  // probability 1 / (1 + sum of o). `cause` asks for its cumulative incidence in place of survival.
  function curve(facts, profile, cause = null) {
    const link = links[facts.link];
    const x = raw(facts, profile);
    const parts = facts.parts.map((part) => part.alpha.flat().concat(part.beta));
    const size = parts[0].length;
    const slopes = new Array(size * parts.length).fill(0); // of L = -log S
    const rises = slopes.slice(); // of the incidence
    const points = [{ time: facts.edges[0], survival: cause === null ? 1 : 0, ...limits(facts, 0, slopes, cause), hazard: null }];
    let total = 0;
    let risen = 0;
    for (let step = 1; step <= facts.intervals; step++) {
      const vector = placed(facts, profile, basis(facts, step), x, step);
      const etas = parts.map((part) => dot(vector, part));
      const losses = etas.map((eta) => Math.min(link.loss(eta), 700));
      const odds = losses.map((loss) => Math.expm1(loss));
      const all = odds.reduce((sum, value) => sum + value, 0);
      total += parts.length === 1 ? losses[0] : Math.log1p(all);
      etas.forEach((eta, place) => {
        const slope = (link.slope(eta) * (1 + odds[place])) / (1 + all);
        vector.forEach((value, index) => (slopes[place * size + index] += slope * value));
      });
      if (cause !== null) {
        const after = Math.exp(-total);
        risen += after * odds[cause];
        slopes.forEach((slope, index) => (rises[index] -= after * odds[cause] * slope));
        const own = after * (1 + odds[cause]) * link.slope(etas[cause]);
        vector.forEach((value, index) => (rises[cause * size + index] += own * value));
      }
      points.push({
        time: facts.edges[step],
        survival: cause === null ? Math.exp(-total) : risen,
        ...(cause === null ? limits(facts, total, slopes, null) : limits(facts, -Math.log1p(-Math.min(risen, 1 - 1e-12)), rises.map((rise) => rise / (1 - risen)), cause)),
        hazard: (cause === null ? all : odds[cause]) / (1 + all),
      });
    }
    return points;
  }

  // The band is symmetric for log L, where L = -log of the probability of no event (of the cause).
  function limits(facts, total, slopes, cause) {
    if (!facts.covariance) {
      return { lower: null, upper: null };
    }
    const ends = [1, -1].map((sign) => {
      const error = total === 0 ? 0 : Math.sqrt(Math.max(quadratic(slopes, facts.covariance), 0));
      const without = Math.exp(-total * Math.exp(sign * Math.min(total === 0 ? 0 : (Z * error) / total, 700)));
      return cause === null ? without : 1 - without;
    });
    return { lower: Math.min(...ends), upper: Math.max(...ends) };
  }

  // The first grid point at which the curve (survival, or a limit of it) is at most one half.
  function median(points, name = "survival") {
    const found = points.find((point) => point[name] <= 0.5);
    return found ? found.time : null;
  }

  // The area under the curve: it is constant between grid points.
  function mean(points, name = "survival") {
    return points.slice(1).reduce((sum, point, index) => sum + points[index][name] * (point.time - points[index].time), 0);
  }

  // beta'x: how persons compare; the largest difference of a period decides where effects change.
  function risk(facts, profile) {
    const x = raw(facts, profile);
    return facts.periods.places.map((own) => dot(x, own.map((place) => facts.parts[0].beta[place])));
  }

  function apart(facts, one, other) {
    const [left, right] = [risk(facts, one), risk(facts, other)];
    return Math.max(...left.map((value, period) => Math.abs(value - right[period])));
  }

  // Of an effect of a part that changes: its ratio (the coefficient of a probit) in every period, with
  // its interval.
  function steps(facts, part, item) {
    const before = facts.parts[part].alpha.flat().length;
    const size = before + facts.parts[part].beta.length;
    const shown = facts.link === "probit" ? (value) => value : Math.exp;
    return item.places.map((place, period) => {
      const at = part * size + before + place;
      const [value, error] = [facts.parts[part].beta[place] * item.step, facts.covariance ? Math.sqrt(facts.covariance[at][at]) * item.step : null];
      const limit = (sign) => (error === null ? null : shown(value + sign * Z * error));
      return { start: item.times[period], end: item.times[period + 1], ratio: shown(value), lower: limit(-1), upper: limit(1) };
    });
  }

  // Survival is constant between grid points: intervals that have ended by the time count.
  function at(points, time) {
    let found = points[0];
    for (const point of points) {
      if (point.time <= time) {
        found = point;
      }
    }
    return found;
  }

  return { curve, median, mean, apart, steps, at, raw, Z };
})();
