// Curves by group: one chart, one table, two downloads. Names are set as text, never HTML.
(() => {
  const { element, facts, dark, make, cell, offer } = page;
  const limits = ["lower", "upper", "lower_simultaneous", "upper_simultaneous"];
  const columns = [...(facts.causes.length ? ["cause"] : []), "group", "time", "at_risk", "estimate", ...limits, ...limits.map((name) => `sample_${name}`), "known_until"];
  const dashes = [[1, 0], [7, 3], [2, 2], [9, 3, 2, 3], [4, 2, 1, 2, 1, 2]];
  const last = facts.times[facts.times.length - 1];
  // Bands of many groups would hide each other: then the reader chooses whose band is drawn.
  const many = facts.groups.length > 6;
  const chosen = (row) => !many || row.group === element("band").value;

  // Within a stretch a curve is between its values at both ends, so steps of a band hold both.
  function steps(rows, low, high) {
    return rows.map((row, index) => {
      const next = rows[index + 1];
      const joined = next && next.group === row.group ? next : row;
      return { ...row, shown: row.time / facts.unit, low: Math.min(row[low], joined[low]), high: Math.max(row[high], joined[high]) };
    });
  }

  function spec(simultaneous, sample) {
    const [low, high] = ["lower", "upper"].map((side) => `${sample ? "sample_" : ""}${side}${simultaneous ? "_simultaneous" : ""}`);
    const domain = [facts.times[0] / facts.unit, last / facts.unit];
    const x = { field: "shown", type: "quantitative", title: facts.time_label, scale: { domain, nice: false }, axis: { tickCount: 8 } };
    const longest = Math.max(...facts.groups.map((name) => name.length));
    const columns = Math.max(1, Math.floor((element("curves-chart").clientWidth - 60) / (60 + 7 * Math.min(longest, 40))));
    const named = { field: "group", type: "nominal", title: null, sort: facts.groups, legend: { symbolType: "stroke", symbolFillColor: "transparent", symbolOpacity: 1, symbolSize: 900, symbolStrokeWidth: 2.2, columns } };
    const shade = { ...named, scale: { scheme: "tableau10", domain: facts.groups } };
    const dash = { ...named, scale: { domain: facts.groups, range: facts.groups.map((_, index) => dashes[index % dashes.length]) } };
    const share = { type: "quantitative", scale: { domain: [0, 1] }, axis: { format: "%" } };
    const title = element("cause").selectedOptions[0].textContent;
    const band = { x, y: { field: "low", ...share, title }, y2: { field: "high" }, color: shade };
    const at = (field) => ({ x, y: { field, ...share }, color: shade, strokeDash: dash });
    const rows = steps(facts.rows.filter((row) => row.cause === element("cause").value), low, high);
    const isHidden = (row) => facts.hidden.includes(row.group);
    const curves = rows.filter((row) => !isHidden(row) && row.time <= row.known_until);
    const lines = { values: curves.map((row) => ({ ...row, strength: chosen(row) ? 1 : 0.45 })) };
    const known = { values: curves.filter(chosen) };
    const later = { values: rows.filter((row) => chosen(row) && row.time >= row.known_until && row.known_until < last) };
    const hidden = { values: rows.filter((row) => chosen(row) && isHidden(row)) };
    const ends = {
      values: rows.filter((row) => chosen(row) && row.time === (isHidden(row) ? last : row.known_until))
        .map((row) => ({ ...row, place: isHidden(row) ? row[high] : row.estimate })),
    };
    const opacity = { field: "strength", type: "quantitative", legend: null, scale: null };
    const edge = { type: "line", strokeWidth: 0.8, opacity: 0.7, interpolate: "step-after" };
    const layer = [
      { data: later, mark: { type: "area", opacity: 0.07, interpolate: "step-after" }, encoding: band },
      { data: known, mark: { type: "area", opacity: 0.17, interpolate: "step-after" }, encoding: band },
      { data: hidden, mark: edge, encoding: at(low) },
      { data: hidden, mark: edge, encoding: at(high) },
      { data: lines, mark: { type: "line", strokeWidth: 2.2, interpolate: "step-after" }, encoding: { ...at("estimate"), opacity } },
      ...[{ stroke: page.colour("paper"), strokeWidth: 4 }, {}].map((halo) => ({
        data: ends, mark: { type: "text", align: "right", dx: -3, dy: -8, fontSize: 12, ...halo },
        encoding: { x, y: { field: "place", ...share }, text: { field: "group" }, color: shade },
      })),
    ];
    return { width: "container", height: 380, layer };
  }

  // Numbers at risk under the picture, at the starts of stretches next to round times.
  function listAtRisk() {
    const starts = facts.times.slice(0, -1);
    const span = (last - starts[0]) / facts.unit;
    const power = 10 ** Math.floor(Math.log10(span / 6));
    const step = facts.unit * power * [1, 2, 5, 10].find((factor) => factor * power >= span / 6);
    const round = Array.from({ length: Math.ceil((last - starts[0]) / step) }, (_, index) => starts[0] + index * step);
    const near = (time) => starts.reduce((best, start, index) => (Math.abs(start - time) < Math.abs(starts[best] - time) ? index : best), 0);
    const chosen = [...new Set(round.map(near))];
    const shown = (value) => (Math.abs(value - Math.round(value)) < 0.01 ? Math.round(value) : Number(value.toPrecision(3)));
    const head = [facts.time_label, ...chosen.map((index) => shown(starts[index] / facts.unit))];
    const body = facts.groups.map((group) => {
      const own = facts.rows.filter((row) => row.group === group && row.cause === "");
      return [group, ...chosen.map((index) => Math.round(own[index].at_risk))];
    });
    page.fillTable("at-risk", head, body);
  }

  async function draw() {
    await page.draw("curves-chart", spec(element("simultaneous").checked, element("sample").checked));
    document.documentElement.dataset.ready = "yes";
  }

  function listNumbers() {
    const shown = (value) => (typeof value === "number" ? Number(value.toPrecision(5)) : value);
    const head = columns.map((name) => name.replaceAll("_", " "));
    page.fillTable("numbers", head, facts.rows.map((item) => columns.map((name) => shown(item[name]))));
  }

  function csv() {
    const lines = facts.rows.map((item) => columns.map((name) => cell(item[name])).join(","));
    return [columns.join(","), ...lines].join("\n") + "\n";
  }

  facts.causes.forEach((name) => element("cause").append(make("option", { value: name, textContent: name })));
  element("cause-field").hidden = !facts.causes.length;
  facts.groups.forEach((name) => element("band").append(make("option", { value: name, textContent: name })));
  element("band").value = facts.groups.find((name) => !facts.hidden.includes(name)) ?? facts.groups[0];
  element("band-field").hidden = !many;
  element("band").addEventListener("change", draw);
  element("cause").addEventListener("change", draw);
  element("simultaneous").addEventListener("change", draw);
  element("sample").addEventListener("change", draw);
  offer("save-curve", `${facts.release_id}.csv`, "text/csv", csv);
  dark.addEventListener("change", draw);
  listNumbers();
  listAtRisk();
  draw();
})();
