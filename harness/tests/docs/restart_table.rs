//! The table of `docs/config-restart.md` that compares config-restart controllers: how often each
//! restarts a workload.
//!
//! The numbers of xing and Reloader are counted in golden timelines that were recorded from their
//! own controllers. Profiles `xing` and `reloader` have the same timelines, so they have the same
//! numbers. Those of profile `safe` are in the rules of its cases.

use std::collections::BTreeSet;

use super::root;

pub(crate) const PAGE: &str = "docs/config-restart.md";
const BEGIN: &str = "<!-- restarts -->\n";
const END: &str = "<!-- end -->\n";
const HEAD: &str = "| situation | ours, safe | ours, xing | xing | ours, reloader | Reloader | cases |\n\
                    | --- | --- | --- | --- | --- | --- | --- |\n";
const NONE: &str = "-";

/// A situation, and its cases of the profiles `safe`, `xing` and `reloader`.
const ROWS: &str = "\
a config changes once|safe-and-xing/s09-changed@safe|safe-and-xing/s09-changed@xing|reloader/auto
only labels of a config change|safe-and-xing/s10-labels@safe|safe-and-xing/s10-labels@xing|reloader/labels-alone
four changes within two seconds|safe-and-xing/s21-four-times@safe|safe-and-xing/s21-four-times@xing|reloader/four-times
two configs change together|safe-and-xing/s19-two-configs@safe|safe-and-xing/s19-two-configs@xing|reloader/two-configs-at-once
a change and back, within the grace period|safe-and-xing/s14-there-and-back@safe|safe-and-xing/s14-there-and-back@xing|reloader/there-and-back
`binaryData` changes|safe/s17-binary-data|xing/s17-binary-data|reloader/binary-data
a variable by `valueFrom`|safe/s08-value-from-config-map|xing/s08-value-from-config-map|reloader/by-value-from
a volume of a Secret|safe/s08-secret-volume|xing/s08-secret-volume|reloader/by-secret-volume
a projected volume|safe/s08-projected-config-map|xing/s08-projected-config-map|reloader/by-projected-volume
an init container|safe/s08-init-env-from|xing/s08-init-env-from|reloader/by-init-container
a config changes right after its workload was annotated|safe/s28-updated-at-once|xing/s28-updated-at-once|-
a config is deleted and created with other data|safe/s39-re-created|xing/s39-re-created|reloader/re-created
an optional config appears|safe/s32-optional-appears|xing/s32-optional-appears|reloader/created-late
a config changes while the controller is away|safe-and-xing/s51-changed-while-away@safe|safe-and-xing/s51-changed-while-away@xing|reloader/changed-while-away
the controller starts, and nothing has changed|safe-and-xing/s52-nothing-changed@safe|safe-and-xing/s52-nothing-changed@xing|reloader/restarted-with-nothing-changed
the controller starts twice, Reloader with `--sync-after-restart`|safe/started-twice|-|reloader/start-and-sync-flag-annotations
killed in the grace period, no checksum written yet|safe/s53-killed|xing/s53-killed|-
crash before the write that restarts, config created late|safe/s57-created-late-crash-before-restart|xing/s57-created-late-crash-before-restart|-
a write refused by an error that is to be ignored|safe/s61-refused-and-then-not|xing/s61-refused-and-then-not|-
checksums removed, and a config changed|safe/s44-annotation-removed-and-changed|xing/s44-annotation-removed-and-changed|-
pods began with the newest config|safe/s30-pods-began-with-it|xing/s30-pods-began-with-it|-
a config and then the template change, as helm applies them|safe/s25-config-then-spec|xing/s25-config-then-spec|-";

/// The page with the table as the cases have it.
pub(crate) fn page() -> String {
    let page = read(PAGE);
    let (before, rest) = page.split_once(BEGIN).expect("the page marks where the table begins");
    let (_, after) = rest.split_once(END).expect("the page marks where the table ends");
    format!("{before}{BEGIN}\n{HEAD}{}\n{END}{after}", ROWS.lines().map(row).collect::<String>())
}

fn row(line: &str) -> String {
    let words: Vec<&str> = line.split('|').collect();
    let [situation, safe, xing, reloader] = words[..] else { panic!("{line}") };
    let (of_safe, of_xing, of_reloader) =
        (restarts_by_rule(safe), recorded_restarts(xing), recorded_restarts(reloader));
    // Two cases in one file are named by the file.
    let cases = [safe, xing, reloader].into_iter().filter(|case| *case != NONE);
    let names: BTreeSet<String> = cases.map(|case| format!("`{}`", file(case))).collect();
    let names = names.into_iter().collect::<Vec<_>>().join(", ");
    format!("| {situation} | {of_safe} | {of_xing} | {of_xing} | {of_reloader} | {of_reloader} | {names} |\n")
}

/// How often the template of `web` changes in the case's golden timeline.
fn recorded_restarts(case: &str) -> String {
    if case == NONE {
        return NONE.to_owned();
    }
    let is_restart = |line: &&str| {
        let line = line.trim_start();
        line.strip_prefix("statefulset/").unwrap_or(line).starts_with("web ") && line.contains("spec.template=changed")
    };
    read(&format!("cases/config-restart/{case}.timeline")).lines().filter(is_restart).count().to_string()
}

/// How often `web` is restarted, by the last rule of the case that says so.
fn restarts_by_rule(case: &str) -> String {
    let rule = |line: &str| {
        let rule = line.trim_start().strip_prefix("- \"restarts('")?.strip_suffix('"')?;
        let (workload, count) = rule.split_once("') == ")?;
        matches!(workload, "deployment/web" | "statefulset/web").then(|| count.to_owned())
    };
    let text = read(&format!("cases/config-restart/{}.yaml", file(case)));
    text.lines().rev().find_map(rule).unwrap_or_else(|| panic!("{case} has no rule on the restarts of web"))
}

/// The file of a case, without the profile: `FILE@xing`.
fn file(case: &str) -> &str {
    case.split('@').next().unwrap_or(case)
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}
