// One program: its cells as facts, and its blocks.

const program = {
  article: document.getElementById("program"),
  row: null,
  /** Elements of source lines, by place. */
  lines: new Map(),
};

/** A place is a link if its line is on the page. */
function placeLink(text) {
  if (!program.lines.has(text)) return text;
  return make("a", { href: `#${program.row}/${encodeURIComponent(text)}` }, text);
}

/** Words with `code` in them. */
function inline(text) {
  return text.split("`").map((part, at) => (at % 2 ? make("code", {}, part) : part));
}

/** Paragraphs, lists and fenced code. */
function prose(text) {
  const parts = [];
  text.split(/^```.*$/m).forEach((part, at) => {
    if (at % 2) {
      parts.push(make("pre", { tabindex: 0 }, part.replace(/^\n|\n$/g, "")));
      return;
    }
    for (const paragraph of part.split(/\n\s*\n/).map((it) => it.trim()).filter((it) => it)) {
      const isList = /^[-*] /.test(paragraph);
      const items = isList ? paragraph.split(/\n(?=[-*] )/).map((item) => item.slice(2)) : [];
      parts.push(isList
        ? make("ul", {}, ...items.map((item) => make("li", {}, ...inline(item))))
        : make("p", {}, ...inline(paragraph)));
    }
  });
  return parts;
}

function story(block) {
  const steps = block.steps.map(([text, place, source]) => {
    const item = make("li", {}, strings[text]);
    if (place !== undefined) {
      item.append(" ", make("span", { class: "place" }, placeLink(strings[place])));
      item.append(make("code", { class: "line" }, strings[source].trim()));
    }
    return item;
  });
  return [make("ol", { class: "story" }, ...steps)];
}

/** What stands around a table that may be wider than the page. */
function wide(label, content) {
  return make("div", { class: "wide", role: "region", "aria-label": label, tabindex: 0 }, content);
}

function source(block) {
  const hottest = Math.max(1, ...block.lines.map((line) => line[2][0] ?? 0));
  const hasSteps = block.lines.some((line) => line[3].length > 0);
  let before = null;
  const rows = block.lines.map(([place, text, numbers, steps]) => {
    const row = program.lines.get(strings[place]);
    const number = Number(/\d+$/.exec(strings[place])?.[0]);
    // What is between lines of the source is not known.
    row.className = before !== null && number !== before + 1 ? "gap" : "";
    before = number;
    row.append(make("th", { scope: "row" }, strings[place]));
    if (hasSteps) row.append(make("td", { class: "steps" }, steps.join(", ")));
    numbers.forEach((it, at) => {
      const isNever = at === 0 && it === 0;
      const cell = make("td", { class: at > 0 ? "number" : isNever ? "number bad" : "number heat" },
        numberForm.format(it));
      if (at === 0) cell.style.setProperty("--heat-width", `${(100 * it) / hottest}%`);
      row.append(cell);
    });
    row.append(make("td", {}, make("code", { class: "line" }, strings[text])));
    return row;
  });
  const headings = ["Line", ...(hasSteps ? ["Steps"] : []), ...block.columns.map((it) => strings[it])];
  const head = headings.map((it, at) =>
    make("th", { scope: "col", class: at >= headings.length - block.columns.length ? "number" : undefined }, it));
  head.push(make("th", { scope: "col" }, "Source"));
  const table = make("table", { class: "source" },
    make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows));
  return [wide(strings[block.heading], table)];
}

function table(block) {
  const isNumber = (cell) => !Array.isArray(cell) || /^([\d.]+|-)$/.test(strings[cell[0]]);
  const isNumeric = block.columns.map((_, at) => block.rows.every((row) => isNumber(row[at])));
  const classOf = (at) => (isNumeric[at] ? "number" : undefined);
  const head = block.columns.map((it, at) => make("th", { scope: "col", class: classOf(at) }, strings[it]));
  const rows = block.rows.map((row) => {
    const cells = row.map((cell, at) => {
      const content = Array.isArray(cell) ? placeLink(strings[cell[0]]) : numberForm.format(cell);
      return make(at === 0 ? "th" : "td", { scope: at === 0 ? "row" : undefined, class: classOf(at) }, content);
    });
    return make("tr", {}, ...cells);
  });
  return [wide(strings[block.heading], make("table", {},
    make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows)))];
}

function picture(block) {
  const svg = new DOMParser().parseFromString(strings[block.svg], "image/svg+xml").documentElement;
  return [wide(strings[block.heading], document.importNode(svg, true))];
}

const DRAW = {
  prose: (block) => prose(strings[block.text]),
  verbatim: (block) => [make("pre", { tabindex: 0 }, strings[block.text])],
  story, source, table, picture,
};

/** The links to the programs beside it, in the order of the list. */
function neighbours(row) {
  const at = list.order.indexOf(row);
  const link = (to, text) => (to === undefined ? [] : [make("a", { href: `#${to}` }, text)]);
  const links = [make("a", { href: "#", id: "back" }, `All ${data.head.what}`)];
  if (at >= 0) links.push(...link(list.order[at - 1], "Previous"), ...link(list.order[at + 1], "Next"));
  return make("nav", { "aria-label": data.head.what }, ...links);
}

function showProgram(row) {
  program.row = row;
  const blocks = details[row].map((index) => data.blocks[index]);
  const lines = blocks.filter((block) => block.kind === "source").flatMap((block) => block.lines);
  program.lines = new Map(lines.map(([place]) => [strings[place], make("tr", { tabindex: -1 })]));
  const facts = columns.slice(1).map((column) => {
    const text = textOf(column, row);
    const value = column.kind === "verdict" ? make("span", { class: tone(text) }, text) : text;
    return [column.heading, text, value];
  });
  // What a block says in full is no fact beside it.
  const said = blocks.filter((block) => block.kind === "verbatim").map((block) => strings[block.text]);
  const shown = facts.filter(([, text]) => text !== "" && !said.some((it) => it.startsWith(text)));
  const entries = shown.map(([heading, , value]) =>
    make("div", {}, make("dt", {}, heading), make("dd", {}, value)));
  const name = textOf(columns[0], row) || "(no name)";
  const parts = [neighbours(row), make("h2", { id: "program-name" }, name), make("dl", {}, ...entries)];
  for (const block of blocks) {
    parts.push(make("section", { class: block.kind },
      make("h3", {}, strings[block.heading]), ...DRAW[block.kind](block)));
  }
  program.article.replaceChildren(...parts);
  document.title = `${name} - ${data.head.title}`;
}

/** Moves to a line of the source that is on the page. */
function showLine(place) {
  const row = program.lines.get(place);
  program.lines.forEach((it) => it.removeAttribute("aria-current"));
  if (!row) return;
  row.setAttribute("aria-current", "true");
  row.scrollIntoView({ block: "center" });
  row.focus({ preventScroll: true });
}
