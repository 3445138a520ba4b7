// Competing risks: stacked incidence of a person, one cause with its band, the counts beside the
// model. The formulas are those of discreet.models.causes and discreet.competing. Names are set as
// text, never HTML.
const causes = (() => {
  const STEP = 1e-4;

  // Per grid point: the chance of no event so far and the incidence of every cause.
  function incidence(facts, profile, own = facts.causes) {
    const parts = own.map((part) => survival.curve({ ...facts, ...part, covariance: null }, profile));
    const total = own.map(() => 0);
    const points = [{ time: facts.edges[0], staying: 1, incidence: total.slice() }];
    let staying = 1;
    for (let step = 1; step <= facts.intervals; step++) {
      const odds = parts.map((part) => part[step].hazard / Math.max(1 - part[step].hazard, 1e-12));
      staying /= 1 + odds.reduce((sum, value) => sum + value, 0);
      odds.forEach((value, place) => (total[place] += staying * value));
      points.push({ time: facts.edges[step], staying, incidence: total.slice() });
    }
    return points;
  }

  // The same coefficients, one of them moved.
  function moved(facts, index, by) {
    const size = facts.causes[0].alpha[0].length + facts.causes[0].beta.length;
    return facts.causes.map((part, place) => {
      const flat = part.alpha[0].concat(part.beta);
      if (Math.floor(index / size) === place) {
        flat[index % size] += by;
      }
      const time = part.alpha[0].length;
      return { alpha: [flat.slice(0, time)], beta: flat.slice(time) };
    });
  }

  // 95 % limits of one cause by the delta method on log(-log(1 - F)), derivatives numerical.
  function band(facts, profile, cause) {
    const points = incidence(facts, profile);
    const slopes = facts.joint.map((row, index) => {
      const by = STEP * Math.sqrt(Math.max(row[index], 1e-300));
      const [up, down] = [by, -by].map((move) => incidence(facts, profile, moved(facts, index, move)));
      return points.map((_, step) => (up[step].incidence[cause] - down[step].incidence[cause]) / (2 * by));
    });
    return points.map((point, step) => {
      const vector = slopes.map((slope) => slope[step]);
      const square = vector.reduce((sum, one, i) => sum + one * vector.reduce((inner, other, j) => inner + facts.joint[i][j] * other, 0), 0);
      return { time: point.time, ...limits(point.incidence[cause], Math.sqrt(Math.max(square, 0))) };
    });
  }

  function limits(estimate, deviation) {
    if (estimate <= 0) {
      return { estimate: 0, lower: 0, upper: 0 };
    }
    const inner = Math.min(Math.max(estimate, 1e-12), 1 - 1e-12);
    const centre = -Math.log1p(-inner);
    const factor = Math.exp(Math.min((survival.Z * deviation) / ((1 - inner) * centre), 700));
    return { estimate, lower: -Math.expm1(-centre / factor), upper: -Math.expm1(-centre * factor) };
  }

  return { incidence, band };
})();

(() => {
  const { element, facts, words, dark, make, row, cell, offer } = page;
  const profile = facts.covariates.map((item) => item.start);
  const names = facts.causes.map((part) => part.name);
  const shown = (time) => time / facts.unit_size;
  const x = { field: "time", type: "quantitative", title: facts.time_label, scale: { domain: [shown(facts.edges[0]), shown(facts.horizon)], nice: false } };
  const share = { type: "quantitative", axis: { format: "%" } };
  const shade = { field: "cause", type: "nominal", title: null, sort: names, scale: { domain: names, scheme: "tableau10" } };

  function stacked() {
    const values = causes.incidence(facts, profile).flatMap((point) => names.map((cause, place) => ({ time: shown(point.time), cause, value: point.incidence[place] })));
    const y = { field: "value", ...share, scale: { domain: [0, 1] }, title: words.causes_axis, stack: "zero" };
    return { width: "container", height: 340, data: { values }, mark: { type: "area", opacity: 0.8 }, encoding: { x, y, color: shade } };
  }

  function ranged(values, lines) {
    const y = { ...share, title: words.causes_axis };
    const band = { mark: { type: "area", opacity: 0.2 }, encoding: { x, y: { field: "lower", ...y }, y2: { field: "upper" } } };
    const drawn = lines.map(([field, strokeDash]) => ({ mark: { type: "line", strokeWidth: 2.2, strokeDash }, encoding: { x, y: { field, ...y } } }));
    return { width: "container", height: 280, data: { values }, layer: [band, ...drawn] };
  }

  function own() {
    const place = Number(element("cause").value);
    const values = causes.band(facts, profile, place).map((point) => ({ ...point, time: shown(point.time) }));
    return ranged(values, [["estimate", [1, 0]]]);
  }

  function counts() {
    const found = facts.counts[Number(element("cause").value)];
    const values = found.time.map((time, index) => ({
      time: shown(time), estimate: found.estimate[index], lower: found.lower[index], upper: found.upper[index], model: found.model[index],
    }));
    return ranged(values, [["estimate", [1, 0]], ["model", [5, 4]]]);
  }

  function answers() {
    const points = causes.incidence(facts, profile);
    const times = [0.25, 0.5, 0.75, 1].map((part) => facts.edges[Math.round(part * facts.intervals)]);
    element("answers-head").replaceChildren(row([words.time, ...names, words.answers], "th"));
    element("answers").replaceChildren(...times.map((time) => {
      const point = survival.at(points, time);
      const shares = [...point.incidence, point.staying].map((value) => `${(100 * value).toFixed(1)} %`);
      return row([Number(shown(time).toPrecision(4)), ...shares]);
    }));
  }

  async function update() {
    answers();
    await page.draw("stacked-chart", stacked());
    await page.draw("own-chart", own());
    await page.draw("counts-chart", counts());
    document.documentElement.dataset.ready = "yes";
  }

  function field(item, index) {
    const id = `a-${index}`;
    const box = item.levels ? make("select", { id }) : make("input", { type: "number", id, min: item.low, max: item.high, step: "any" });
    (item.levels || []).forEach((level, place) => box.append(make("option", { value: String(place), textContent: level })));
    box.value = String(Number(profile[index].toPrecision(6)));
    box.addEventListener("change", () => {
      const value = Number(box.value);
      profile[index] = item.levels ? value : Math.min(Math.max(value, item.low), item.high);
      update();
    });
    const holder = make("div", { className: "field" });
    holder.append(make("label", { htmlFor: id, textContent: item.title }), box);
    element("profile-a").append(holder);
  }

  function csv() {
    const lines = causes.incidence(facts, profile).map((point) => [point.time, ...point.incidence, point.staying].join(","));
    return [["time", ...names, "no event"].map(cell).join(","), ...lines].join("\n") + "\n";
  }

  names.forEach((name, place) => element("cause").append(make("option", { value: String(place), textContent: name })));
  facts.covariates.forEach(field);
  element("cause").addEventListener("change", update);
  offer("save-curve", `${facts.release_id}.csv`, "text/csv", csv);
  dark.addEventListener("change", update);
  window.discreet = { facts, survival, causes, profile };
  update();
})();
