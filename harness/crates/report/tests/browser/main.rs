//! The HTML pages in a real browser, on a phone and on a desktop, light and dark.
//!
//! The browser is Chromium without a window, driven through a pipe by its DevTools protocol. Where
//! there is none, the trials are listed as ignored: `apt-get install chromium`, or name one with
//! `LOCKSTEP_CHROMIUM`.

mod chromium;
mod fixtures;

use std::path::PathBuf;
use std::process::ExitCode;

use chromium::{Browser, Tab};
use libtest_mimic::{Arguments, Failed, Trial};

/// A screen of a phone, and of a desktop.
const PHONE: (u32, u32) = (390, 844);
const DESKTOP: (u32, u32) = (1280, 900);

/// What one trial checks in a browser.
type BrowserCheck = Box<dyn Fn(&mut Browser) -> Result<(), String> + Send>;

fn main() -> ExitCode {
    let chromium = find_chromium();
    if chromium.is_none() {
        eprintln!("ignored: no chromium on the path; LOCKSTEP_CHROMIUM names one");
    }
    let trial = |name: String, run: BrowserCheck| {
        let program = chromium.clone();
        let run = move || {
            let mut browser = Browser::start(&program.clone().ok_or("no chromium")?)?;
            run(&mut browser).map_err(Failed::from)
        };
        Trial::test(format!("browser::{name}"), run).with_ignored_flag(chromium.is_none())
    };
    let mut trials = Vec::new();
    for (page, html) in [("report", fixtures::report as fn() -> String), ("inspect", fixtures::recording_of_cluster)] {
        for (screen, size) in [("phone", PHONE), ("desktop", DESKTOP)] {
            for scheme in ["light", "dark"] {
                let run = move |browser: &mut Browser| fits(&mut browser.open(&html(), size, scheme)?, size.0, scheme);
                trials.push(trial(format!("{page}_fits_{screen}_{scheme}"), Box::new(run)));
            }
        }
    }
    trials.push(trial("phone_shows_outcomes_and_findings".to_owned(), Box::new(outcomes)));
    trials.push(trial("one_case_of_each_cause_is_expanded".to_owned(), Box::new(expanded)));
    trials.push(trial("filter_hides_other_cases".to_owned(), Box::new(filter)));
    trials.push(trial("keys_work".to_owned(), Box::new(keys)));
    trials.push(trial("link_opens_step".to_owned(), Box::new(link)));
    trials.push(trial("checks_notice_a_bad_page".to_owned(), Box::new(bad_page)));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// The browser of this machine.
fn find_chromium() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("LOCKSTEP_CHROMIUM") {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    std::env::split_paths(&path)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|program| program.is_file())
}

fn check(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

/// Nothing is wider than the screen, whether the cards are closed or open; text can be read; the
/// page asks for nothing and no script fails.
fn fits(tab: &mut Tab<'_>, screen: u32, scheme: &str) -> Result<(), String> {
    for open in [false, true] {
        if open {
            tab.eval("document.querySelectorAll('details').forEach((it) => { it.open = true; })")?;
        }
        let width = tab.eval(WIDTH)?;
        check(width.as_u64().is_some_and(|width| width <= screen.into()), || {
            format!("the page is {width} wide on {screen} (open: {open})")
        })?;
    }
    let unreadable = tab.eval(CONTRAST)?;
    check(unreadable == "", || format!("too little contrast: {unreadable}"))?;
    let dark = tab.eval("getComputedStyle(document.body).backgroundColor.match(/\\d+/g)[0] < 128")?;
    check(dark == (scheme == "dark"), || format!("the page is not {scheme}"))?;
    check(tab.problems().is_empty(), || format!("problems: {:?}", tab.problems()))
}

/// The width of the page. A phone shrinks a page that is too wide, and `innerWidth` grows with it.
const WIDTH: &str = "document.scrollingElement.scrollWidth";

/// The elements whose text has a contrast of less than 4.5 to 1 on their background.
const CONTRAST: &str = r"(() => {
  const rgb = (text) => text.match(/[\d.]+/g).map(Number);
  const light = (color) => {
    const part = (v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(color[0]) + 0.7152 * part(color[1]) + 0.0722 * part(color[2]);
  };
  const ground = (element) => {
    for (let it = element; it; it = it.parentElement) {
      const color = rgb(getComputedStyle(it).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const bad = new Set();
  for (const element of document.querySelectorAll('main *, header *')) {
    if (element.closest('svg, .gone') || ![...element.childNodes].some((it) => it.nodeType === 3 && it.data.trim())) continue;
    if (!element.checkVisibility()) continue;
    const [a, b] = [light(rgb(getComputedStyle(element).color)), light(ground(element))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) bad.add(`${element.tagName}.${element.className} ${contrast.toFixed(1)}`);
  }
  return [...bad].join(', ');
})()";

fn outcomes(browser: &mut Browser) -> Result<(), String> {
    let mut tab = browser.open(&fixtures::report(), PHONE, "light")?;
    let off = tab.eval(
        "[...document.querySelectorAll('nav details[open] .badge, nav details[open] .first, h1, h2')].filter((it) => { \
         const box = it.getBoundingClientRect(); return box.left < 0 || box.right > screen.width; }).map((it) => it.textContent).join()",
    )?;
    check(off == "", || format!("off the screen: {off}"))?;
    let first = tab.eval("document.querySelector('nav li .first').textContent")?;
    check(first.as_str().is_some_and(|text| text.contains("invariant `surge` broken")), || format!("first: {first}"))?;
    let hint = tab.eval("document.querySelector('figure.wide .hint').checkVisibility()")?;
    check(hint == true, || "no hint that a picture scrolls".to_owned())?;
    let scrolls = tab.eval("(() => { const it = document.querySelector('figure.wide .scroll'); return it.scrollWidth > it.clientWidth; })()")?;
    check(scrolls == true, || "the picture does not scroll".to_owned())
}

fn expanded(browser: &mut Browser) -> Result<(), String> {
    let mut tab = browser.open(&fixtures::report(), DESKTOP, "light")?;
    let open = tab.eval(
        "[...document.querySelectorAll('section')].filter((it) => it.querySelector('details').open).map((it) => \
         it.querySelector('h2').textContent).join()",
    )?;
    check(open == fixtures::EXPANDED.join(","), || format!("expanded: {open}"))?;
    let groups = tab.eval("[...document.querySelectorAll('nav summary b')].map((it) => it.textContent).join()")?;
    check(groups == fixtures::GROUPS, || format!("groups: {groups}"))
}

/// The names of the visible cards.
const CARD_NAMES: &str = "[...document.querySelectorAll('section')].filter((it) => it.checkVisibility()).map((it) => it.querySelector('h2').textContent).join()";

fn filter(browser: &mut Browser) -> Result<(), String> {
    let mut tab = browser.open(&fixtures::report(), DESKTOP, "light")?;
    let all = tab.eval(CARD_NAMES)?;
    let choose = |outcome: &str| {
        format!(
            "(() => {{ const it = document.querySelector('select'); it.value = '{outcome}'; it.dispatchEvent(new Event('input')); \
             return document.querySelector('output').textContent; }})()"
        )
    };
    let count = tab.eval(&choose("inconclusive"))?;
    check(count == format!("1 of {}", fixtures::CASES), || format!("count: {count}"))?;
    let shown = tab.eval(CARD_NAMES)?;
    check(shown == "rolling/broken", || format!("inconclusive: {shown}"))?;
    tab.eval(&choose(""))?;
    check(tab.eval(CARD_NAMES)? == all, || "not everything is shown again".to_owned())
}

fn keys(browser: &mut Browser) -> Result<(), String> {
    let mut tab = browser.open(&fixtures::report(), DESKTOP, "dark")?;
    let all = tab.eval(CARD_NAMES)?;
    tab.press("/")?;
    for letter in ["s", "u", "r", "g", "e"] {
        tab.press(letter)?;
    }
    let shown = tab.eval(CARD_NAMES)?;
    check(shown == "rolling/surge-0,rolling/surge-1,rolling/surge-2", || format!("filtered: {shown}"))?;
    tab.press("Escape")?;
    check(tab.eval(CARD_NAMES)? == all, || "Escape does not clear the filter".to_owned())?;
    // A summary is reached by Tab and opened by Enter.
    tab.eval("document.querySelector('section:last-of-type summary').focus()")?;
    tab.press("Enter")?;
    let open = tab.eval("document.querySelector('section:last-of-type details').open")?;
    check(open == true, || "Enter does not open a card".to_owned())?;
    // The slider of a card moves by a frame.
    tab.eval("document.querySelector('figure.frames').focus()")?;
    let place = "document.querySelector('figure.frames .where').textContent";
    tab.press("End")?;
    let end = tab.eval(place)?;
    tab.press("ArrowLeft")?;
    let back = tab.eval(place)?;
    check(end != back && end.is_string(), || format!("the slider stays at {end}"))?;
    check(tab.problems().is_empty(), || format!("problems: {:?}", tab.problems()))
}

fn link(browser: &mut Browser) -> Result<(), String> {
    let mut tab = browser.open(&fixtures::report(), PHONE, "light")?;
    for link in ["nav details[open] li:nth-child(2) a", "figure.happened svg a:last-of-type"] {
        let target = tab.eval(&format!(
            "(() => {{ const it = document.querySelector('{link}'); it.dispatchEvent(new MouseEvent('click', {{ bubbles: true, \
             cancelable: true }})); return it.getAttribute('href'); }})()"
        ))?;
        let target = target.as_str().ok_or(format!("no link {link}"))?.to_owned();
        let opens = format!(
            "new Promise((done) => setTimeout(() => done(location.hash === '{target}' && \
             document.querySelector('{target}').closest('details').open), 300))"
        );
        check(tab.eval(&opens)? == true, || format!("the link {target} opens nothing"))?;
    }
    Ok(())
}

fn bad_page(browser: &mut Browser) -> Result<(), String> {
    let html = "<!doctype html><meta name=viewport content='width=device-width'><body style='background:#fff'>\
        <main><p style='color:#ccc'>pale</p><div style='width:900px'>wide</div><img src='http://127.0.0.1:9/x'></main>\
        <script>undefined_name()</script>";
    let mut tab = browser.open(html, PHONE, "light")?;
    let wide = tab.eval(WIDTH)?;
    let pale = tab.eval(CONTRAST)?;
    check(wide.as_u64() > Some(PHONE.0.into()) && pale == "P. 1.6", || format!("wide: {wide}, pale: {pale}"))?;
    let problems = tab.problems().join("\n");
    check(problems.contains("http://127.0.0.1:9/x") && problems.contains("undefined_name"), || problems.clone())?;
    let mut tab =
        browser.open(&fixtures::report().replace("</main>", "<script>alert(1)</script></main>"), PHONE, "light")?;
    tab.eval("1")?;
    let problems = tab.problems().join("\n");
    check(problems.contains("Content Security Policy"), || format!("a foreign script runs: {problems}"))
}
