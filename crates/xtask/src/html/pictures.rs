//! Screenshots of the pages, compared approximately by the brightness of the cells of a coarse
//! grid. Fonts differ between machines, so words are replaced by bars.

use super::args::Args;
use super::browser::{Browser, Failure};
use super::pages::Pages;
use std::fmt::Write as _;
use std::fs;

const FILE: &str = "tests/html/pictures.txt";
const HEAD: &str = "\
# How bright the pages are, from 0 to f: `cargo xtask html` compares loosely, and --bless writes.
";
/// The views: a page, and a program that is opened on it.
const VIEWS: [(&str, &str); 8] = [
    ("check", ""),
    ("check", "#2"),
    ("compare", ""),
    ("matrix", ""),
    ("matrix", "#0"),
    ("profile", "#0"),
    ("stat", ""),
    ("coverage", "#0"),
];
const WIDTHS: [u32; 2] = [1400, 400];

/// Maximum relative difference.
const FAR_MAX: f64 = 0.5;

/// The views that have changed.
pub(super) fn compare(
    browser: &mut Browser,
    pages: &Pages,
    args: &Args,
) -> Result<Vec<String>, Failure> {
    let path = crate::root().join(FILE);
    let known = fs::read_to_string(&path).unwrap_or_default();
    let (mut text, mut wrong) = (HEAD.to_owned(), Vec::new());
    let mut farthest: f64 = 0.0;
    for (page, place) in VIEWS {
        for (width, scheme) in WIDTHS.into_iter().flat_map(|w| [(w, "light"), (w, "dark")]) {
            browser.dress(width, scheme == "dark")?;
            browser.open(&format!("{}{place}", pages.url(page)))?;
            let name = format!("{page}{place} {width} {scheme}");
            let cells = look(browser, &name, args)?;
            let before = known.split_once(&format!("\n## {name}\n")).map_or("", |(_, rest)| rest);
            let far = distance(before.split("\n\n").next().unwrap_or_default(), &cells);
            farthest = farthest.max(far);
            if far > FAR_MAX && !args.bless {
                wrong.push(format!("picture of {name}: {far:.2} away from {FILE}"));
            }
            let _ = write!(text, "\n## {name}\n{cells}\n");
        }
    }
    wrong.extend(is_seen(browser, pages, args)?);
    let pictures = VIEWS.len() * WIDTHS.len() * 2;
    println!("html: {pictures} pictures: at most {farthest:.2} away from those that are known");
    if args.bless {
        fs::create_dir_all(path.parent().unwrap_or(&path))?;
        fs::write(&path, text)?;
    }
    Ok(wrong)
}

/// Replaces words by bars.
const BARS: &str = "{
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walker.nextNode()) texts.push(walker.currentNode);
    for (const text of texts) {
        if (text.parentElement.closest('script, style, select, svg')) continue;
        const words = text.data.split(/\\s+/).filter(word => word);
        text.replaceWith(...words.map(word => {
            const bar = document.createElement('span');
            bar.style.cssText = `display: inline-block; width: ${word.length * 0.5}em; \
                height: 0.6em; margin-right: 0.3em; background: currentColor`;
            return bar;
        }));
    }
    document.querySelectorAll('svg text, select').forEach(it => it.style.visibility = 'hidden');
}";

/// The brightness grid of the window.
fn look(browser: &mut Browser, name: &str, args: &Args) -> Result<String, Failure> {
    if let Some(folder) = &args.keep {
        keep(folder, name, &browser.picture()?)?;
    }
    browser.value(BARS)?;
    browser.settle()?;
    let png = browser.picture()?;
    if let Some(folder) = &args.keep {
        keep(folder, &format!("{name} bars"), &png)?;
    }
    // The page's own policy forbids images.
    browser.open("about:blank")?;
    let cells = browser.value(&brightness(&png))?;
    Ok(cells.as_str().unwrap_or_default().to_owned())
}

/// Whether the comparison detects what it is for: a page without its style sheet.
fn is_seen(browser: &mut Browser, pages: &Pages, args: &Args) -> Result<Option<String>, Failure> {
    browser.dress(1400, false)?;
    let mut grids = Vec::new();
    for change in ["0", "document.querySelector('style').remove()"] {
        browser.open(&pages.url("check"))?;
        browser.value(change)?;
        browser.settle()?;
        grids.push(look(browser, "check without style", args)?);
    }
    let far = distance(&grids[0], &grids[1]);
    println!("html: a page without its style is {far:.2} away from one that has it");
    Ok((far <= FAR_MAX).then(|| "pictures: a lost style is not seen".to_owned()))
}

/// The relative difference of two grids: the difference of the cells, divided by that of the known
/// ones from their background. Infinite if their sizes differ.
fn distance(known: &str, found: &str) -> f64 {
    let digits = |text: &str| -> Vec<f64> {
        text.chars().filter_map(|c| c.to_digit(16)).map(f64::from).collect()
    };
    let (known, found) = (digits(known), digits(found));
    if known.len() != found.len() || known.is_empty() {
        return f64::INFINITY;
    }
    let mut sorted = known.clone();
    sorted.sort_by(f64::total_cmp);
    let background = sorted[sorted.len() / 2];
    let seen: f64 = known.iter().map(|cell| (cell - background).abs()).sum();
    let far: f64 = known.iter().zip(&found).map(|(a, b)| (a - b).abs()).sum();
    far / seen.max(1.0)
}

/// An expression that computes the grid of a PNG in the browser.
fn brightness(png: &str) -> String {
    format!(
        "(async () => {{
            const image = new Image();
            image.src = 'data:image/png;base64,{png}';
            await image.decode();
            const [width, height] = [48, 24];
            const canvas = Object.assign(document.createElement('canvas'), {{ width, height }});
            const context = canvas.getContext('2d');
            context.imageSmoothingQuality = 'high';
            context.drawImage(image, 0, 0, width, height);
            const bytes = context.getImageData(0, 0, width, height).data;
            const digit = at => Math.round((bytes[at] + bytes[at + 1] + bytes[at + 2]) / 51)
                .toString(16);
            const row = y => Array.from({{ length: width }}, (_, x) => digit(4 * (y * width + x)));
            return Array.from({{ length: height }}, (_, y) => row(y).join('')).join('\\n');
        }})()"
    )
}

/// Saves a screenshot.
fn keep(folder: &std::path::Path, name: &str, png: &str) -> Result<(), Failure> {
    let name = name.replace([' ', '#', '/', '%'], "-");
    fs::write(folder.join(format!("{name}.png")), decoded(png))?;
    Ok(())
}

/// Decodes base64.
fn decoded(text: &str) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => Some(u32::from(byte - b'A')),
        b'a'..=b'z' => Some(u32::from(byte - b'a') + 26),
        b'0'..=b'9' => Some(u32::from(byte - b'0') + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let (mut bytes, mut held, mut bits) = (Vec::new(), 0u32, 0);
    for sextet in text.bytes().filter_map(value) {
        held = (held << 6 | sextet) & 0xff_ffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_are_as_far_as_their_cells() {
        assert_eq!(distance("ff\nfb", "ff\nfb"), 0.0);
        assert_eq!(distance("ff\nfb", "ff\nfd"), 0.5);
        assert_eq!(distance("", "00"), f64::INFINITY);
    }

    #[test]
    fn base64_is_read() {
        assert_eq!(decoded("aGVsbG8="), b"hello");
        assert_eq!(decoded("//8A"), [255, 255, 0]);
    }
}
