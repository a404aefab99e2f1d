//! Interactions with the pages, by keyboard.

use super::browser::{Browser, Failure};
use super::pages::{HOSTILE, MANY, Pages};
use std::time::Instant;

type Said = Result<String, Failure>;
type Step = fn(&mut Browser, &Pages) -> Said;

/// Each opens a page and uses it; returns a figure for the report.
pub(super) const STEPS: [(&str, Step); 7] = [
    ("filter and verdict", filter),
    ("sort", sort),
    ("open a program, follow a line, go back", open),
    ("arrow keys", arrows),
    ("profile, matrix, stat, compare and coverage", others),
    ("hostile names", hostile),
    ("10,000 programs", many),
];

/// A key, by its name and its virtual key code.
#[derive(Clone, Copy)]
struct Key {
    name: &'static str,
    code: u32,
}

const TAB: Key = Key { name: "Tab", code: 9 };
const ENTER: Key = Key { name: "Enter", code: 13 };
const ESCAPE: Key = Key { name: "Escape", code: 27 };
const END: Key = Key { name: "End", code: 35 };
const HOME: Key = Key { name: "Home", code: 36 };
const DOWN: Key = Key { name: "ArrowDown", code: 40 };

const STATUS: &str = "document.getElementById('status').textContent";
const FOCUS: &str = "document.activeElement.textContent";

fn press(browser: &mut Browser, key: Key) -> Result<(), Failure> {
    browser.press(key.name, key.code)
}

/// Fails unless the expression has the expected value in the page.
fn expect(browser: &mut Browser, expression: &str, wanted: &str) -> Result<(), Failure> {
    let found = browser.value(expression)?;
    let found = found.as_str().map_or_else(|| found.to_string(), str::to_owned);
    match found == wanted {
        true => Ok(()),
        false => Err(format!("{expression}: '{found}', not '{wanted}'").into()),
    }
}

/// Presses Tab until the focus satisfies `expression`.
fn tab_until(browser: &mut Browser, expression: &str) -> Result<(), Failure> {
    for _ in 0..40 {
        press(browser, TAB)?;
        if browser.value(expression)? == true {
            return Ok(());
        }
    }
    Err(format!("Tab does not come to {expression}").into())
}

fn filter(browser: &mut Browser, pages: &Pages) -> Said {
    browser.open(&pages.url("check"))?;
    tab_until(browser, "document.activeElement.id === 'filter'")?;
    browser.type_text("leaked-reference refused")?;
    expect(browser, "document.querySelectorAll('#programs tbody a').length", "1")?;
    expect(browser, &format!("/^1 of \\d+ programs$/.test({STATUS})"), "true")?;
    browser.type_text(" insns<1")?;
    expect(browser, &format!("/^0 of \\d+ programs$/.test({STATUS})"), "true")?;
    browser.value("{ const f = document.getElementById('filter'); f.value = ''; f.focus(); }")?;
    browser.type_text("!accepted insns>=3")?;
    let verdicts = "[...new Set([...document.querySelectorAll('#programs tbody td:nth-child(3)')]\
        .map(cell => cell.textContent))].sort().join()";
    expect(browser, verdicts, "refused")?;
    Ok(String::new())
}

fn sort(browser: &mut Browser, pages: &Pages) -> Said {
    browser.open(&pages.url("check"))?;
    tab_until(browser, &format!("{FOCUS} === 'Insns'"))?;
    let sorted = "document.activeElement.closest('th').getAttribute('aria-sort')";
    let numbers = "[...document.querySelectorAll('#programs tbody td.number')]\
        .map(cell => Number(cell.textContent.replaceAll(',', '')))";
    for (order, sign) in [("descending", "-"), ("ascending", "")] {
        press(browser, ENTER)?;
        expect(browser, sorted, order)?;
        let in_order =
            format!("{numbers}.every((n, at, all) => at < 1 || {sign}(n - all[at - 1]) >= 0)");
        expect(browser, &in_order, "true")?;
    }
    expect(browser, &format!("{numbers}.length > 20"), "true")?;
    Ok(String::new())
}

fn open(browser: &mut Browser, pages: &Pages) -> Said {
    browser.open(&pages.url("check"))?;
    tab_until(browser, "document.activeElement.id === 'filter'")?;
    browser.type_text("leaked-reference refused")?;
    tab_until(browser, "document.activeElement.matches('#programs tbody a')")?;
    press(browser, ENTER)?;
    expect(browser, "document.activeElement.id", "program")?;
    expect(browser, "document.querySelector('h2').textContent", "refused")?;
    expect(browser, "document.getElementById('list').checkVisibility()", "false")?;
    let told = "document.getElementById('program').innerText";
    for word in ["Unreleased reference", "About leaked-reference", "Path to the rejection"] {
        expect(browser, &format!("{told}.includes('{word}')"), "true")?;
    }
    tab_until(browser, "document.activeElement.matches('.story .place a')")?;
    let place = browser.value(FOCUS)?;
    press(browser, ENTER)?;
    expect(browser, "document.activeElement.getAttribute('aria-current')", "true")?;
    let line = "document.activeElement.querySelector('th').textContent";
    expect(browser, line, place.as_str().unwrap_or_default())?;
    let is_in_sight = "{ const at = document.activeElement.getBoundingClientRect(); \
        at.top >= 0 && at.bottom <= innerHeight }";
    expect(browser, is_in_sight, "true")?;
    press(browser, ESCAPE)?;
    expect(browser, "document.getElementById('list').checkVisibility()", "true")?;
    expect(browser, FOCUS, "refused")?;
    expect(browser, "document.getElementById('filter').value", "leaked-reference refused")?;
    Ok(String::new())
}

fn arrows(browser: &mut Browser, pages: &Pages) -> Said {
    browser.open(&pages.url("many"))?;
    tab_until(browser, "document.activeElement.matches('#programs tbody a')")?;
    for (key, program) in [(DOWN, 1), (DOWN, 2), (END, MANY - 1), (HOME, 0), (DOWN, 1)] {
        press(browser, key)?;
        expect(browser, FOCUS, &format!("prog_{program}"))?;
        let row = "document.activeElement.closest('tr').getAttribute('aria-rowindex')";
        expect(browser, row, &format!("{}", program + 2))?;
        let is_seen = "{ const at = document.activeElement.getBoundingClientRect(); \
            const top = document.querySelector('#programs thead').getBoundingClientRect().bottom; \
            at.top >= top && at.bottom <= innerHeight }";
        expect(browser, is_seen, "true")?;
    }
    Ok(String::new())
}

fn others(browser: &mut Browser, pages: &Pages) -> Said {
    browser.open(&format!("{}#0", pages.url("profile")))?;
    expect(browser, "document.querySelectorAll('.picture svg g').length > 5", "true")?;
    let heats = "[...document.querySelectorAll('.source .heat')].map(it => it.textContent)\
        .reduce((sum, text) => sum + Number(text.replaceAll(',', '')), 0)";
    let total = "Number([...document.querySelectorAll('dl div')].find(it => \
        it.firstChild.textContent === 'Insns').lastChild.textContent.replaceAll(',', ''))";
    expect(browser, &format!("{heats} === {total}"), "true")?;
    tab_until(browser, "document.activeElement.matches('.table td a, .table th a')")?;
    press(browser, ENTER)?;
    expect(browser, "document.activeElement.matches('.source tr[aria-current]')", "true")?;
    browser.open(&pages.url("matrix"))?;
    let heads =
        "[...document.querySelectorAll('#programs thead th')].map(it => it.textContent).join()";
    expect(browser, heads, "Program,Taken by,5.10,6.1,6.12,6.18,Needs,File")?;
    tab_until(browser, "document.activeElement.id === 'filter'")?;
    browser.type_text("5.10=refused 6.18=ok")?;
    let taken_by = "[...new Set([...document.querySelectorAll('#programs tbody td:nth-child(2)')]\
        .map(cell => cell.textContent))].join()";
    expect(browser, taken_by, "some")?;
    browser.open(&pages.url("stat"))?;
    expect(browser, "document.querySelectorAll('#programs tbody a').length > 3", "true")?;
    browser.open(&pages.url("compare"))?;
    tab_until(browser, "document.activeElement.id === 'filter'")?;
    browser.type_text("insns_pct>100")?;
    let grown = "[...document.querySelectorAll('#programs tbody th')]\
        .map(cell => cell.textContent).join()";
    expect(browser, grown, "to_container")?;
    browser.open(&pages.url("coverage"))?;
    expect(browser, &format!("/^\\d files$/.test({STATUS})"), "true")?;
    expect(browser, "document.getElementById('verdict').checkVisibility()", "false")?;
    browser.open(&format!("{}#0", pages.url("coverage")))?;
    expect(browser, "document.querySelectorAll('.source .bad').length > 0", "true")?;
    Ok(String::new())
}

fn hostile(browser: &mut Browser, pages: &Pages) -> Said {
    browser.open(&pages.url("hostile"))?;
    let written = "</script><img src=x onerror=window.taken=1>\\u{1b}[2J\\u{202e}";
    expect(browser, "document.querySelector('#programs tbody a').textContent", written)?;
    browser.open(&format!("{}#0", pages.url("hostile")))?;
    expect(browser, "document.querySelector('h2').textContent", written)?;
    tab_until(browser, "document.activeElement.matches('.story .place a')")?;
    press(browser, ENTER)?;
    let line = "document.querySelector('.source tr[aria-current] th').textContent";
    expect(browser, line, &format!("{written}.c:4").replace("</script>", "script>"))?;
    browser.open(&format!("{}#0/%zz", pages.url("hostile")))?;
    expect(browser, "document.querySelector('h2').textContent", written)?;
    expect(browser, "document.querySelectorAll('img').length", "0")?;
    expect(browser, "String(window.taken)", "undefined")?;
    let strange = |url: &&String| !url.starts_with("\"file://") && !url.contains("about:blank");
    match browser.asked_for.iter().find(strange) {
        Some(url) => Err(format!("asked for {url}").into()),
        None if HOSTILE.is_empty() => Err("no name".into()),
        None => Ok(String::new()),
    }
}

/// Maximum load time, for a slow machine.
const LOAD_MS_MAX: u128 = 5_000;
const STEP_MS_MAX: f64 = 500.0;

fn many(browser: &mut Browser, pages: &Pages) -> Said {
    let started = Instant::now();
    browser.open(&pages.url("many"))?;
    let load_ms = started.elapsed().as_millis();
    expect(browser, "document.querySelectorAll('#programs tbody tr').length < 200", "true")?;
    // Until the visible part has been laid out.
    let timed = |what: &str| {
        format!(
            "{{ const from = performance.now(); {what}; document.body.offsetHeight; \
            performance.now() - from }}"
        )
    };
    let filter = "{ const f = document.getElementById('filter'); f.value = 'prog_99 insns>5000'; \
        f.dispatchEvent(new Event('input')); }";
    let filter_ms = browser.value(&timed(filter))?.as_f64().unwrap_or(f64::MAX);
    expect(browser, &format!("/^\\d+ of 10,000 programs$/.test({STATUS})"), "true")?;
    browser.value(
        "{ const f = document.getElementById('filter'); f.value = ''; \
        f.dispatchEvent(new Event('input')); }",
    )?;
    let sort = "document.querySelector('#programs thead button').click()";
    let sort_ms = browser.value(&timed(sort))?.as_f64().unwrap_or(f64::MAX);
    if load_ms > LOAD_MS_MAX || filter_ms > STEP_MS_MAX || sort_ms > STEP_MS_MAX {
        return Err(format!("load {load_ms} ms, filter {filter_ms:.0}, sort {sort_ms:.0}").into());
    }
    Ok(format!(": load {load_ms} ms, filter {filter_ms:.1} ms, sort {sort_ms:.1} ms"))
}
