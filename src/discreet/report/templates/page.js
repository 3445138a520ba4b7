// The page around the model: controls in, curves and tables out. Names are set as text, never HTML.
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const facts = read("facts");
  const element = (id) => document.getElementById(id);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const start = facts.covariates.map((item) => item.start);
  const state = { a: start.slice(), b: start.slice(), compare: false, times: defaultTimes() };
  const views = {};

  function defaultTimes() {
    return [0.1, 0.25, 0.5, 0.75, 1].map((part) => rounded(facts.edges[0] + part * (facts.horizon - facts.edges[0])));
  }

  function rounded(value) {
    return Number(value.toPrecision(6));
  }

  function show(value, digits = 3) {
    return value === null ? "—" : value.toFixed(digits);
  }

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  }

  // --- controls ---------------------------------------------------------------------------

  function make(tag, properties = {}) {
    return Object.assign(document.createElement(tag), properties);
  }

  function numberField(item, index, person, field) {
    const id = `${person}-${index}`;
    const step = (item.high - item.low) / 200;
    const box = make("input", { type: "number", id, min: item.low, max: item.high, step: "any" });
    const range = make("input", { type: "range", min: item.low, max: item.high, step });
    range.setAttribute("aria-label", `${item.title}, person ${person.toUpperCase()}`);
    box.value = range.value = state[person][index];
    box.value = rounded(state[person][index]);
    const change = (source, other) => () => {
      const value = Number(source.value);
      if (source.value === "" || !Number.isFinite(value)) {
        return;
      }
      const kept = Math.min(Math.max(value, item.low), item.high);
      state[person][index] = kept;
      other.value = rounded(kept);
      update();
    };
    range.addEventListener("input", change(range, box));
    box.addEventListener("input", change(box, range));
    box.addEventListener("change", () => (box.value = rounded(state[person][index])));
    field.append(make("label", { htmlFor: id, textContent: item.title }), box, range);
  }

  function levelField(item, index, person, field) {
    const id = `${person}-${index}`;
    const menu = make("select", { id });
    item.levels.forEach((level, place) => {
      menu.append(make("option", { value: String(place), textContent: level }));
    });
    menu.value = String(state[person][index]);
    menu.addEventListener("change", () => {
      state[person][index] = Number(menu.value);
      update();
    });
    field.append(make("label", { htmlFor: id, textContent: item.title }), menu);
  }

  function buildControls(person) {
    facts.covariates.forEach((item, index) => {
      const field = make("div", { className: "field" });
      (item.levels ? levelField : numberField)(item, index, person, field);
      element(`profile-${person}`).append(field);
    });
    if (!facts.covariates.length) {
      element(`profile-${person}`).append(make("p", { textContent: "The model has no covariates." }));
    }
  }

  // --- charts -----------------------------------------------------------------------------

  function theme() {
    const ink = colour("ink");
    const axis = { labelColor: ink, titleColor: ink, gridColor: colour("line"), domainColor: ink, tickColor: ink };
    return {
      background: null,
      font: "system-ui, sans-serif",
      axis: { ...axis, labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal" },
      header: { labelColor: ink, titleColor: ink },
      legend: { labelColor: ink, titleColor: ink },
      view: { stroke: null },
    };
  }

  async function draw(id, spec) {
    const found = await vegaEmbed(`#${id}`, { $schema: "https://vega.github.io/schema/vega-lite/v6.json", autosize: { type: "fit-x", contains: "padding" }, ...spec, config: theme() }, {
      actions: false, renderer: "svg", ast: true, defaultStyle: false, tooltip: false, mode: "vega-lite",
    });
    views[id] = found.view;
  }

  const palette = () => ({ domain: ["A", "B"], range: [colour("a"), colour("b")] });

  function survivalSpec(values) {
    const x = { field: "time", type: "quantitative", title: facts.time_label, scale: { domain: [facts.edges[0], facts.horizon], nice: false } };
    const shade = { field: "person", type: "nominal", scale: palette(), legend: null };
    const line = {
      mark: { type: "line", interpolate: "step-after", strokeWidth: 2.5 },
      encoding: { x, y: { field: "survival", type: "quantitative", title: "probability of no event so far", scale: { domain: [0, 1] } }, color: shade },
    };
    const band = {
      mark: { type: "area", interpolate: "step-after", opacity: 0.2 },
      encoding: { x, y: { field: "lower", type: "quantitative", scale: { domain: [0, 1] } }, y2: { field: "upper" }, color: shade },
    };
    return { width: "container", height: 320, data: { name: "curve", values }, layer: facts.covariance ? [band, line] : [line] };
  }

  function coefficientRows() {
    const names = facts.covariates.flatMap((item) => (item.levels ? item.levels.slice(1).map((level) => `${item.title}: ${level}`) : [item.title]));
    const steps = facts.covariates.flatMap((item) => (item.levels ? item.levels.slice(1).map(() => 1) : [niceStep(item)]));
    const size = facts.alpha.length;
    const ratio = facts.link === "probit" ? (value) => value : Math.exp;
    return names.map((name, index) => {
      const value = facts.beta[index] * steps[index];
      const error = facts.covariance ? Math.sqrt(facts.covariance[size + index][size + index]) * steps[index] : null;
      return {
        name, step: steps[index], coefficient: facts.beta[index],
        error: error === null ? null : error / steps[index],
        label: steps[index] === 1 ? name : `${name} (per ${steps[index]})`,
        ratio: ratio(value),
        lower: error === null ? null : ratio(value - survival.Z * error),
        upper: error === null ? null : ratio(value + survival.Z * error),
      };
    });
  }

  function niceStep(item) {
    const quarter = (item.high - item.low) / 4;
    const power = 10 ** Math.floor(Math.log10(quarter));
    return rounded(power * Math.max(...[1, 2, 5].filter((factor) => factor * power <= quarter)));
  }

  function forestSpec(values) {
    const probit = facts.link === "probit";
    const scale = probit ? { zero: false } : { type: "log", nice: false, padding: 12 };
    const y = { field: "label", type: "nominal", title: null, sort: null, axis: { labelLimit: 180 } };
    return {
      width: "container", height: 34 * values.length, data: { values },
      layer: [
        { data: { values: [{ none: probit ? 0 : 1 }] }, mark: { type: "rule", strokeDash: [4, 3], color: colour("soft") }, encoding: { x: { field: "none", type: "quantitative" } } },
        ...(facts.covariance ? [{ mark: { type: "rule", strokeWidth: 2, color: colour("ink") }, encoding: { y, x: { field: "lower", type: "quantitative", scale, axis: { tickCount: 4 }, title: facts.ratio }, x2: { field: "upper" } } }] : []),
        { mark: { type: "point", filled: true, size: 90, color: colour("a"), opacity: 1 }, encoding: { y, x: { field: "ratio", type: "quantitative", scale, axis: { tickCount: 4 }, title: facts.ratio } } },
      ],
    };
  }

  function hazardSpec(values) {
    return {
      width: "container", height: 220, data: { name: "curve", values },
      transform: [{ filter: "datum.hazard !== null" }],
      mark: { type: "line", interpolate: "step-before", color: colour("a"), strokeWidth: 2 },
      encoding: {
        x: { field: "time", type: "quantitative", title: facts.time_label, scale: { domain: [facts.edges[0], facts.horizon], nice: false } },
        y: { field: "hazard", type: "quantitative", title: "hazard in an interval" },
      },
    };
  }

  function effectRows() {
    const end = (profile) => survival.curve(facts, profile).at(-1).survival;
    return facts.covariates.flatMap((item, index) => {
      const values = item.levels ? item.levels.map((_, level) => level) : [0, 0.5, 1].map((part) => item.low + part * (item.high - item.low));
      return values.map((value) => {
        const profile = state.a.slice();
        profile[index] = value;
        return { label: `${item.title} ${item.levels ? item.levels[value] : rounded(value)}`, survival: end(profile) };
      });
    });
  }

  function effectsSpec(values) {
    const y = { field: "label", type: "nominal", title: null, sort: null, axis: { labelLimit: 180 } };
    return {
      width: "container", height: 22 * values.length, data: { name: "effects", values },
      encoding: { y, x: { field: "survival", type: "quantitative", title: "probability of no event", scale: { domain: [0, 1] } } },
      layer: [
        { mark: { type: "bar", color: colour("a"), opacity: 0.75, height: 13 } },
        { mark: { type: "text", align: "left", dx: 5, color: colour("ink") }, encoding: { text: { field: "survival", format: ".3f" } } },
      ],
    };
  }

  function lifeSpec(values) {
    return {
      width: "container", height: 220, data: { values },
      encoding: {
        x: { field: "time", type: "quantitative", title: facts.time_label, scale: { domain: [facts.edges[0], facts.horizon], nice: false } },
      },
      layer: [
        { mark: { type: "line", point: true, color: colour("a"), strokeWidth: 2 }, encoding: { y: { field: "survival", type: "quantitative", title: "probability of no event so far", scale: { domain: [0, 1] } } } },
        ...(facts.life_table.expected ? [{ mark: { type: "line", strokeDash: [5, 4], color: colour("b"), strokeWidth: 2 }, encoding: { y: { field: "expected", type: "quantitative", scale: { domain: [0, 1] } } } }] : []),
      ],
    };
  }

  function lifeRows() {
    const table = facts.life_table;
    if (!table || !table.time || !table.survival) {
      return [];
    }
    const expected = table.expected || [];
    return table.time.map((time, index) => ({ time, survival: table.survival[index], expected: expected[index] }));
  }

  // --- results ----------------------------------------------------------------------------

  function people() {
    return state.compare ? ["a", "b"] : ["a"];
  }

  function curves() {
    return people().map((person) => ({ person: person.toUpperCase(), points: survival.curve(facts, state[person]) }));
  }

  function row(cells, tag = "td") {
    const line = make("tr");
    cells.forEach((text, index) => {
      const cell = make(index === 0 && tag === "td" ? "th" : tag, { textContent: text });
      cell.scope = tag === "th" ? "col" : index === 0 ? "row" : "";
      line.append(cell);
    });
    return line;
  }

  function answers(found) {
    const several = found.length > 1;
    element("answers-head").replaceChildren(row(["time", ...found.map((item) => (several ? `person ${item.person}` : "probability"))], "th"));
    const cell = (point) => show(point.survival) + (point.lower === null ? "" : ` (${show(point.lower)} to ${show(point.upper)})`);
    const lines = state.times.map((time) => row([String(time), ...found.map((item) => cell(survival.at(item.points, time)))]));
    const medians = found.map((item) => {
      const value = survival.median(item.points);
      return value === null ? `after ${rounded(facts.horizon)}` : String(rounded(value));
    });
    element("answers").replaceChildren(...lines, row(["median time", ...medians]));
  }

  function flat(found) {
    return found.flatMap((item) => item.points.map((point) => ({ ...point, person: item.person })));
  }

  function replace(id, name, values) {
    const view = views[id];
    if (view) {
      view.data(name, values).runAsync();
    }
  }

  function update() {
    const found = curves();
    answers(found);
    replace("survival-chart", "curve", flat(found));
    replace("hazard-chart", "curve", flat(found.slice(0, 1)));
    replace("effects-chart", "effects", effectRows());
  }

  async function drawAll() {
    const found = curves();
    await draw("survival-chart", survivalSpec(flat(found)));
    await draw("hazard-chart", hazardSpec(flat(found.slice(0, 1))));
    element("effects-panel").hidden = !facts.covariates.length;
    if (facts.covariates.length) {
      await draw("forest-chart", forestSpec(coefficientRows()));
      await draw("effects-chart", effectsSpec(effectRows()));
    }
    const life = lifeRows();
    element("life-panel").hidden = !life.length;
    if (life.length) {
      await draw("life-chart", lifeSpec(life));
    }
    document.documentElement.dataset.ready = "yes";
  }

  function notes() {
    element("band-note").textContent = facts.covariance
      ? "Line: estimate. Shaded: 95% band; it includes sampling error and the noise added for privacy."
      : "No band: this mechanism releases no standard errors, so the uncertainty of the curve is not known.";
    element("forest-note").textContent = facts.covariance
      ? `Each ${facts.ratio} with its 95% interval, privacy noise included.`
      : `Each ${facts.ratio}; this mechanism releases no intervals.`;
    const rows = coefficientRows();
    const head = ["covariate", "coefficient per unit", "standard error", facts.ratio, "95% interval"];
    const lines = rows.map((item) => row([item.name, item.coefficient.toPrecision(5), item.error === null ? "—" : item.error.toPrecision(3), `${show(item.ratio)}${item.step === 1 ? "" : ` per ${item.step}`}`, item.lower === null ? "—" : `${show(item.lower)} to ${show(item.upper)}`]));
    element("coefficients").replaceChildren(row(head, "th"), ...lines);
  }

  // --- files ------------------------------------------------------------------------------

  function save(name, type, text) {
    const link = make("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  function csv() {
    const lines = ["person,time,survival,lower,upper"];
    for (const item of curves()) {
      for (const point of item.points) {
        lines.push([item.person, point.time, point.survival, point.lower ?? "", point.upper ?? ""].join(","));
      }
    }
    return `${lines.join("\r\n")}\r\n`;
  }

  // --- start ------------------------------------------------------------------------------

  buildControls("a");
  buildControls("b");
  element("compare").addEventListener("change", (event) => {
    state.compare = event.target.checked;
    element("profile-b").hidden = !state.compare;
    update();
  });
  element("times").value = state.times.join(", ");
  element("times").addEventListener("input", (event) => {
    const numbers = event.target.value.split(",").map((text) => text.trim()).filter(Boolean).map(Number);
    const good = numbers.filter((value) => Number.isFinite(value) && value >= facts.edges[0] && value <= facts.horizon);
    event.target.setAttribute("aria-invalid", String(good.length < numbers.length));
    if (good.length) {
      state.times = good.slice(0, 20);
      update();
    }
  });
  element("controls").addEventListener("submit", (event) => event.preventDefault());
  element("save-release").addEventListener("click", () => save(`${facts.release_id}.json`, "application/json", JSON.stringify(read("document"), null, 2)));
  element("save-curve").addEventListener("click", () => save("survival.csv", "text/csv", csv()));
  element("save-picture").addEventListener("click", async () => save("survival.svg", "image/svg+xml", await views["survival-chart"].toSVG()));
  dark.addEventListener("change", drawAll);
  window.discreet = { survival, facts, state };
  notes();
  update();
  drawAll();
})();
