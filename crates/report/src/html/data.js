// The page's data, and how elements are made of text: never of HTML.

const data = JSON.parse(document.getElementById("data").textContent);
const { columns, strings, details } = data.head;
const rowCount = details.length;
const numberForm = new Intl.NumberFormat("en");

/** An element with attributes and children; text stays text. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** What a cell of the large table says. */
function textOf(column, row) {
  const value = column.values[row];
  return column.kind === "number" ? numberForm.format(value) : strings[value];
}

const GOOD = new Set(["accepted", "success", "ok", "all"]);
const BAD = new Set(["refused", "failure", "not loaded", "none"]);

/** The class that colours a verdict; its word says the same. */
function tone(word) {
  return GOOD.has(word) ? "good" : BAD.has(word) ? "bad" : "unsure";
}
