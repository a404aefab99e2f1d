// What the address says is shown: `#12` is a program, `#12/parse.c:7` a line of it.

let scrolledTo = 0;

/** Anybody can write an address. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function follow() {
  const [, number, place] = /^#(\d+)(?:\/(.*))?$/.exec(location.hash) ?? [];
  const row = Number(number);
  if (number === undefined || row >= rowCount) {
    showList();
    return;
  }
  if (!list.section.hidden) scrolledTo = list.scroll.scrollTop;
  list.section.hidden = true;
  program.article.hidden = false;
  if (program.row !== row) showProgram(row);
  if (place === undefined) {
    window.scrollTo(0, 0);
    program.article.focus({ preventScroll: true });
  } else {
    showLine(decoded(place));
  }
}

function showList() {
  const was = program.row;
  program.row = null;
  program.article.hidden = true;
  program.article.replaceChildren();
  list.section.hidden = false;
  document.title = data.head.title;
  if (was === null) return;
  list.scroll.scrollTop = scrolledTo;
  const place = list.order.indexOf(was);
  if (place >= 0) moveTo(place);
}

program.article.addEventListener("keydown", (event) => {
  if (event.key === "Escape") location.hash = "";
});
window.addEventListener("hashchange", follow);

const counted = verdicts ? [...verdicts.values.reduce(
  (counts, value) => counts.set(value, (counts.get(value) ?? 0) + 1), new Map())] : [];
const countsOf = ([value, count]) => `${numberForm.format(count)} ${strings[value]}`;
if (verdicts) {
  document.getElementById("counts").textContent =
    `${verdicts.heading}: ${counted.map(countsOf).join(", ")}`;
}
const notes = document.getElementById("notes");
if (data.head.notes.length === 0) notes.remove();
else notes.append(make("ul", {}, ...data.head.notes.map((note) => make("li", {}, note))));
notes.open = data.head.notes_open;
buildList();
refresh();
follow();
