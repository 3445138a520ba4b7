// What every page's script uses. Names are set as text, never HTML.
const page = (() => {
  const element = (id) => document.getElementById(id);
  const read = (id) => JSON.parse(element(id).textContent);
  const facts = read("facts");
  const words = facts.words;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");

  function make(tag, properties = {}) {
    return Object.assign(document.createElement(tag), properties);
  }

  // {name} in a text becomes the value of that name.
  function fill(text, values) {
    return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? values[name] : whole));
  }

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  }

  function theme() {
    const ink = colour("ink");
    const axis = { labelColor: ink, titleColor: ink, gridColor: colour("line"), domainColor: ink, tickColor: ink };
    return {
      background: null,
      font: "system-ui, sans-serif",
      axis: { ...axis, labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal" },
      axisY: { minExtent: 44 }, // labels of another length do not move the picture
      header: { labelColor: ink, titleColor: ink },
      legend: { labelColor: ink, titleColor: ink, orient: "bottom", columns: 3, labelLimit: 300, labelFontSize: 12 },
      view: { stroke: null },
    };
  }

  // A chart in an element; its view, so that data can be replaced without drawing anew.
  async function draw(id, spec) {
    const full = { $schema: "https://vega.github.io/schema/vega-lite/v6.json", autosize: { type: "fit-x", contains: "padding" }, ...spec, config: theme() };
    const found = await vegaEmbed(`#${id}`, full, {
      actions: false, renderer: "svg", ast: true, defaultStyle: false, tooltip: false, mode: "vega-lite",
    });
    element(id).setAttribute("role", "img"); // the chart library says otherwise
    return found.view;
  }

  function row(cells, tag = "td") {
    const line = make("tr");
    cells.forEach((text, index) => {
      const cell = make(index === 0 && tag === "td" ? "th" : tag, { dir: "auto" });
      cell.append(text);
      if (cell.tagName === "TH") {
        cell.scope = tag === "th" ? "col" : "row";
      }
      line.append(cell);
    });
    return line;
  }

  function fillTable(id, head, rows) {
    const [top, body] = [make("thead"), make("tbody")];
    top.append(row(head, "th"));
    body.append(...rows.map((cells) => row(cells)));
    element(id).replaceChildren(top, body);
  }

  function save(name, type, content) {
    const link = make("a", { href: URL.createObjectURL(new Blob([content], { type })), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  // A text that a spreadsheet would take for a formula gets a quote in front.
  function cell(value) {
    if (typeof value === "number") {
      return String(value);
    }
    const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
    return `"${safe.replaceAll('"', '""')}"`;
  }

  // Pressing a button saves what a function makes then; the release is saved by every page.
  function offer(button, name, type, content) {
    element(button).addEventListener("click", async () => save(name, type, await content()));
  }

  offer("save-release", `${facts.release_id}.json`, "application/json", () => JSON.stringify(read("document"), null, 2));
  return { element, facts, words, dark, make, fill, colour, draw, row, fillTable, cell, offer };
})();
