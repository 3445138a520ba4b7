// Curves by group: one chart, one table, two downloads. Names are set as text, never HTML.
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const facts = read("facts");
  const element = (id) => document.getElementById(id);
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const columns = [...(facts.causes.length ? ["cause"] : []), "group", "time", "at_risk", "estimate", "lower", "upper", "lower_simultaneous", "upper_simultaneous"];

  function theme() {
    const ink = colour("ink");
    const axis = { labelColor: ink, titleColor: ink, gridColor: colour("line"), domainColor: ink, tickColor: ink };
    return {
      background: null,
      font: "system-ui, sans-serif",
      axis: { ...axis, labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal" },
      legend: { labelColor: ink, titleColor: ink, orient: "bottom", columns: 3, labelLimit: 300 },
      view: { stroke: null },
    };
  }

  function spec(simultaneous) {
    const ending = simultaneous ? "_simultaneous" : "";
    const domain = [facts.times[0], facts.times[facts.times.length - 1]];
    const x = { field: "time", type: "quantitative", title: facts.time_label, scale: { domain, nice: false } };
    const shade = { field: "group", type: "nominal", title: null, sort: facts.groups, scale: { scheme: "tableau10" } };
    const share = { type: "quantitative", scale: { domain: [0, 1] }, axis: { format: "%" } };
    const band = {
      mark: { type: "area", opacity: 0.17 },
      encoding: { x, y: { field: `lower${ending}`, ...share, title: element("cause").selectedOptions[0].textContent }, y2: { field: `upper${ending}` }, color: shade },
    };
    const line = { mark: { type: "line", strokeWidth: 2.3 }, encoding: { x, y: { field: "estimate", ...share }, color: shade } };
    const values = facts.rows.filter((row) => row.cause === element("cause").value);
    return { width: "container", height: 380, data: { values }, layer: [band, line] };
  }

  async function draw() {
    const full = { $schema: "https://vega.github.io/schema/vega-lite/v6.json", autosize: { type: "fit-x", contains: "padding" }, ...spec(element("simultaneous").checked), config: theme() };
    await vegaEmbed("#curves-chart", full, { actions: false, renderer: "svg", ast: true, defaultStyle: false, tooltip: false, mode: "vega-lite" });
  }

  function fillTable() {
    const table = element("numbers");
    const row = (cells, tag) => {
      const line = document.createElement("tr");
      cells.forEach((cell) => line.append(Object.assign(document.createElement(tag), { textContent: cell })));
      table.append(line);
    };
    row(columns.map((name) => name.replace("_", " ")), "th");
    const shown = (value) => (typeof value === "number" ? Number(value.toPrecision(5)) : value);
    facts.rows.forEach((item) => row(columns.map((name) => shown(item[name])), "td"));
  }

  function save(name, text, type) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  // A text that a spreadsheet would take for a formula gets a quote in front.
  function cell(value) {
    if (typeof value === "number") return String(value);
    const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
    return `"${safe.replaceAll('"', '""')}"`;
  }

  function csv() {
    const lines = facts.rows.map((item) => columns.map((name) => cell(item[name])).join(","));
    return [columns.join(","), ...lines].join("\n") + "\n";
  }

  facts.causes.forEach((name) => element("cause").append(Object.assign(document.createElement("option"), { value: name, textContent: name })));
  element("cause-field").hidden = !facts.causes.length;
  element("cause").addEventListener("change", draw);
  element("simultaneous").addEventListener("change", draw);
  element("save-csv").addEventListener("click", () => save(`${facts.release_id}.csv`, csv(), "text/csv"));
  element("save-json").addEventListener("click", () => save(`${facts.release_id}.json`, JSON.stringify(read("document"), null, 2), "application/json"));
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  fillTable();
  draw();
})();
