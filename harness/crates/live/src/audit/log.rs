//! Reads audit logs from files: one value per line, values over several lines, lists, lines with a
//! timestamp before the value; compressed, cut off, or from Windows.
//!
//! A log is cut off if it was copied while it was being written, or taken from its middle. The
//! incomplete part is a gap, not an error: something unknown may have been written. Only entries of
//! the kinds of a rollout are parsed; most lines of a log are of other kinds.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, ErrorKind, Read};

use flate2::bufread::MultiGzDecoder;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::entry::{AuditEntry, RESOURCES};
use super::{entry, versions};

/// The entries of audit logs about rollouts.
#[derive(Debug, Default)]
pub struct Log {
    pub(super) entries: Vec<AuditEntry>,
    pub(super) gaps: Vec<Gap>,
    /// Whether there was an entry of any kind.
    pub(super) has_entries: bool,
    /// The entries so far, by ID and time: several files may contain the same entry.
    seen_entries: BTreeSet<(String, Timestamp)>,
}

/// Something that the log lacks.
#[derive(Debug, Clone)]
pub(super) struct Gap {
    /// The latest time at which it was written.
    pub(super) at: Option<Timestamp>,
    /// What is missing.
    pub(super) why: String,
}

/// The first bytes of unsupported compressed files, and the names of the formats.
const UNKNOWN: [(&[u8], &str); 4] =
    [(b"\x28\xb5\x2f\xfd", "zstd"), (b"BZh", "bzip2"), (b"\xfd7zXZ", "xz"), (b"PK\x03\x04", "zip")];

/// The most bytes of a value: one of a compressed file may be endless.
const LONGEST: u64 = 256 << 20;

impl Log {
    /// Add a file; `name` is its name in messages.
    ///
    /// # Errors
    /// See [`AuditError`].
    pub fn add(&mut self, name: &str, file: impl Read) -> Result<(), AuditError> {
        let read = |why: std::io::Error| AuditError::Read { name: name.to_owned(), why };
        let mut file = BufReader::new(file);
        let start = file.fill_buf().map_err(read)?;
        if let Some((_, form)) = UNKNOWN.iter().find(|(magic, _)| start.starts_with(magic)) {
            return Err(AuditError::Compressed { name: name.to_owned(), form });
        }
        let is_gzip = start.starts_with(b"\x1f\x8b");
        let mut plain: Box<dyn BufRead + '_> =
            if is_gzip { Box::new(BufReader::new(MultiGzDecoder::new(file))) } else { Box::new(file) };
        let mut documents = Documents::of(self, name);
        let (mut line, mut cut) = (Vec::new(), false);
        // UTF-16 has zeros in the middle of its line ends.
        let first = plain.fill_buf().unwrap_or_default();
        let wide = match first.get(..2) {
            Some(b"\xff\xfe") => Some(u16::from_le_bytes as fn([u8; 2]) -> u16),
            Some(b"\xfe\xff") => Some(u16::from_be_bytes as fn([u8; 2]) -> u16),
            _ => None,
        };
        if let Some(unit) = wide {
            plain.take(LONGEST + 1).read_to_end(&mut line).map_err(read)?;
            documents.check(line.len())?;
            let units: Vec<u16> = line.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
            for line in String::from_utf16_lossy(&units).lines() {
                documents.line(line)?;
            }
            return documents.end(false);
        }
        loop {
            line.clear();
            match plain.by_ref().take(LONGEST + 1).read_until(b'\n', &mut line) {
                Ok(0) => break,
                Ok(length) => {
                    documents.check(length)?;
                    documents.line(&String::from_utf8_lossy(&line))?;
                }
                // The compressed data end too early, or other data follow them.
                Err(error) if is_gzip && error.kind() != ErrorKind::Interrupted => {
                    documents.line(&String::from_utf8_lossy(&line))?;
                    cut = true;
                    break;
                }
                Err(error) => return Err(read(error)),
            }
        }
        documents.end(cut)
    }
}

/// Splits the lines of one file into values.
struct Documents<'a> {
    log: &'a mut Log,
    name: &'a str,
    /// The number of the current line.
    number: usize,
    /// An incomplete value, the line on which it began, and its nesting.
    open: String,
    begins: usize,
    nesting: Nesting,
    /// The time of the last entry if it was parsed; otherwise its line.
    last: Option<Timestamp>,
    passed: String,
    /// The line of the last gap.
    gap_at: usize,
    /// Gaps before an entry whose time is not known yet.
    untimed: Vec<usize>,
}

impl<'a> Documents<'a> {
    fn of(log: &'a mut Log, name: &'a str) -> Self {
        let (open, passed, nesting) = (String::new(), String::new(), Nesting::default());
        Self { log, name, number: 0, open, begins: 0, nesting, last: None, passed, gap_at: 0, untimed: Vec::new() }
    }

    /// Fails if a value gets too long with this many more bytes.
    fn check(&self, more: usize) -> Result<(), AuditError> {
        if (self.open.len() + more) as u64 <= LONGEST {
            return Ok(());
        }
        let number = if self.open.is_empty() { self.number + 1 } else { self.begins };
        Err(AuditError::TooLong { name: self.name.to_owned(), number, most: LONGEST >> 20 })
    }

    fn line(&mut self, line: &str) -> Result<(), AuditError> {
        self.number += 1;
        let line = line.trim_end_matches(['\n', '\r']);
        let line = if self.number == 1 { line.trim_start_matches('\u{feff}') } else { line };
        // A value begins before the last one has ended.
        if !self.open.is_empty() && line.starts_with("{\"") {
            self.cut();
        }
        if self.open.is_empty() {
            let trimmed = line.trim();
            let is_whole = trimmed.starts_with('{') && trimmed.ends_with('}');
            if is_whole && !RESOURCES.iter().any(|(resource, ..)| trimmed.contains(resource)) {
                self.log.has_entries |= trimmed.contains("audit.k8s.io/") || trimmed.contains("cloud.audit.AuditLog");
                trimmed.clone_into(&mut self.passed);
                return Ok(());
            }
            self.begins = self.number;
            let Some(start) = trimmed.find('{') else {
                trimmed.clone_into(&mut self.open);
                self.cut();
                return Ok(());
            };
            let is_of_csv = trimmed[..start].ends_with('"') && trimmed[start..].starts_with("{\"\"");
            if is_of_csv {
                self.open = csv_field(&trimmed[start..]);
                return self.values(true);
            }
            trimmed.clone_into(&mut self.open);
            self.nesting.read(&trimmed[start..]);
            // A value after other text ends with its line.
            if is_other_text(&trimmed[..start]) && self.nesting.depth > 0 {
                self.cut();
                return Ok(());
            }
        } else {
            self.open.push('\n');
            self.open.push_str(line);
            self.nesting.read(line);
        }
        match self.nesting {
            // A string does not continue on another line.
            Nesting { in_string: true, .. } => self.cut(),
            Nesting { depth: 1.., .. } => {}
            Nesting { .. } => return self.values(false),
        }
        Ok(())
    }

    /// The end of the file; `was_cut`: the file is known to have been longer.
    fn end(mut self, was_cut: bool) -> Result<(), AuditError> {
        self.begins = if self.open.is_empty() { self.number } else { self.begins };
        self.cut();
        if was_cut && self.gap_at != self.number {
            self.gap(self.last, format!("{} is cut off: its compressed data end too early", self.name));
        }
        Ok(())
    }

    /// Extract the complete values.
    fn values(&mut self, is_field: bool) -> Result<(), AuditError> {
        let text = std::mem::take(&mut self.open);
        self.nesting = Nesting::default();
        let begin = text.find('{').unwrap_or(0);
        let mut rest = &text[begin..];
        let (mut entries, mut is_broken) = (0, false);
        while rest.starts_with('{') {
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
            let Some(Ok(value)) = values.next() else {
                is_broken = true;
                break;
            };
            rest = rest[values.byte_offset()..].trim_start_matches(|c: char| c.is_whitespace() || ",][".contains(c));
            let bad = |why| AuditError::Line { name: self.name.to_owned(), number: self.begins, why };
            let content = entry::find_entries(value).map_err(bad)?;
            entries += content.entries.len();
            content.entries.iter().for_each(|entry| self.entry(entry));
            for part in content.texts.iter().filter(|text| matters(text)) {
                let why = format!("{}: line {} has a part of an entry only", self.name, self.begins);
                self.gap(time_in(part).or(self.last), why);
            }
        }
        let is_alone = !is_other_text(&text[..begin]) && rest.is_empty();
        if is_broken || entries == 0 && !is_alone && !is_field {
            self.open = text;
            self.cut();
        }
        Ok(())
    }

    /// Add an entry, unless it is a duplicate.
    fn entry(&mut self, value: &Value) {
        self.log.has_entries = true;
        let time = value.get("stageTimestamp").and_then(Value::as_str).and_then(|time| time.parse().ok());
        match AuditEntry::deserialize(value) {
            Ok(entry) if entry.counts() => {
                if entry.id.is_empty() || self.log.seen_entries.insert((entry.id.clone(), entry.time())) {
                    self.log.entries.extend(versions::expand(entry));
                }
            }
            Ok(_) => {}
            Err(error) if matters(&value.to_string()) => {
                let why = format!("{}: line {} cannot be read as an entry: {error}", self.name, self.begins);
                self.gap(time.or(self.last), why);
            }
            Err(_) => {}
        }
        let Some(time) = time else { return };
        self.last = Some(time);
        for gap in self.untimed.drain(..) {
            // It came before this entry.
            self.log.gaps[gap].at = time.checked_sub(jiff::SignedDuration::from_micros(1)).ok();
        }
    }

    /// Handle the rest of a value without an end, or without a beginning.
    fn cut(&mut self) {
        let piece = std::mem::take(&mut self.open);
        self.nesting = Nesting::default();
        if !matters(&piece) {
            return;
        }
        self.log.has_entries |= piece.contains("audit.k8s.io/");
        let at = time_in(&piece).or_else(|| time_in(&self.passed)).max(self.last);
        self.gap(at, format!("{}: line {} is cut off", self.name, self.begins));
    }

    fn gap(&mut self, at: Option<Timestamp>, why: String) {
        if at.is_none() {
            self.untimed.push(self.log.gaps.len());
        }
        self.gap_at = self.number;
        self.log.gaps.push(Gap { at, why });
    }
}

/// The open brackets and strings at the end of a text.
#[derive(Debug, Clone, Copy, Default)]
struct Nesting {
    depth: i64,
    in_string: bool,
    is_escaped: bool,
}

impl Nesting {
    fn read(&mut self, text: &str) {
        for byte in text.bytes() {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.in_string => self.is_escaped = true,
                b'"' => self.in_string = !self.in_string,
                b'{' | b'[' if !self.in_string => self.depth += 1,
                b'}' | b']' if !self.in_string => self.depth -= 1,
                _ => {}
            }
        }
    }
}

/// Whether the text has more than the punctuation of a list.
fn is_other_text(text: &str) -> bool {
    text.contains(|c: char| !c.is_whitespace() && !",[".contains(c))
}

/// The text of a quoted CSV field, whose quotes are doubled, up to its end.
fn csv_field(text: &str) -> String {
    let mut field = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == '"' && letters.next_if_eq(&'"').is_none() {
            break;
        }
        field.push(letter);
    }
    field
}

/// Whether an unreadable part may have been a write of the kinds of a rollout.
fn matters(piece: &str) -> bool {
    let plain: String = piece.chars().filter(|c| !matches!(c, '\\' | ' ' | '\n')).collect();
    let word = |key: &str, from: usize| {
        let (_, rest) = plain.get(from..)?.split_once(&format!("\"{key}\":\""))?;
        rest.split_once('"').map(|(word, _)| word)
    };
    let kinds = &RESOURCES[..3];
    if let Some(resource) = plain.find("\"objectRef\":").and_then(|from| word("resource", from)) {
        return kinds.iter().any(|(plural, ..)| *plural == resource);
    }
    if plain.contains("audit.k8s.io/") {
        return word("stage", 0).is_none_or(|stage| stage == "ResponseComplete");
    }
    kinds.iter().any(|(plural, _, kind)| {
        plain.contains(&format!("\"kind\":\"{kind}\"")) || plain.contains(&format!("\"resource\":\"{plural}\""))
    })
}

/// The time in a text that may not be JSON.
fn time_in(text: &str) -> Option<Timestamp> {
    let (_, rest) = text.rsplit_once("stageTimestamp")?;
    let digits = rest.trim_start_matches(['\\', '"', ':', ' ']);
    digits.split(['\\', '"']).next()?.parse().ok()
}

/// Why a log cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// A value of a log, or the whole log, is too long.
    #[error(
        "{name}: the value that begins on line {number} is longer than {most} MiB; write one entry a line, as `jq -c '.items[]'` does"
    )]
    TooLong {
        /// The file.
        name: String,
        /// The line on which it begins.
        number: usize,
        /// The longest value that is read, in MiB.
        most: u64,
    },
    /// A file cannot be read.
    #[error("the audit log {name} could not be read: {why}")]
    Read {
        /// The file.
        name: String,
        /// The system's error.
        why: std::io::Error,
    },
    /// A file is compressed in an unsupported format.
    #[error("the audit log {name} is compressed as {form}; decompress it first (gzip is read as it is)")]
    Compressed {
        /// The file.
        name: String,
        /// The name of the format.
        form: &'static str,
    },
    /// A line is malformed.
    #[error("{name}: line {number} is not an entry of an audit log: {why}")]
    Line {
        /// The file.
        name: String,
        /// The number of the line, from 1.
        number: usize,
        /// What is wrong.
        why: String,
    },
    /// There are no entries at all.
    #[error(
        "there is no entry of an audit log: neither an Event of audit.k8s.io, alone or inside the records of CloudWatch or Azure \
         Monitor, nor a protoPayload of Google Cloud"
    )]
    NoEntries,
    /// The audit policy does not log what is needed.
    #[error(
        "the log has {request} at level {level}, without what the server answered; the audit policy must log create, update, patch, \
         delete and deletecollection of deployments and replicasets (apps), pods and events at level RequestResponse; where a cloud \
         provider sets the policy, use `lockstep capture`"
    )]
    Level {
        /// The request, such as "`patch pods/status` of web-1".
        request: String,
        /// The level of the log.
        level: String,
    },
    /// The log lacks the Deployment.
    #[error("the log has no write of {0}")]
    NoDeployment(String),
    /// The log has several Deployments.
    #[error("the log has several Deployments: name one of {0}")]
    Several(String),
    /// The log begins too late.
    #[error(
        "the log never has all that there is of deployment {0}: neither its creation, nor a moment at which each of its ReplicaSets \
         and pods had been written since the log begins; add the logs before it"
    )]
    Begins(String),
    /// No entry is left in the time range.
    #[error("the log has nothing of deployment {0} in that time")]
    Time(String),
}
