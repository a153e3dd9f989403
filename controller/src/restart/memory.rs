//! What the safe profile remembers between two looks at a workload: for each of its configs, what
//! the pods had when the two were first seen together, and the changes since.
//!
//! It is a help, not the truth: whatever of it counts is on the workload, too, after one write. A
//! controller that starts anew begins with the first look, and finds the same changes.
//!
//! Cases: `config-restart/s27-created-late@safe`, `config-restart/workload-seen-late`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::config::Config;
use super::plan::{Baseline, Linked, Observed, Present};
use super::references::{ConfigName, Use};
use super::safe::{Verdict, judge};
use super::selection;
use super::state::Applied;
use super::view::{View, number};
use super::window::Moment;
use super::workload::Workload;

/// What is remembered of one workload.
#[derive(Debug, Default)]
pub(super) struct Memory {
    uid: String,
    template: String,
    /// Version at which its template last changed, so that its pods are replaced.
    rolled: Option<u64>,
    /// Its template changed while it was paused.
    rolls_later: bool,
    links: BTreeMap<ConfigName, Link>,
    /// In a dry run: what was not written.
    pub(super) pretended: Option<Pretended>,
}

/// What is believed to be written, as long as the checksums that were there are.
#[derive(Debug)]
pub(super) struct Pretended {
    pub(super) real: Applied,
    pub(super) applied: Applied,
    pub(super) pending: Option<String>,
}

#[derive(Debug)]
struct Link {
    used: Use,
    /// `None`: the config has not been there yet.
    baseline: Option<Baseline>,
    /// Version of the workload when they were linked, and when.
    version: u64,
    at: Moment,
    changes: u32,
    seen: Option<(Moment, Moment)>,
    keys: BTreeSet<String>,
}

impl Memory {
    /// A workload is seen, or seen anew.
    pub(super) fn workload(&mut self, view: &View, workload: &Arc<Workload>, at: Moment) {
        let version = number(&workload.meta.resource_version);
        if self.uid != workload.meta.uid {
            *self = Self { uid: workload.meta.uid.clone(), template: workload.template.clone(), ..Self::default() };
        }
        if self.template != workload.template {
            self.template.clone_from(&workload.template);
            self.rolls_later = true;
        }
        if self.rolls_later && workload.held.is_none() {
            self.rolled = Some(version);
            self.rolls_later = false;
        }
        let references = view.references(workload);
        self.links.retain(|name, link| references.get(name) == Some(&link.used) && !view.is_ignored(workload, name));
        for (name, used) in references {
            if view.is_ignored(workload, &name) || self.links.contains_key(&name) {
                continue;
            }
            let baseline = baseline(view, workload, &name, &used, version);
            let link = Link { used, baseline, version, at, changes: 0, seen: None, keys: BTreeSet::new() };
            self.links.insert(name, link);
        }
        for (name, link) in &mut self.links {
            if let Some(applied) = workload.known(&name.to_string()) {
                link.baseline = Some(Baseline::Checksum(applied.clone()));
            }
        }
        self.weigh(view, workload, at);
    }

    /// A config has changed, come or gone; what it was before, if it was there.
    pub(super) fn config(
        &mut self,
        view: &View,
        workload: &Arc<Workload>,
        name: &ConfigName,
        before: Option<&Config>,
        at: Moment,
    ) {
        let Some(link) = self.links.get_mut(name) else { return self.workload(view, workload, at) };
        if view.is_ignored(workload, name) {
            return self.workload(view, workload, at);
        }
        // What comes now may have been there all along, and only its event is late (scenario 33).
        link.baseline = link.baseline.take().or_else(|| baseline(view, workload, name, &link.used, link.version));
        let now = view.config(name).map(|known| &known.config.digest);
        let (was, is) = (before.map(|before| before.digest.used(&link.used)), now.map(|now| now.used(&link.used)));
        if was != is && is.is_some() {
            link.changes += 1;
            if let Some((_, last)) = &mut link.seen {
                *last = at;
            }
            if let (Some(before), Some(now)) = (before, now) {
                link.keys.extend(now.changed_keys(&before.digest, &link.used));
            }
        }
        // The others are as they were: a workload may have thousands.
        let (believed, rolled) = (self.believed(workload), self.rolled);
        if let Some(link) = self.links.get_mut(name) {
            link.weigh(view, &believed, name, rolled, at);
        }
    }

    /// Opens the window of each config that is due, and closes that of each that is not, or not any
    /// more (scenario 14).
    pub(super) fn weigh(&mut self, view: &View, workload: &Arc<Workload>, at: Moment) {
        let believed = self.believed(workload);
        for (name, link) in &mut self.links {
            link.weigh(view, &believed, name, self.rolled, at);
        }
    }

    /// The workload as its annotation says, or in a dry run would say.
    fn believed(&self, workload: &Arc<Workload>) -> Arc<Workload> {
        let mut workload = workload.clone();
        if let Some(pretended) = self.pretended.as_ref().filter(|pretended| pretended.real == workload.applied) {
            let believed = Arc::make_mut(&mut workload);
            believed.applied.clone_from(&pretended.applied);
            believed.pending.clone_from(&pretended.pending);
            believed.rekeyed = false;
            believed.unknown_key.clear();
        }
        workload
    }

    /// All that the rules look at.
    pub(super) fn observe(&self, view: &View, workload: &Arc<Workload>, at: Moment) -> Observed {
        let workload = self.believed(workload);
        let linked = |link: &Link, name| link.linked(view, &workload, name, self.rolled);
        let configs = self.links.iter().map(|(name, link)| (name.clone(), linked(link, name))).collect();
        let (schedule, delay) = (view.schedule(&workload).cloned(), view.delay(&workload));
        let problem = view.problem(&workload);
        Observed { configs, schedule, delay, problem, ..Observed::of(workload, at) }
    }

    /// Configs with changes that are not acted upon yet.
    pub(super) fn waiting(&self) -> usize {
        self.links.values().filter(|link| link.changes > 0 && link.seen.is_some()).count()
    }
}

impl Link {
    fn weigh(&mut self, view: &View, believed: &Workload, name: &ConfigName, rolled: Option<u64>, at: Moment) {
        let linked = self.linked(view, believed, name, rolled);
        match judge(believed.known(&name.to_string()), &linked) {
            Verdict::Changed(..) => {
                self.seen.get_or_insert((at, at));
                self.changes = self.changes.max(1);
            }
            // Whether it is missing for good is a matter of time, too.
            Verdict::Record(_) if linked.present == Present::Missing => self.seen = Some((self.at, self.at)),
            Verdict::Fine | Verdict::Record(_) => (self.changes, self.seen, self.keys) = Default::default(),
        }
    }

    fn linked(&self, view: &View, workload: &Workload, name: &ConfigName, rolled: Option<u64>) -> Linked {
        let known = view.config(name);
        let template = workload.references.get(name);
        let applied = workload.known(&name.to_string()).zip(template);
        let made_of = applied.map(|(checksum, template)| selection::made_of(checksum, template));
        Linked {
            used: self.used.clone(),
            present: view.present(name, &self.used, made_of.as_ref()),
            baseline: self.baseline.clone(),
            changes: self.changes,
            seen: self.seen,
            keys: self.keys.clone(),
            rolled_out: known.zip(rolled).is_some_and(|(known, rolled)| known.changed < rolled),
        }
    }
}

/// What pods had of a config when it and their workload, at this version, were first seen together
/// (X2, X3, X5); `None` if it is not there.
fn baseline(view: &View, workload: &Workload, name: &ConfigName, used: &Use, version: u64) -> Option<Baseline> {
    let known = view.config(name)?;
    let now = || Baseline::Checksum(view.used(name, &known.config.digest, used));
    if known.changed_since(version) && known.watched {
        return Some(Baseline::Outdated);
    }
    if known.changed_since(version) && known.appeared {
        // Pods have waited for it where they had to.
        return Some(if used.required { now() } else { Baseline::Absent });
    }
    // A key that was rotated is no reason to restart, whatever the server says of the Secret.
    if workload.unknown_key.contains(&name.to_string()) {
        return Some(now());
    }
    // Nobody watched; the server may know.
    let config = &known.config;
    let later = config.written.zip(workload.written).is_some_and(|(config, workload)| config > workload);
    let rewritten = config.written > config.created || !used.required;
    Some(if later && rewritten { Baseline::Outdated } else { now() })
}
