// Curves by group: one chart, one table, two downloads. Names are set as text, never HTML.
(() => {
  const { element, facts, dark, make, cell, offer } = page;
  const columns = [...(facts.causes.length ? ["cause"] : []), "group", "time", "at_risk", "estimate", "lower", "upper", "lower_simultaneous", "upper_simultaneous", "known_until"];

  function spec(simultaneous) {
    const ending = simultaneous ? "_simultaneous" : "";
    const domain = [facts.times[0], facts.times[facts.times.length - 1]];
    const x = { field: "time", type: "quantitative", title: facts.time_label, scale: { domain, nice: false } };
    const shade = { field: "group", type: "nominal", title: null, sort: facts.groups, scale: { scheme: "tableau10", domain: facts.groups }, legend: { symbolOpacity: 1 } };
    const share = { type: "quantitative", scale: { domain: [0, 1] }, axis: { format: "%" } };
    const limits = { x, y: { field: `lower${ending}`, ...share, title: element("cause").selectedOptions[0].textContent }, y2: { field: `upper${ending}` }, color: shade };
    const middle = { x, y: { field: "estimate", ...share }, color: shade };
    const rows = facts.rows.filter((row) => row.cause === element("cause").value);
    const known = { values: rows.filter((row) => row.time <= row.known_until) };
    // Where a group's data do not reach the band is all that is possible, at once: a step.
    const later = { values: rows.filter((row) => row.time >= row.known_until && row.known_until < domain[1]) };
    const layer = [
      { data: later, mark: { type: "area", opacity: 0.06, interpolate: "step-before" }, encoding: limits },
      { data: known, mark: { type: "area", opacity: 0.17 }, encoding: limits },
      { data: later, mark: { type: "line", strokeWidth: 1.4, strokeDash: [2, 4] }, encoding: middle },
      { data: known, mark: { type: "line", strokeWidth: 2.3 }, encoding: middle },
    ];
    return { width: "container", height: 380, layer };
  }

  async function draw() {
    await page.draw("curves-chart", spec(element("simultaneous").checked));
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
  element("cause").addEventListener("change", draw);
  element("simultaneous").addEventListener("change", draw);
  offer("save-curve", `${facts.release_id}.csv`, "text/csv", csv);
  dark.addEventListener("change", draw);
  listNumbers();
  draw();
})();
