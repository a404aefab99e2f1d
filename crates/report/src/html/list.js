// The table of programs. Only rows in sight are elements: there may be many thousands.

/** In pixels, by the size of letters that the reader has chosen; the style has it as --row. */
const ROW_HEIGHT = Math.round(1.86 * parseFloat(getComputedStyle(document.documentElement).fontSize));
document.documentElement.style.setProperty("--row", `${ROW_HEIGHT}px`);
const ROWS_AROUND = 12;
/** The width of a digit in the wider fonts, of the size of letters. */
const DIGIT = 0.62;
const list = {
  section: document.getElementById("list"),
  scroll: document.getElementById("scroll"),
  table: document.getElementById("programs"),
  filter: document.getElementById("filter"),
  verdict: document.getElementById("verdict"),
  status: document.getElementById("status"),
  body: make("tbody"),
  headings: [],
  /** Rows of the data, filtered and sorted. */
  order: Array.from({ length: rowCount }, (_, row) => row),
  sortedBy: null,
  isDown: false,
  /** Place in the order that the arrow keys are at. */
  active: 0,
  /** Elements of the rows in sight, by their place in the order. */
  inSight: new Map(),
};

const verdicts = columns.find((column) => column.kind === "verdict");
const lowered = strings.map((text) => text.toLowerCase());
/** Strings by their alphabetical order: made when it is asked for. */
let ranks = null;

function rankOf(index) {
  if (!ranks) {
    const order = lowered.map((_, at) => at);
    order.sort((a, b) => (lowered[a] < lowered[b] ? -1 : lowered[a] > lowered[b] ? 1 : a - b));
    ranks = new Uint32Array(strings.length);
    order.forEach((at, rank) => { ranks[at] = rank; });
  }
  return ranks[index];
}

const HOLDS = {
  "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b,
  ">=": (a, b) => a >= b, "=": (a, b) => a === b, "!=": (a, b) => a !== b,
};

/** A word of the filter as a question about a row. */
function question(word) {
  const [, name, sign, bound] = /^([^<>=!]+)(<=|>=|!=|<|>|=)(.+)$/.exec(word) ?? [];
  const column = columns.find((it) => it.names.includes(name));
  if (column?.kind === "number" && /^-?\d+$/.test(bound)) {
    return (row) => HOLDS[sign](column.values[row], Number(bound));
  }
  if (column && column.kind !== "number" && (sign === "=" || sign === "!=")) {
    return (row) => HOLDS[sign](lowered[column.values[row]], bound);
  }
  const isNot = word.length > 1 && word.startsWith("!");
  const wanted = isNot ? word.slice(1) : word;
  const has = lowered.map((text) => text.includes(wanted));
  const texts = columns.filter((it) => it.kind !== "number");
  return (row) => texts.some((it) => has[it.values[row]]) !== isNot;
}

/** Asks the filter and sorts what is left. */
function refresh() {
  const words = list.filter.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const asked = words.map(question);
  if (list.verdict.value !== "") {
    const wanted = Number(list.verdict.value);
    asked.push((row) => verdicts.values[row] === wanted);
  }
  list.order = [];
  for (let row = 0; row < rowCount; row++) {
    if (asked.every((holds) => holds(row))) list.order.push(row);
  }
  if (list.sortedBy) {
    const { values, kind } = list.sortedBy;
    const key = kind === "number" ? (row) => values[row] : (row) => rankOf(values[row]);
    const sign = list.isDown ? -1 : 1;
    list.order.sort((a, b) => sign * (key(a) - key(b)) || a - b);
  }
  const [found, all] = [list.order.length, rowCount].map((n) => numberForm.format(n));
  list.status.textContent = found === all ? `${all} ${data.head.what}` : `${found} of ${all} ${data.head.what}`;
  list.table.setAttribute("aria-rowcount", list.order.length + 1);
  list.active = 0;
  list.scroll.scrollTop = 0;
  drawRows(true);
}

function drawRow(place) {
  const row = list.order[place];
  const cells = columns.map((column, at) => {
    const text = textOf(column, row);
    if (at === 0) {
      const link = make("a", { href: `#${row}`, tabindex: place === list.active ? 0 : -1 }, text || "(no name)");
      return make("th", { scope: "row", title: text }, link);
    }
    const classes = { number: "number", verdict: tone(text), text: undefined }[column.kind];
    return make("td", { class: classes, title: text.length > 30 ? text : undefined }, text);
  });
  return make("tr", { "aria-rowindex": place + 2, class: place % 2 ? "odd" : undefined }, ...cells);
}

function spacer(rows) {
  const cell = make("td", { colspan: columns.length });
  cell.style.height = `${rows * ROW_HEIGHT}px`;
  return make("tr", { class: "spacer", "aria-hidden": "true" }, cell);
}

/** Makes elements for what is in sight, and keeps those that still are. */
function drawRows(anew) {
  const first = Math.max(0, Math.floor(list.scroll.scrollTop / ROW_HEIGHT) - ROWS_AROUND);
  const height = list.scroll.clientHeight || window.innerHeight;
  const count = Math.ceil(height / ROW_HEIGHT) + 2 * ROWS_AROUND;
  const end = Math.min(list.order.length, first + count);
  const hadFocus = list.body.contains(document.activeElement);
  const known = anew ? new Map() : list.inSight;
  list.inSight = new Map();
  for (let place = first; place < end; place++) {
    list.inSight.set(place, known.get(place) ?? drawRow(place));
  }
  list.body.replaceChildren(spacer(first), ...list.inSight.values(), spacer(list.order.length - end));
  if (hadFocus) {
    const link = list.inSight.get(list.active)?.querySelector("a");
    (link ?? list.scroll).focus({ preventScroll: true });
  }
}

/** Moves to a place in the order, and there with the focus. */
function moveTo(place) {
  if (list.order.length === 0) return;
  list.inSight.get(list.active)?.querySelector("a").setAttribute("tabindex", -1);
  list.active = Math.min(Math.max(place, 0), list.order.length - 1);
  const head = list.headings[0].offsetHeight;
  const top = list.active * ROW_HEIGHT;
  const room = list.scroll.clientHeight - head - ROW_HEIGHT;
  if (list.scroll.scrollTop > top) list.scroll.scrollTop = top;
  if (list.scroll.scrollTop < top - room) list.scroll.scrollTop = top - room;
  drawRows(false);
  const link = list.inSight.get(list.active)?.querySelector("a");
  link?.setAttribute("tabindex", 0);
  link?.focus({ preventScroll: true });
}

function sortBy(at) {
  const column = columns[at];
  list.isDown = list.sortedBy === column ? !list.isDown : column.kind === "number";
  list.sortedBy = column;
  list.headings.forEach((heading, index) => {
    if (index !== at) heading.removeAttribute("aria-sort");
    else heading.setAttribute("aria-sort", list.isDown ? "descending" : "ascending");
  });
  refresh();
}

/** Digits that a column is as wide as, within reason; letters are narrower. */
function widthOf(column, at) {
  let longest = 0;
  if (column.kind === "number") {
    const widest = column.values.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
    longest = numberForm.format(widest).length;
  } else {
    longest = 0.9 * column.values.reduce((a, b) => Math.max(a, strings[b].length), 0);
  }
  const words = column.heading.split(" ").map((word) => word.length + 1.5);
  return Math.max(4, ...words, Math.min(longest, at === 0 ? 30 : 36));
}

function buildList() {
  const widths = columns.map(widthOf);
  const cols = widths.map((width, at) => {
    const col = make("col");
    // The last column takes what is left.
    if (at + 1 < widths.length) col.style.width = `${DIGIT * width + 1}rem`;
    return col;
  });
  list.headings = columns.map((column, at) => {
    const button = make("button", { type: "button" }, column.heading);
    button.addEventListener("click", () => sortBy(at));
    return make("th", { scope: "col", class: column.kind === "number" ? "number" : undefined }, button);
  });
  const head = make("thead", {}, make("tr", { "aria-rowindex": 1 }, ...list.headings));
  list.table.append(make("colgroup", {}, ...cols), head, list.body);
  const digits = widths.reduce((sum, width) => sum + width, 0);
  list.table.style.width = `${DIGIT * digits + columns.length}rem`;
  const words = verdicts ? [...new Set(verdicts.values)] : [];
  const label = document.querySelector("label[for=verdict]");
  label.textContent = verdicts?.heading;
  label.hidden = list.verdict.hidden = !verdicts;
  list.section.setAttribute("aria-label", data.head.what);
  list.scroll.setAttribute("aria-label", `Table of ${data.head.what}`);
  list.table.caption.textContent = data.head.what;
  const numeric = columns.find((column) => column.kind === "number");
  const verdict = columns.filter((column) => column.kind === "verdict").at(-1);
  document.getElementById("condition").textContent = numeric
    ? `${numeric.names.at(-1)}>1000` : `${verdict?.names.at(-1)}=refused`;
  list.verdict.append(make("option", { value: "" }, "any"));
  list.verdict.append(...words.map((index) => make("option", { value: index }, strings[index])));
  list.filter.addEventListener("input", refresh);
  list.verdict.addEventListener("change", refresh);
  list.scroll.addEventListener("scroll", () => requestAnimationFrame(() => drawRows(false)));
  window.addEventListener("resize", () => requestAnimationFrame(() => drawRows(false)));
  list.body.addEventListener("focusin", (event) => {
    const row = event.target.closest("tr");
    for (const [place, element] of list.inSight) if (element === row) list.active = place;
  });
  list.scroll.addEventListener("keydown", (event) => {
    const page = Math.max(1, Math.floor(list.scroll.clientHeight / ROW_HEIGHT) - 2);
    const isInside = list.body.contains(event.target);
    const to = {
      ArrowDown: isInside ? list.active + 1 : list.active, ArrowUp: list.active - 1,
      PageDown: list.active + page, PageUp: list.active - page, Home: 0, End: list.order.length - 1,
    }[event.key];
    if (to === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    moveTo(to);
  });
}
