//! Decides which evidence to take, and when: a while after a breach, so that the recording shows
//! the consequences. The folder of evidence has a limited number of files.

use std::collections::BTreeMap;
use std::io::{self, BufWriter};
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use lockstep_recording::{FORMAT, FileName, Header, Identity, Recording, RecordingError, SubjectKind};
use lockstep_support::clock::to_rfc3339;
use lockstep_support::{clock, private_fs};

use super::cluster_state::{ClusterState, DeploymentState};
use super::model::{ClusterInfo, MonitorOutput, Tolerances};

/// How long nothing must happen before the evidence is complete, in milliseconds.
const QUIET: u64 = 10_000;
/// The longest wait for that.
const MOST: u64 = 120_000;
/// How long it may take to write a file.
const RECENT: SignedDuration = SignedDuration::from_mins(1);

#[derive(Debug)]
pub(super) struct EvidenceRecorder {
    terms: Tolerances,
    cluster_info: ClusterInfo,
    /// The time of the breach and the file, by the Deployment's UID.
    pending: BTreeMap<String, (u64, FileName)>,
    /// The time at which evidence was taken and the file, by the Deployment's UID.
    captured: BTreeMap<String, (u64, FileName)>,
    /// The numbers of Deployments in the names of anonymised evidence, by UID.
    numbers: BTreeMap<String, usize>,
    /// Evidence that was taken before it was requested.
    deferred: Vec<MonitorOutput>,
}

impl EvidenceRecorder {
    pub(super) fn new(terms: Tolerances, cluster_info: ClusterInfo) -> Self {
        Self {
            terms,
            cluster_info,
            pending: BTreeMap::new(),
            captured: BTreeMap::new(),
            numbers: BTreeMap::new(),
            deferred: Vec::new(),
        }
    }

    /// Request evidence of a breach; returns its file. A Deployment has at most one file in a
    /// certain time.
    pub(super) fn request_file(&mut self, uid: &str, group: &DeploymentState, at: u64) -> FileName {
        let captured = || self.captured.get(uid).filter(|(captured_at, _)| captured_at + self.terms.keep > at);
        if let Some((_, file)) = self.pending.get(uid).or_else(captured) {
            return file.clone();
        }
        let stamp = to_rfc3339(time(&self.cluster_info, at)).replace(['-', ':'], "");
        let of = if self.terms.anonymise {
            let next = self.numbers.len() + 1;
            format!("deployment-{}", self.numbers.entry(uid.to_owned()).or_insert(next))
        } else {
            format!("{}-{}", group.namespace, group.name)
        };
        let file = FileName::of(&format!("{stamp}-{of}")).with_ending(".ndjson");
        self.pending.insert(uid.to_owned(), (at, file.clone()));
        file
    }

    /// Whether this Deployment's evidence is still to be taken.
    pub(super) fn is_pending(&self, uid: &str) -> bool {
        self.pending.contains_key(uid)
    }

    /// The evidence that is complete by now.
    pub(super) fn due(&mut self, cluster_state: &ClusterState, now: u64) -> Vec<MonitorOutput> {
        self.captured.retain(|_, (at, _)| *at + self.terms.keep > now);
        let is_due = |uid: &str, since: u64| {
            let last = cluster_state.groups.get(uid).and_then(|group| group.window.last_at()).unwrap_or(0);
            last + QUIET <= now || since + MOST <= now
        };
        let due = self.pending.iter().filter(|(uid, (since, _))| is_due(uid, *since));
        let due: Vec<String> = due.map(|(uid, _)| uid.clone()).collect();
        let mut out = std::mem::take(&mut self.deferred);
        out.extend(due.iter().filter_map(|uid| self.take(cluster_state, uid, now)));
        out
    }

    /// All pending evidence, as it is.
    pub(super) fn all(&mut self, cluster_state: &ClusterState) -> Vec<MonitorOutput> {
        let mut out = std::mem::take(&mut self.deferred);
        let all: Vec<(String, u64)> = self.pending.iter().map(|(uid, (since, _))| (uid.clone(), *since)).collect();
        let last = |uid: &str| cluster_state.groups.get(uid).and_then(|group| group.window.last_at());
        out.extend(all.iter().filter_map(|(uid, since)| self.take(cluster_state, uid, last(uid).unwrap_or(*since))));
        out
    }

    /// Return these when evidence is requested next.
    pub(super) fn defer(&mut self, outputs: Vec<MonitorOutput>) {
        self.deferred.extend(outputs);
    }

    fn take(&mut self, cluster_state: &ClusterState, uid: &str, now: u64) -> Option<MonitorOutput> {
        let (_, file) = self.pending.remove(uid)?;
        let group = cluster_state.groups.get(uid)?;
        let header = self.header(cluster_state, group, group.window.first_at().unwrap_or(now));
        self.captured.insert(uid.to_owned(), (now, file.clone()));
        Some(MonitorOutput::Evidence(file, Box::new(group.window.recording(header, now))))
    }

    fn header(&self, cluster_state: &ClusterState, group: &DeploymentState, began: u64) -> Header {
        let ClusterInfo { cluster, version, .. } = &self.cluster_info;
        let program = cluster_state.controllers.first().map_or("kube-controller-manager", String::as_str);
        let of_program = if program == "kube-controller-manager" { version.as_str() } else { "" };
        Header {
            format: FORMAT,
            case: format!("captured/{}", FileName::of(&group.name)),
            path: String::new(),
            source: String::new(),
            controllers: Default::default(),
            under_test: Default::default(),
            namespace: group.namespace.clone(),
            subject: Identity::new(cluster, program, of_program),
            kind: SubjectKind::Cluster,
            cluster: Identity::new(cluster, "kube-apiserver", version),
            cluster_controllers: None,
            beside: None,
            workload: None,
            real_pods: true,
            unevaluated: Vec::new(),
            seed: None,
            started: to_rfc3339(time(&self.cluster_info, began)),
        }
    }
}

/// The time of day at this many milliseconds after the beginning.
pub(super) fn time(cluster_info: &ClusterInfo, at: u64) -> Timestamp {
    let passed = SignedDuration::from_millis(i64::try_from(at).unwrap_or(i64::MAX));
    cluster_info.began.checked_add(passed).unwrap_or(cluster_info.began)
}

/// Write a recording, then delete the oldest ones above the limit.
pub(super) fn keep(folder: &Path, name: &FileName, recording: &Recording, most: usize) -> Result<(), RecordingError> {
    // A reader sees the whole file or none.
    let half = folder.join(format!(".{name}.part"));
    recording.write(BufWriter::new(private_fs::create(&half)?))?;
    std::fs::rename(&half, folder.join(name))?;
    Ok(thin(folder, most)?)
}

fn thin(folder: &Path, most: usize) -> io::Result<()> {
    let mut own: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        own.extend(entry?.file_name().into_string().ok().filter(|name| is_own(name)));
    }
    own.sort_unstable();
    let surplus = own.len().saturating_sub(most);
    own.iter().take(surplus).try_for_each(|name| remove(&folder.join(name)))
}

/// Delete a file. Another recording that is kept at the same time may have deleted it already.
fn remove(file: &Path) -> io::Result<()> {
    std::fs::remove_file(file)
        .or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

/// Make the folder, and delete unfinished files in it, which a process that was killed has left. A
/// recent one may belong to another process.
pub(super) fn prepare(folder: &Path) -> io::Result<()> {
    private_fs::create_dir(folder)?;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().into_string().unwrap_or_default();
        let is_unfinished = name.strip_prefix('.').and_then(|name| name.strip_suffix(".part")).is_some_and(is_own);
        let is_recent = |written| clock::now().duration_since(written) < RECENT;
        let written = || entry.metadata().and_then(|data| data.modified()).ok().and_then(|at| at.try_into().ok());
        if is_unfinished && !written().is_some_and(is_recent) {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

/// Whether a file has the name of an evidence file: `20261124T040000Z-NAMESPACE-DEPLOYMENT.ndjson`.
fn is_own(name: &str) -> bool {
    let Some((stamp, rest)) = name.split_once('-') else { return false };
    let is_shaped = |(at, byte): (usize, u8)| match at {
        8 => byte == b'T',
        15 => byte == b'Z',
        _ => byte.is_ascii_digit(),
    };
    stamp.len() == 16 && stamp.bytes().enumerate().all(is_shaped) && rest.ends_with(".ndjson")
}

#[cfg(test)]
mod tests {
    use std::path::{Component, Path};

    use lockstep_recording::testing::RecordingBuilder;

    use super::*;

    /// The names of the evidence files of Deployments with these namespaces and names.
    fn files(anonymise: bool, deployments: &[(&str, &str)]) -> Vec<String> {
        let terms = Tolerances { staleness: 0, settle: 0, keep: 0, bytes: 0, anonymise };
        let began = "2026-11-24T04:00:00Z".parse().unwrap();
        let mut evidence =
            EvidenceRecorder::new(terms, ClusterInfo { cluster: "prod".to_owned(), version: String::new(), began });
        let name = |(uid, (namespace, name)): (usize, &(&str, &str))| {
            let group = DeploymentState {
                namespace: (*namespace).to_owned(),
                name: (*name).to_owned(),
                ..DeploymentState::default()
            };
            evidence.request_file(&uid.to_string(), &group, 0).to_string()
        };
        deployments.iter().enumerate().map(name).collect()
    }

    #[test]
    fn server_names_cannot_escape_the_folder() {
        assert_eq!(files(false, &[("shop", "web")]), ["20261124T040000Z-shop-web.ndjson"]);
        let long = "x".repeat(300);
        for file in files(false, &[("../../etc", "x"), ("a", "/../../x"), ("..", ".."), (&long, &long)]) {
            let parts: Vec<_> = Path::new(&file).components().collect();
            assert!(matches!(parts[..], [Component::Normal(_)]) && file.len() < 250, "{file}");
        }
    }

    #[test]
    fn anonymised_evidence_is_named_by_a_number() {
        let names = files(true, &[("shop", "web"), ("shop", "api")]);
        assert_eq!(names, ["20261124T040000Z-deployment-1.ndjson", "20261124T040000Z-deployment-2.ndjson"]);
    }

    #[test]
    fn deletes_only_the_oldest_evidence() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("mine.ndjson"), "x").unwrap();
        let recording = RecordingBuilder::rolled_out(1).end();
        for second in 0..4 {
            let name = FileName::of(&format!("20261124T04000{second}Z-shop-web")).with_ending(".ndjson");
            keep(folder.path(), &name, &recording, 2).unwrap();
        }
        let mut names: Vec<String> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|it| it.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["20261124T040002Z-shop-web.ndjson", "20261124T040003Z-shop-web.ndjson", "mine.ndjson"]);
    }

    #[test]
    fn file_that_is_deleted_already_is_no_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("20261124T040000Z-shop-web.ndjson");
        std::fs::write(&file, "x").unwrap();
        remove(&file).unwrap();
        remove(&file).unwrap();
        assert!(remove(folder.path()).is_err());
    }

    #[test]
    fn deletes_what_a_killed_process_left_unfinished() {
        let folder = tempfile::tempdir().unwrap();
        let names = [
            ".20261124T040000Z-shop-web.ndjson.part",
            ".20261124T040001Z-shop-web.ndjson.part",
            ".mine.ndjson.part",
            "20261124T040000Z-shop-web.ndjson",
        ];
        for name in names {
            let file = std::fs::File::create(folder.path().join(name)).unwrap();
            if name != names[1] {
                file.set_modified(std::time::UNIX_EPOCH).unwrap();
            }
        }
        prepare(folder.path()).unwrap();
        let left = names.map(|name| folder.path().join(name).exists());
        assert_eq!(left, [false, true, true, true]);
        prepare(&folder.path().join("not/made/yet")).unwrap();
        assert!(folder.path().join("not/made/yet").is_dir());
        std::fs::write(folder.path().join("file"), "").unwrap();
        prepare(&folder.path().join("file")).unwrap_err();
    }
}
