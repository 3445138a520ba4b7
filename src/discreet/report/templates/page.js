// The page around the model: controls in, curves and tables out. Names are set as text, never HTML.
(() => {
  const { element, facts, words, dark, make, fill, colour, row, cell, offer } = page;
  const controls = facts.covariates.concat(facts.strata ? [{ ...facts.strata, start: 0 }] : []);
  const start = controls.map((item) => item.start);
  const state = { a: start.slice(), b: another(start), compare: true, times: defaultTimes(), effectsTime: facts.horizon };
  const views = {};

  // Person B differs from A in the covariate that moves the risk most.
  function another(profile) {
    const reach = facts.covariates.map((item, index) => {
      const values = item.levels ? item.levels.map((_, level) => level) : [item.low, item.high];
      const risks = values.map((value) => survival.risk(facts, profile.with(index, value)));
      return Math.max(...risks) - Math.min(...risks);
    });
    const index = reach.indexOf(Math.max(...reach));
    if (index < 0) {
      return profile.slice();
    }
    const item = facts.covariates[index];
    return profile.with(index, item.levels ? farthest(item, index, profile) : elsewhere(item, profile[index]));
  }

  // The level whose risk is farthest from that of the profile's own.
  function farthest(item, index, profile) {
    const own = survival.risk(facts, profile);
    const gaps = item.levels.map((_, level) => Math.abs(survival.risk(facts, profile.with(index, level)) - own));
    return gaps.indexOf(Math.max(...gaps));
  }

  function elsewhere(item, value) {
    const quarter = (item.high - item.low) / 4;
    return rounded(value + quarter <= item.high ? value + quarter : value - quarter);
  }

  // A time for reading: four digits.
  function brief(time) {
    return Number(shown(time).toPrecision(4));
  }

  // Times are computed in the data's unit and shown in the reader's.
  function shown(time) {
    return time / facts.unit_size;
  }

  function defaultTimes() {
    const [first, last] = [shown(facts.edges[0]), shown(facts.horizon)];
    const whole = [1, 2, 3, 5, 10, 20].filter((time) => time > first && time < last);
    if (facts.unit_size !== 1 && whole.length > 1) {
      return [...whole.map((time) => time * facts.unit_size), facts.horizon];
    }
    return [0.1, 0.25, 0.5, 0.75, 1].map((part) => rounded(facts.edges[0] + part * (facts.horizon - facts.edges[0])));
  }

  function rounded(value) {
    return Number(value.toPrecision(6));
  }

  function show(value, digits = 3) {
    return value === null ? "—" : value.toFixed(digits);
  }

  // --- controls ---------------------------------------------------------------------------

  function numberField(item, index, person, field) {
    const id = `${person}-${index}`;
    const step = (item.high - item.low) / 200;
    const box = make("input", { type: "number", id, min: item.low, max: item.high, step: "any" });
    const range = make("input", { type: "range", min: item.low, max: item.high, step });
    range.setAttribute("aria-label", `${item.title}, ${words[`person_${person}`]}`);
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
    controls.forEach((item, index) => {
      const field = make("div", { className: "field" });
      (item.levels ? levelField : numberField)(item, index, person, field);
      element(`profile-${person}`).append(field);
    });
    if (!controls.length) {
      element(`profile-${person}`).append(make("p", { textContent: "–" }));
    }
  }

  // --- charts -----------------------------------------------------------------------------

  async function draw(id, spec) {
    views[id] = await page.draw(id, spec);
  }

  const palette = () => ({ domain: ["A", "B"], range: [colour("a"), colour("b")] });

  function timeAxis() {
    const scale = { domain: [shown(facts.edges[0]), shown(facts.horizon)], nice: false };
    return { field: "time", type: "quantitative", title: facts.time_label, scale, axis: { tickMinStep: facts.unit_size !== 1 && shown(facts.horizon) >= 4 ? 1 : 0 } };
  }

  const share = { type: "quantitative", scale: { domain: [0, 1] }, axis: { format: ".0%" } };

  function survivalSpec(values) {
    const x = timeAxis();
    const shade = { field: "person", type: "nominal", scale: palette(), legend: null };
    const line = {
      mark: { type: "line", interpolate: "step-after", strokeWidth: 2.5 },
      encoding: { x, y: { field: "survival", ...share, title: words.survival_axis }, color: shade, strokeDash: { field: "person", type: "nominal", scale: { domain: ["A", "B"], range: [[1, 0], [7, 3]] }, legend: null } },
    };
    const band = {
      mark: { type: "area", interpolate: "step-after", opacity: 0.2 },
      encoding: { x, y: { field: "lower", ...share }, y2: { field: "upper" }, color: shade },
    };
    return { width: "container", height: 320, data: { name: "curve", values }, layer: facts.covariance ? [band, line] : [line] };
  }

  function coefficientRows() {
    const names = facts.coefficients.map((item) => item.title);
    const steps = facts.coefficients.map((item) => (item.number === null ? 1 : niceStep(facts.covariates[item.number])));
    const size = facts.alpha.flat().length;
    const ratio = facts.link === "probit" ? (value) => value : Math.exp;
    return names.map((name, index) => {
      const value = facts.beta[index] * steps[index];
      const error = facts.covariance ? Math.sqrt(facts.covariance[size + index][size + index]) * steps[index] : null;
      return {
        name, curve: facts.coefficients[index].curve, step: steps[index], coefficient: facts.beta[index],
        error: error === null ? null : error / steps[index],
        label: steps[index] === 1 ? name : `${name}, ${fill(words.per, { step: steps[index] })}`,
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

  function forestSpec(rows) {
    const probit = facts.link === "probit";
    const values = rows.map((item) => ({ ...item, text: item.lower === null ? show(item.ratio, 2) : `${show(item.ratio, 2)} (${show(item.lower, 2)}–${show(item.upper, 2)})` }));
    const ends = values.flatMap((item) => [item.lower ?? item.ratio, item.upper ?? item.ratio, probit ? 0 : 1]).filter((value) => Number.isFinite(value) && (probit || value > 0));
    const scale = { ...(probit ? { zero: false } : { type: "log" }), domain: [Math.min(...ends), Math.max(...ends)], nice: false, padding: 14 };
    const x = (field) => ({ field, type: "quantitative", scale, axis: { tickCount: 4, format: "~g" }, title: `← ${words.lower_risk}   ${facts.ratio}   ${words.higher_risk} →` });
    const y = { field: "label", type: "nominal", title: null, sort: null, axis: { labelLimit: 220 }, scale: { padding: 0.35 } };
    const text = { mark: { type: "text", dy: -11, fontSize: 11, color: colour("ink"), clip: false }, encoding: { y, x: x("ratio"), text: { field: "text" } } };
    return {
      width: "container", height: 44 * values.length, data: { values },
      layer: [
        { data: { values: [{ none: probit ? 0 : 1 }] }, mark: { type: "rule", strokeDash: [4, 3], color: colour("soft") }, encoding: { x: x("none") } },
        ...(facts.covariance ? [{ mark: { type: "rule", strokeWidth: 2, color: colour("ink") }, encoding: { y, x: x("lower"), x2: { field: "upper" } } }] : []),
        { mark: { type: "point", filled: true, size: 90, color: colour("a"), opacity: 1 }, encoding: { y, x: x("ratio") } },
        text,
      ],
    };
  }

  function hazardSpec(values) {
    return {
      width: "container", height: 220, data: { name: "curve", values },
      transform: [{ filter: "datum.hazard !== null" }],
      mark: { type: "line", interpolate: "step-before", color: colour("a"), strokeWidth: 2 },
      encoding: { x: timeAxis(), y: { field: "hazard", type: "quantitative", title: words.hazard_axis, axis: { format: "~p" } } },
    };
  }

  // One line per number over its range, one point per level, at the chosen time.
  function effectRows() {
    const at = (profile) => survival.at(survival.curve(facts, profile), state.effectsTime).survival;
    return controls.flatMap((item, index) => {
      const parts = item.levels ? item.levels.map((_, level) => level) : [...Array(13).keys()].map((step) => item.low + (step / 12) * (item.high - item.low));
      return parts.map((value) => ({ title: item.title, value: item.levels ? null : value, level: item.levels ? item.levels[value] : null, survival: at(state.a.with(index, value)) }));
    });
  }

  function effectsSpec(rows) {
    const y = { field: "survival", ...share, title: null };
    const one = (item) => {
      const filter = { transform: [{ filter: { field: "title", equal: item.title } }], width: 190, height: 110, title: { text: item.title, anchor: "start", fontSize: 12, fontWeight: "normal", limit: 210, color: colour("ink") } };
      if (item.levels) {
        const x = { field: "level", type: "nominal", title: null, sort: null, axis: { labelAngle: 0, labelLimit: 80 } };
        return { ...filter, layer: [{ mark: { type: "bar", color: colour("a"), opacity: 0.7 }, encoding: { x, y } }, { mark: { type: "text", dy: -7, color: colour("ink") }, encoding: { x, y, text: { field: "survival", format: ".0%" } } }] };
      }
      const x = { field: "value", type: "quantitative", title: null, scale: { zero: false, nice: false }, axis: { tickCount: 4 } };
      return { ...filter, mark: { type: "line", color: colour("a"), strokeWidth: 2.2 }, encoding: { x, y } };
    };
    return { data: { name: "effects", values: rows }, columns: 2, concat: controls.map(one), autosize: "pad" };
  }

  function lifeSpec(values) {
    const kinds = { field: "kind", type: "nominal", title: null, sort: null };
    return {
      width: "container", height: 220, data: { values },
      mark: { type: "line", interpolate: "step-after", strokeWidth: 2 },
      encoding: {
        x: timeAxis(),
        y: { field: "survival", ...share, title: words.survival_axis },
        color: { ...kinds, scale: { domain: [words.counts, words.model], range: [colour("a"), colour("b")] }, legend: facts.life_table.expected ? {} : null },
      },
    };
  }

  function lifeRows() {
    const table = facts.life_table;
    if (!table || !table.time || !table.survival) {
      return [];
    }
    const lines = [[words.counts, table.survival], ...(table.expected ? [[words.model, table.expected]] : [])];
    return lines.flatMap(([kind, values]) => table.time.map((time, index) => ({ kind, time: shown(time), survival: values[index] })));
  }

  // --- results ----------------------------------------------------------------------------

  function people() {
    return state.compare ? ["a", "b"] : ["a"];
  }

  function curves() {
    return people().map((person) => ({ person: person.toUpperCase(), points: survival.curve(facts, state[person]) }));
  }

  function answers(found) {
    const heads = found.map((item) => words[`person_${item.person.toLowerCase()}`]);
    element("answers-head").replaceChildren(row([facts.time_label, ...heads], "th"));
    const cell = (point) => show(point.survival) + (point.lower === null ? "" : ` (${show(point.lower)} to ${show(point.upper)})`);
    const lines = state.times.map((time) => row([String(brief(time)), ...found.map((item) => cell(survival.at(item.points, time)))]));
    const last = `${brief(facts.horizon)}${facts.unit ? ` ${facts.unit}` : ""}`;
    const mean = fill(words.restricted_mean, { horizon: last });
    element("answers").replaceChildren(
      ...lines,
      row([words.median, ...found.map((item) => medianText(item.points, last))]),
      row([mean, ...found.map((item) => meanText(item.points))]),
    );
  }

  function medianText(points, last) {
    const text = (name) => {
      const value = survival.median(points, name);
      return value === null ? fill(words.after, { horizon: last }) : String(brief(value));
    };
    const [middle, low, high] = ["survival", "lower", "upper"].map(text);
    const same = low === middle && high === middle;
    return facts.covariance && !same ? `${middle} (${low} to ${high})` : middle;
  }

  // The limits are those of the band, integrated: at least as wide as the interval of the mean.
  function meanText(points) {
    const text = (name) => Number(shown(survival.mean(points, name)).toPrecision(4));
    return facts.covariance ? `${text("survival")} (${text("lower")} to ${text("upper")})` : String(text("survival"));
  }

  function flat(found) {
    return found.flatMap((item) => item.points.map((point) => ({ ...point, time: shown(point.time), person: item.person })));
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
      await draw("forest-chart", forestSpec(coefficientRows().filter((item) => !item.curve)));
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
    element("band-note").textContent = facts.covariance ? words.band_note : words.no_band_note;
    element("forest-note").textContent = fill(facts.covariance ? words.forest_note : words.forest_note_bare, { ratio: facts.ratio });
    const rows = coefficientRows();
    const head = [words.covariate, words.coefficient, words.standard_error, facts.ratio, words.interval];
    const lines = rows.map((item) => row([item.name, item.coefficient.toPrecision(5), item.error === null ? "—" : item.error.toPrecision(3), `${show(item.ratio)}${item.step === 1 ? "" : ` per ${item.step}`}`, item.lower === null ? "—" : `${show(item.lower)} to ${show(item.upper)}`]));
    element("coefficients").replaceChildren(row(head, "th"), ...lines);
  }

  // --- files ------------------------------------------------------------------------------

  function csv() {
    const lines = [`person,${facts.unit ? `time_${facts.unit}` : "time"},survival,lower,upper`];
    for (const item of curves()) {
      for (const point of item.points) {
        lines.push([item.person, shown(point.time), point.survival, point.lower ?? "", point.upper ?? ""].join(","));
      }
    }
    return `${lines.join("\r\n")}\r\n`;
  }

  function ratioCsv() {
    const ratio = facts.ratio.replaceAll(" ", "_");
    const head = `covariate,coefficient,standard_error,${ratio},per,lower,upper`;
    const lines = coefficientRows().map((item) => [cell(item.name), item.coefficient, item.error ?? "", item.ratio, item.step, item.lower ?? "", item.upper ?? ""].join(","));
    return `${[head, ...lines].join("\r\n")}\r\n`;
  }

  function latex(text) {
    const signs = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}" };
    return text.replace(/[\\~^]|[&%$#_{}]/g, (sign) => signs[sign] ?? `\\${sign}`);
  }

  function ratioLatex() {
    const interval = (item) => (item.lower === null ? "" : `${show(item.lower, 2)}--${show(item.upper, 2)}`);
    const lines = coefficientRows().map((item) => `${latex(item.label)} & ${show(item.ratio, 2)} & ${interval(item)} \\\\`);
    return ["\\begin{tabular}{lrr}", "\\hline", `${latex(words.covariate)} & ${latex(facts.ratio)} & 95\\% \\\\`, "\\hline", ...lines, "\\hline", "\\end{tabular}", ""].join("\n");
  }

  function bibtex() {
    const { title, text, contact } = facts.citation;
    const lines = [`  title = {${latex(title ?? words.default_title)}},`, ...(text ? [`  note = {${latex(text)}},`] : []), ...(contact ? [`  howpublished = {${latex(contact)}},`] : []), `  annote = {discreet release ${facts.release_id}}`];
    return `@misc{${facts.release_id},\n${lines.join("\n")}\n}\n`;
  }

  async function png() {
    const canvas = await views["survival-chart"].toCanvas(2);
    return new Promise((done) => canvas.toBlob(done, "image/png"));
  }

  // --- start ------------------------------------------------------------------------------

  buildControls("a");
  buildControls("b");
  element("compare").addEventListener("change", (event) => {
    state.compare = event.target.checked;
    element("profile-b").hidden = !state.compare;
    update();
  });
  element("times").value = state.times.map(brief).join(", ");
  element("times").addEventListener("input", (event) => {
    const numbers = event.target.value.split(",").map((text) => text.trim()).filter(Boolean).map((text) => Number(text) * facts.unit_size);
    const slack = 1e-9 * facts.horizon;
    const good = numbers.filter((value) => Number.isFinite(value) && value >= facts.edges[0] - slack && value <= facts.horizon * (1 + 1e-4));
    event.target.setAttribute("aria-invalid", String(good.length < numbers.length));
    if (good.length) {
      state.times = good.slice(0, 20).map((value) => Math.min(Math.max(value, facts.edges[0]), facts.horizon));
      update();
    }
  });
  const chosen = element("effects-time");
  const showChosen = () => {
    state.effectsTime = facts.edges[0] + Number(chosen.value) * (facts.horizon - facts.edges[0]);
    element("effects-shown").value = ` ${Number(shown(state.effectsTime).toPrecision(3))} ${facts.unit ?? ""}`;
  };
  chosen.addEventListener("input", () => {
    showChosen();
    replace("effects-chart", "effects", effectRows());
  });
  element("controls").addEventListener("submit", (event) => event.preventDefault());
  offer("save-curve", "survival.csv", "text/csv", csv);
  offer("save-table", "ratios.csv", "text/csv", ratioCsv);
  offer("save-latex", "ratios.tex", "text/x-tex", ratioLatex);
  offer("save-citation", "citation.bib", "text/x-bibtex", bibtex);
  offer("save-picture", "survival.svg", "image/svg+xml", () => views["survival-chart"].toSVG());
  offer("save-png", "survival.png", "image/png", png);
  dark.addEventListener("change", drawAll);
  window.discreet = { survival, facts, state };
  showChosen();
  notes();
  update();
  drawAll();
})();
