//! Sections of docs/performance.md, each written by one benchmark.

use std::fmt::Display;
use std::path::Path;

use lockstep_support::clock;

use super::Outcome;

const PAGE: &str = "../docs/performance.md";
const END: &str = "<!-- end of figures -->";

/// A section: each line is printed, and `LOCKSTEP_DOCS=overwrite` writes all to the page.
pub(crate) struct PageSection {
    name: &'static str,
    text: String,
}

/// What a figure should be.
#[allow(dead_code, reason = "the benchmarks of one program need not use all")]
#[derive(Debug, Clone, Copy)]
pub(crate) enum Goal {
    AtMost(f64),
    AtLeast(f64),
    Free,
}

/// Whether figures go to the pages as well.
pub(crate) fn writes_pages() -> bool {
    std::env::var_os("LOCKSTEP_DOCS").is_some_and(|value| value == "overwrite")
}

impl PageSection {
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, text: String::new() }
    }

    pub(crate) fn line(&mut self, line: impl Display) {
        println!("{line}");
        self.text += &format!("{line}\n");
    }

    /// A row of a table: the title, the figures, and how the last of them compares with its goal.
    pub(crate) fn row(&mut self, title: &str, figures: &[String], measured: f64, goal: Goal) {
        self.line(format_args!("| {title} | {} | {} |", figures.join(" | "), goal.compare(measured)));
    }

    /// Ends the section with the machine and the date.
    pub(crate) fn publish(mut self) -> Outcome {
        let of = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
        let info = of("/proc/cpuinfo");
        let model = info.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or_default();
        let model = model.trim_start_matches(['\t', ' ', ':']);
        let load = of("/proc/loadavg").split(' ').next().unwrap_or_default().to_owned();
        let (cores, day) = (std::thread::available_parallelism()?, clock::now().strftime("%Y-%m-%d").to_string());
        self.line(format_args!("\n{day}, {cores} cores ({model}), load average {load} at the end."));
        if !writes_pages() {
            return Ok(());
        }
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
        let page = std::fs::read_to_string(&file)?;
        let start = format!("<!-- figures: {} -->\n", self.name);
        let missing = || format!("{} has no section {:?}", file.display(), self.name);
        let (before, rest) = page.split_once(&start).ok_or_else(missing)?;
        let (_, after) = rest.split_once(END).ok_or_else(missing)?;
        Ok(std::fs::write(&file, format!("{before}{start}\n{}\n{END}{after}", self.text))?)
    }
}

impl Goal {
    fn compare(self, measured: f64) -> String {
        let (words, goal, is_met) = match self {
            Self::Free => return "–".to_owned(),
            Self::AtMost(goal) => ("at most", goal, measured <= goal),
            Self::AtLeast(goal) => ("at least", goal, measured >= goal),
        };
        let ratio = measured / goal;
        if is_met { format!("{words} {goal}: met") } else { format!("{words} {goal}: missed, {ratio:.2} times that") }
    }
}
