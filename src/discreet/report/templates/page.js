// The page around the model: controls in, curves and tables out. Names are set as text, never HTML.
(() => {
  const { element, facts, words, dark, make, fill, colour, row, fillTable, cell, offer } = page;
  const controls = facts.covariates.concat(facts.strata ? [facts.strata] : []);
  const start = controls.map(readable);
  const state = { a: start.slice(), b: another(start), compare: true, times: defaultTimes(), effectsTime: facts.horizon, cause: null };
  const views = {};
  const narrow = window.matchMedia("(max-width: 46rem)"); // as in the style

  // Where a control begins: numbers of a wide range as whole numbers, nobody has 2.3 nodes.
  function readable(item) {
    if (item.levels || item.high - item.low < 20) {
      return item.start;
    }
    return Math.min(Math.max(Math.round(item.start), item.low), item.high);
  }

  // Person B differs from A in the covariate whose change moves the risk most.
  function another(profile) {
    const moved = facts.covariates.map((item, index) => profile.with(index, item.levels ? farthest(item, index, profile) : elsewhere(item, profile[index])));
    const gaps = moved.map((other) => survival.apart(facts, other, profile));
    return gaps.length ? moved[gaps.indexOf(Math.max(...gaps))] : profile.slice();
  }

  // The level whose risk is farthest from that of the profile's own.
  function farthest(item, index, profile) {
    const gaps = item.levels.map((_, level) => survival.apart(facts, profile.with(index, level), profile));
    return gaps.indexOf(Math.max(...gaps));
  }

  function elsewhere(item, value) {
    const quarter = (item.high - item.low) / 4 * (1 + 1e-9);  // 0.7 - 0.3 is a little less than 0.4
    const other = value + quarter <= item.high ? value + quarter : value - quarter;
    return item.high - item.low < 20 ? rounded(other) : Math.round(other);
  }

  // A time for reading, in the schema's unit as everywhere on the page.
  function brief(time) {
    return Number(time.toPrecision(4));
  }

  // Round times up to the horizon: whole years where the unit says how long one is.
  function roundTimes() {
    const [first, last] = [facts.edges[0], facts.horizon];
    const year = { days: 365.25, weeks: 52.1775, months: 12, years: 1 }[facts.unit] ?? 1;
    const scale = last - first >= 2 * year ? year : 1;
    const least = (last - first) / scale / 6; // at most six of them
    const power = 10 ** Math.floor(Math.log10(least));
    const sizes = [...(scale > 1 ? [0.25, 0.5] : []), ...[1, 2, 5, 10].map((factor) => factor * power)];
    const step = Math.min(...sizes.filter((size) => size >= least * 0.99 && (scale === 1 || size >= 0.25)));
    const found = [];
    for (let place = Math.ceil(first / scale / step + 1e-9); place * step * scale < last * (1 - 1e-9); place++) {
      found.push(rounded(scale > 1 ? Math.floor(place * step * scale) : place * step));
    }
    return found;
  }

  function defaultTimes() {
    const inside = roundTimes().filter((time) => facts.horizon - time > 0.02 * (facts.horizon - facts.edges[0]));
    return [...inside, rounded(facts.horizon)];
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
    field.append(make("label", { htmlFor: id, textContent: item.title, dir: "auto" }), range, box);
    if (item.indicator) {
      field.append(unknown(item, index, person, [box, range]));
    }
  }

  // Where missing values have a coefficient, a person's number may be unknown too.
  function unknown(item, index, person, inputs) {
    const mark = make("input", { type: "checkbox", id: `${person}-${index}-unknown` });
    mark.setAttribute("aria-label", `${item.title}, ${words[`person_${person}`]}: ${words.unknown}`);
    mark.addEventListener("change", () => {
      state[person][index] = mark.checked ? null : Number(inputs[0].value);
      inputs.forEach((input) => (input.disabled = mark.checked));
      update();
    });
    const label = make("label", { className: "unknown" });
    label.append(mark, ` ${words.unknown}`);
    return label;
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
    field.append(make("label", { htmlFor: id, textContent: item.title, dir: "auto" }), menu);
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
    const scale = { domain: [facts.edges[0], facts.horizon], nice: false };
    const values = [facts.edges[0], ...defaultTimes()];
    return { field: "time", type: "quantitative", title: facts.time_label, scale, axis: { values, format: ".6~g", labelOverlap: "greedy", labelSeparation: 10, labelFlush: true } };
  }

  // What the curves show: the probability of no event, or of one cause.
  function axisWords() {
    return state.cause === null ? words.survival_axis : fill(words.incidence_axis, { cause: facts.parts[state.cause].cause });
  }

  const share = { type: "quantitative", scale: { domain: [0, 1] }, axis: { format: ".0%" } };

  function survivalSpec(values) {
    const x = timeAxis();
    const shade = { field: "person", type: "nominal", scale: palette(), legend: null };
    const line = {
      mark: { type: "line", interpolate: "step-after", strokeWidth: 2.5 },
      encoding: { x, y: { field: "survival", ...share, title: axisWords() }, color: shade, strokeDash: { field: "person", type: "nominal", scale: { domain: ["A", "B"], range: [[1, 0], [7, 3]] }, legend: null } },
    };
    const band = {
      mark: { type: "area", interpolate: "step-after", opacity: 0.2 },
      encoding: { x, y: { field: "lower", ...share }, y2: { field: "upper" }, color: shade },
    };
    const height = narrow.matches ? 230 : 320; // on a phone the controls need room below it
    return { width: "container", height, data: { name: "curve", values }, layer: facts.covariance ? [band, line] : [line] };
  }

  function coefficientRows() {
    return facts.parts.flatMap((part, place) => partRows(part, place));
  }

  // One row per coefficient of a part; with competing risks the cause comes first.
  function partRows(part, place) {
    const ratio = facts.link === "probit" ? (value) => value : Math.exp;
    const before = part.alpha.flat().length;
    return facts.coefficients.map((item, index) => {
      const title = item.reference === null ? item.title : `${item.title} ${fill(words.versus, { level: item.reference })}`;
      const name = part.cause === null ? title : `${part.cause}: ${title}`;
      const step = item.number === null ? 1 : niceStep(facts.covariates[item.number]);
      const value = part.beta[index] * step;
      const at = place * (before + part.beta.length) + before + index;
      const error = facts.covariance ? Math.sqrt(facts.covariance[at][at]) * step : null;
      return {
        name, curve: item.curve, step, coefficient: part.beta[index],
        error: error === null ? null : error / step,
        label: step === 1 ? name : `${name}, ${fill(words.per, { step })}`,
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

  // A name in one or two lines of at most so many signs; what does not fit is cut by the chart.
  function inLines(name, most) {
    const cut = name.length > most ? name.lastIndexOf(" ", most) : -1;
    return cut > 0 ? [name.slice(0, cut), name.slice(cut + 1)] : [name];
  }

  const VALUES = 118; // pixels that a ratio with its interval takes
  const BESIDE = 430; // from this width on names stand beside their lines, on a phone above them

  function forestRows() {
    const room = element("forest-chart").clientWidth;
    const beside = room >= BESIDE;
    const signs = (beside ? 0.36 * room : room - VALUES) / 6.8;
    return coefficientRows().filter((item) => !item.curve).map((item) => ({ ...item, beside, lines: inLines(item.label, signs) }));
  }

  const tall = (rows) => rows.some((item) => item.lines.length > 1);
  const forestStep = (rows) => (rows[0].beside ? (tall(rows) ? 40 : 30) : tall(rows) ? 66 : 50);
  const forestHeight = (rows) => rows.length * forestStep(rows);

  // A row is one band: its name, its line and its numbers are on one height, or close above each other.
  function forestSpec(rows) {
    const probit = facts.link === "probit";
    const beside = rows[0].beside;
    const room = element("forest-chart").clientWidth;
    const [left, right] = beside ? [Math.round(0.36 * room), VALUES + 12] : [0, 0];
    const yOffset = beside ? 0 : tall(rows) ? 20 : 13;
    const values = rows.map((item) => ({ ...item, text: item.lower === null ? show(item.ratio, 2) : `${show(item.ratio, 2)} (${show(item.lower, 2)}–${show(item.upper, 2)})` }));
    const ends = values.flatMap((item) => [item.lower ?? item.ratio, item.upper ?? item.ratio, probit ? 0 : 1]).filter((value) => Number.isFinite(value) && (probit || value > 0));
    const scale = { ...(probit ? { zero: false } : { type: "log" }), domain: [Math.min(...ends), Math.max(...ends)], nice: false, padding: 14 };
    const x = (field) => ({ field, type: "quantitative", scale, axis: { tickCount: 4, format: ".3~g", labelOverlap: "greedy", labelSeparation: 8 }, title: `← ${words.lower_risk} · ${facts.ratio} · ${words.higher_risk} →` });
    const y = { field: "label", type: "nominal", sort: null, axis: null, scale: { padding: 0.35 } };
    const text = (field, align, place, dx) => ({ mark: { type: "text", align, dx, dy: beside ? 0 : -8, baseline: beside ? "middle" : "alphabetic", fontSize: 12, color: colour("ink"), limit: align === "left" && !beside ? Math.max(room - VALUES, 60) : beside && dx < 0 ? left - 12 : VALUES }, encoding: { y, x: { value: place }, text: { field } } });
    const names = (count, layer) => ({ ...layer, transform: [{ filter: `datum.lines.length === ${count}` }], mark: { ...layer.mark, dy: (beside ? 0 : tall(rows) ? 5 : -8) - (count > 1 ? (beside ? 7 : 13) : 0) } });
    const halo = (layer) => (beside ? [layer] : [{ ...layer, mark: { ...layer.mark, stroke: colour("panel"), strokeWidth: 4 } }, layer]);
    return {
      width: Math.max(room - left - right - (beside ? 0 : 16), 120), height: forestHeight(rows), data: { values },
      ...(beside ? { autosize: { type: "pad" } } : { width: "container" }),
      layer: [
        ...(beside ? [{ mark: { type: "rule", color: colour("line"), strokeWidth: 1 }, encoding: { y, x: { value: 0 }, x2: { value: "width" } } }] : []),
        { data: { values: [{ none: probit ? 0 : 1 }] }, mark: { type: "rule", strokeDash: [4, 3], color: colour("soft") }, encoding: { x: x("none") } },
        ...(facts.covariance ? [{ mark: { type: "rule", strokeWidth: 2, yOffset, color: colour("ink") }, encoding: { y, x: x("lower"), x2: { field: "upper" } } }] : []),
        { mark: { type: "point", filled: true, size: 90, yOffset, color: colour("a"), opacity: 1 }, encoding: { y, x: x("ratio") } },
        ...(beside ? [1, 2].map((count) => names(count, text("lines", "right", 0, -10))) : [1, 2].flatMap((count) => halo(names(count, text("lines", "left", 0, 0))))),
        ...(beside ? [text("text", "left", "width", 10)] : [1, 2].flatMap((count) => halo(names(count, text("text", "right", "width", 0))))),
      ],
    };
  }

  // Effects that change with time: the ratio of each period, as steps with their bands.
  function changeRows() {
    return facts.parts.flatMap((part, place) => facts.changing.flatMap((item) => {
      const step = item.number === null ? 1 : niceStep(facts.covariates[item.number]);
      const versus = item.reference === null ? item.title : `${item.title} ${fill(words.versus, { level: item.reference })}`;
      const named = part.cause === null ? versus : `${part.cause}: ${versus}`;
      const title = step === 1 ? named : `${named}, ${fill(words.per, { step })}`;
      return survival.steps(facts, place, { ...item, step }).map((found) => ({ title, ...found }));
    }));
  }

  function changesSpec(rows) {
    const room = element("changes-chart").clientWidth;
    const columns = Math.max(1, Math.min(3, Math.floor(room / 215)));
    const width = room / columns - 66;
    const probit = facts.link === "probit";
    const none = probit ? 0 : 1;
    const points = rows.flatMap((item) => [item.start, item.end].map((time) => ({ ...item, time })));
    const ends = rows.flatMap((item) => [item.ratio, item.lower ?? item.ratio, item.upper ?? item.ratio, none]).filter((value) => Number.isFinite(value) && (probit || value > 0));
    const scale = { ...(probit ? { zero: false } : { type: "log" }), domain: [Math.min(...ends), Math.max(...ends)], nice: false, padding: 6 };
    const y = (field) => ({ field, type: "quantitative", scale, title: null, axis: { tickCount: 4, format: ".3~g" } });
    const x = { ...timeAxis(), title: null, axis: { tickCount: 4, format: ".6~g", labelOverlap: "greedy" } };
    const one = (title) => ({
      transform: [{ filter: { field: "title", equal: title } }], width, height: 110,
      title: { text: inLines(title, width / 6.2), anchor: "start", fontSize: 12, fontWeight: "normal", limit: width + 40, color: colour("ink") },
      layer: [
        { mark: { type: "rule", strokeDash: [4, 3], color: colour("soft") }, encoding: { y: { datum: none, type: "quantitative" } } },
        ...(facts.covariance ? [{ transform: [{ filter: "datum.time === datum.start" }], mark: { type: "rect", color: colour("a"), opacity: 0.2 }, encoding: { x: { ...x, field: "start" }, x2: { field: "end" }, y: y("lower"), y2: { field: "upper" } } }] : []),
        { mark: { type: "line", interpolate: "step-after", color: colour("a"), strokeWidth: 2.2 }, encoding: { x, y: y("ratio") } },
      ],
    });
    return { data: { values: points }, columns, spacing: { row: 18, column: 16 }, concat: [...new Set(rows.map((item) => item.title))].map(one), autosize: "pad" };
  }

  function changesTable(rows) {
    const lines = rows.map((item) => [item.title, `${brief(item.start)} ${words.to} ${brief(item.end)}`, show(item.ratio), item.lower === null ? "—" : `${show(item.lower)} ${words.to} ${show(item.upper)}`]);
    fillTable("changes-table", [words.covariate, facts.time_label, facts.ratio, words.interval], lines);
  }

  function hazardSpec(values) {
    return {
      width: "container", height: 220, data: { name: "curve", values },
      transform: [{ filter: "datum.hazard !== null" }],
      mark: { type: "line", interpolate: "step-before", color: colour("a"), strokeWidth: 2 },
      encoding: { x: timeAxis(), y: { field: "hazard", type: "quantitative", title: words.hazard_axis, axis: { format: "~p" } } },
    };
  }

  // With competing risks: the incidence of every cause for person A, one on top of the other.
  function stackRows() {
    return facts.parts.flatMap((part, place) => survival.curve(facts, state.a, place).map((point) => ({ cause: part.cause, time: point.time, incidence: point.survival })));
  }

  function stackSpec(values) {
    const causes = facts.parts.map((part) => part.cause);
    return {
      width: "container", height: 220, data: { name: "stack", values },
      mark: { type: "area", interpolate: "step-after", opacity: 0.8 },
      encoding: {
        x: timeAxis(),
        y: { field: "incidence", type: "quantitative", stack: "zero", scale: { domain: [0, 1] }, title: words.stack_axis, axis: { format: "%" } },
        color: { field: "cause", type: "nominal", title: null, sort: causes, scale: { domain: causes, scheme: "tableau10" } },
      },
    };
  }

  function stackTable(rows) {
    const times = [...new Set(rows.map((item) => item.time))];
    const at = (time, cause) => show(rows.find((item) => item.time === time && item.cause === cause).incidence);
    const causes = facts.parts.map((part) => part.cause);
    fillTable("stack-table", [facts.time_label, ...causes], times.map((time) => [Number(time.toPrecision(4)), ...causes.map((cause) => at(time, cause))]));
  }

  // One line per number over its range, one point per level, at the chosen time.
  function effectRows() {
    const at = (profile) => survival.at(survival.curve(facts, profile, state.cause), state.effectsTime);
    return controls.flatMap((item, index) => {
      const parts = item.levels ? item.levels.map((_, level) => level) : [...Array(13).keys()].map((step) => item.low + (step / 12) * (item.high - item.low));
      return parts.map((value) => ({ title: item.title, value: item.levels ? null : value, level: item.levels ? item.levels[value] : null, ...bounds(at(state.a.with(index, value))) }));
    });
  }

  function bounds({ survival: middle, lower, upper }) {
    return { survival: middle, lower, upper };
  }

  // As many small charts beside each other as there is room for.
  function effectsSpec(rows) {
    const room = element("effects-chart").clientWidth;
    const columns = Math.max(1, Math.min(3, Math.floor(room / 215)));
    const width = room / columns - 66;
    const y = { field: "survival", ...share, title: null, axis: { ...share.axis, tickCount: 3 } };
    const one = (item) => {
      const frame = { transform: [{ filter: { field: "title", equal: item.title } }], width, height: 100, title: { text: item.title, anchor: "start", fontSize: 12, fontWeight: "normal", limit: width + 40, color: colour("ink") } };
      if (item.levels) {
        const x = { field: "level", type: "nominal", title: null, sort: null, axis: { labelAngle: 0, labelLimit: Math.max(24, width / item.levels.length - 6) } };
        const interval = facts.covariance ? [{ mark: { type: "rule", strokeWidth: 2, color: colour("ink") }, encoding: { x, y: { ...y, field: "lower" }, y2: { field: "upper" } } }] : [];
        const text = { mark: { type: "text", dy: -7, color: colour("ink") }, encoding: { x, y: { ...y, field: facts.covariance ? "upper" : "survival" }, text: { field: "survival", format: ".0%" } } };
        return { ...frame, layer: [{ mark: { type: "bar", color: colour("a"), opacity: 0.7 }, encoding: { x, y } }, ...interval, text] };
      }
      const x = { field: "value", type: "quantitative", title: null, scale: { zero: false, nice: false }, axis: { tickCount: 4, format: ".6~g", labelOverlap: "greedy", labelSeparation: 8 } };
      const band = { mark: { type: "area", color: colour("a"), opacity: 0.2 }, encoding: { x, y: { ...y, field: "lower" }, y2: { field: "upper" } } };
      const line = { mark: { type: "line", color: colour("a"), strokeWidth: 2.2 }, encoding: { x, y } };
      return { ...frame, layer: facts.covariance ? [band, line] : [line] };
    };
    return { data: { name: "effects", values: rows }, columns, spacing: { row: 18, column: 16 }, concat: controls.map(one), autosize: "pad" };
  }

  function lifeSpec(values) {
    const kinds = { field: "kind", type: "nominal", title: null, sort: null };
    return {
      width: "container", height: 220, data: { values },
      mark: { type: "line", interpolate: "step-after", strokeWidth: 2 },
      encoding: {
        x: timeAxis(),
        y: { field: "survival", ...share, title: axisWords() },
        color: { ...kinds, scale: { domain: [words.counts, words.model], range: [colour("a"), colour("b")] }, legend: facts.life_table.expected ? {} : null },
      },
    };
  }

  function lifeRows() {
    const table = facts.life_table;
    if (!table || !table.time || !table.survival) {
      return [];
    }
    const [counted, expected] = state.cause === null ? [table.survival, table.expected] : [table.incidence[state.cause], table.expected_incidence[state.cause]];
    const lines = [[words.counts, counted], ...(expected ? [[words.model, expected]] : [])];
    return lines.flatMap(([kind, values]) => table.time.map((time, index) => ({ kind, time, survival: values[index] })));
  }

  // --- results ----------------------------------------------------------------------------

  function people() {
    return state.compare ? ["a", "b"] : ["a"];
  }

  function curves() {
    return people().map((person) => ({ person: person.toUpperCase(), points: survival.curve(facts, state[person], state.cause) }));
  }

  function answers(found) {
    const heads = found.map((item) => words[`person_${item.person.toLowerCase()}`]);
    element("answers-head").replaceChildren(row([facts.time_label, ...heads], "th"));
    const cell = (point) => between(...["survival", "lower", "upper"].map((name) => show(point[name])));
    const lines = state.times.map((time) => row([String(brief(time)), ...found.map((item) => cell(survival.at(item.points, time)))]));
    const last = brief(facts.horizon);
    const mean = fill(words.restricted_mean, { horizon: facts.unit ? `${last} ${facts.unit}` : last });
    element("answers-title").textContent = state.cause === null ? words.answers : axisWords();
    const ends = state.cause !== null ? [] : [
      row([words.median, ...found.map((item) => medianText(item.points, last))]),
      row([mean, ...found.map((item) => meanText(item.points))]),
    ];
    element("answers").replaceChildren(...lines, ...ends);
  }

  // An estimate with its interval, which has a line of its own on a phone.
  function between(middle, low, high) {
    const found = make("span", { textContent: middle });
    if (facts.covariance && (low !== middle || high !== middle)) {
      found.append(" ", make("span", { className: "interval", textContent: `(${low} ${words.to} ${high})` }));
    }
    return found;
  }

  function medianText(points, last) {
    const text = (name) => {
      const value = survival.median(points, name);
      return value === null ? fill(words.after, { horizon: last }) : String(brief(value));
    };
    return between(...["survival", "lower", "upper"].map(text));
  }

  // The limits are those of the band, integrated: at least as wide as the interval of the mean.
  function meanText(points) {
    const text = (name) => String(brief(survival.mean(points, name)));
    return between(text("survival"), ...(facts.covariance ? [text("lower"), text("upper")] : []));
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

  // Every chart's numbers once more, as a table.
  function tables(found) {
    const percent = (value) => `${(100 * value).toFixed(1)}%`;
    const hazards = found[0].points.slice(1).map((point) => [brief(point.time), percent(point.hazard)]);
    fillTable("hazard-table", [facts.time_label, words.hazard_axis], hazards);
    const effects = effectRows().map((item) => [item.title, item.level ?? rounded(item.value), item.lower === null ? percent(item.survival) : `${percent(item.survival)} (${percent(item.lower)} ${words.to} ${percent(item.upper)})`]);
    fillTable("effects-table", [words.covariate, words.value, axisWords()], effects);
  }

  function lifeTable(rows) {
    const times = [...new Set(rows.map((item) => item.time))];
    const kinds = [...new Set(rows.map((item) => item.kind))];
    const at = (time, kind) => rows.find((item) => item.time === time && item.kind === kind).survival;
    const present = facts.life_table.at_risk;
    const counts = (index) => (present ? [Math.round(present[index]).toLocaleString("en")] : []);
    fillTable("life-table", [facts.time_label, ...kinds, ...(present ? [words.at_risk] : [])], times.map((time, index) => [Number(time.toPrecision(4)), ...kinds.map((kind) => show(at(time, kind))), ...counts(index)]));
    const shown = [facts.edges[0], ...state.times].filter((time) => time <= times.at(-1));
    element("life-risk").hidden = !present;
    if (present) {
      const number = (time) => counts(Math.max(times.findLastIndex((end) => end <= time), 0))[0];
      const columns = [[facts.time_label, words.at_risk], ...shown.map((time) => [String(brief(time)), number(time)])];
      const [head, ...rest] = narrow.matches ? columns : [0, 1].map((place) => columns.map((pair) => pair[place]));
      fillTable("life-risk", head, rest);
    }
  }

  function update() {
    const found = curves();
    answers(found);
    tables(found);
    replace("survival-chart", "curve", flat(found));
    replace("hazard-chart", "curve", flat(found.slice(0, 1)));
    replace("effects-chart", "effects", effectRows());
    if (facts.parts.length > 1) {
      stackTable(stackRows());
      replace("stack-chart", "stack", stackRows());
    }
  }

  async function drawAll() {
    const found = curves();
    await draw("survival-chart", survivalSpec(flat(found)));
    await draw("hazard-chart", hazardSpec(flat(found.slice(0, 1))));
    element("effects-panel").hidden = !facts.covariates.length;
    element("forest-panel").hidden = !facts.covariates.length;
    if (facts.covariates.length) {
      const rows = forestRows();
      element("forest-panel").hidden = !rows.length;
      element("forest-chart").style.minHeight = `${forestHeight(rows) + 40}px`;
      if (rows.length) {
        await draw("forest-chart", forestSpec(rows));
      }
      await draw("effects-chart", effectsSpec(effectRows()));
    }
    if (facts.changing.length) {
      const rows = changeRows();
      changesTable(rows);
      await draw("changes-chart", changesSpec(rows));
    }
    if (facts.parts.length > 1) {
      stackTable(stackRows());
      await draw("stack-chart", stackSpec(stackRows()));
    }
    const life = lifeRows();
    element("life-panel").hidden = !life.length;
    if (life.length) {
      lifeTable(life);
      await draw("life-chart", lifeSpec(life));
    }
    document.documentElement.dataset.ready = "yes";
  }

  function notes() {
    element("band-note").textContent = facts.covariance ? words.band_note : words.no_band_note;
    element("forest-note").textContent = fill(facts.covariance ? words.forest_note : words.forest_note_bare, { ratio: facts.ratio });
    const rows = coefficientRows();
    const head = [words.covariate, words.coefficient, words.standard_error, facts.ratio, words.interval];
    const lines = rows.map((item) => [item.name, item.coefficient.toPrecision(5), item.error === null ? "—" : item.error.toPrecision(3), `${show(item.ratio)}${item.step === 1 ? "" : ` ${fill(words.per, { step: item.step })}`}`, item.lower === null ? "—" : `${show(item.lower)} ${words.to} ${show(item.upper)}`]);
    fillTable("coefficients", head, lines);
  }

  // --- files ------------------------------------------------------------------------------

  function csv() {
    const all = facts.parts.length > 1;
    const lines = [`${all ? "cause," : ""}person,${facts.unit ? `time_${facts.unit}` : "time"},${all ? "probability" : "survival"},lower,upper`];
    for (const cause of all ? [null, ...facts.parts.keys()] : [null]) {
      for (const person of people()) {
        for (const point of survival.curve(facts, state[person], cause)) {
          const name = all ? [cell(cause === null ? "no event" : facts.parts[cause].cause)] : [];
          lines.push([...name, person.toUpperCase(), point.time, point.survival, point.lower ?? "", point.upper ?? ""].join(","));
        }
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
    // BibTeX counts braces that have a backslash too
    const signs = { "{": "\\textbraceleft{}", "}": "\\textbraceright{}", "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}" };
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
    const numbers = event.target.value.split(",").map((text) => text.trim()).filter(Boolean).map(Number);
    const slack = 1e-9 * facts.horizon;
    const good = numbers.filter((value) => Number.isFinite(value) && value >= facts.edges[0] - slack && value <= facts.horizon * 1.005);
    event.target.setAttribute("aria-invalid", String(good.length < numbers.length));
    if (good.length) {
      state.times = good.slice(0, 20).map((value) => Math.min(Math.max(value, facts.edges[0]), facts.horizon));
      update();
    }
  });
  const chosen = element("effects-time");
  const showChosen = () => {
    state.effectsTime = facts.edges[0] + Number(chosen.value) * (facts.horizon - facts.edges[0]);
    element("effects-shown").value = ` ${brief(state.effectsTime)} ${facts.unit ?? ""}`;
  };
  chosen.addEventListener("input", () => {
    showChosen();
    replace("effects-chart", "effects", effectRows());
  });
  facts.parts.filter((part) => part.cause !== null).forEach((part, place) => element("shown").append(make("option", { value: String(place), textContent: part.cause })));
  element("shown-field").hidden = facts.parts.length === 1;
  element("shown").addEventListener("change", (event) => {
    state.cause = event.target.value === "" ? null : Number(event.target.value);
    update();
    drawAll();
  });
  element("controls").addEventListener("submit", (event) => event.preventDefault());
  offer("save-curve", "survival.csv", "text/csv", csv);
  offer("save-table", "ratios.csv", "text/csv", ratioCsv);
  offer("save-latex", "ratios.tex", "text/x-tex", ratioLatex);
  offer("save-citation", "citation.bib", "text/x-bibtex", bibtex);
  offer("save-picture", "survival.svg", "image/svg+xml", () => views["survival-chart"].toSVG());
  offer("save-png", "survival.png", "image/png", png);
  dark.addEventListener("change", drawAll);
  narrow.addEventListener("change", drawAll);
  window.discreet = { survival, facts, state };
  showChosen();
  notes();
  update();
  drawAll();
})();
