//! A whole recording: reading and writing it, and packing its versions.
//!
//! Names in a recording become file names, so they are checked when it is read: a recording may
//! come from anywhere.

use std::io::{BufRead, Write};

use lockstep_support::sanitize;
use serde_json::Value;

use super::entry::{Header, RecordingEnd, RecordingEntry};

/// The version of the format that this build writes and reads.
pub const FORMAT: u32 = 3;

/// A whole recording, in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// What was run, where, and with which subject.
    pub header: Header,
    /// Everything between the header and the end, in order.
    pub entries: Vec<RecordingEntry>,
    /// The last line; without it the recording was cut off.
    pub end: Option<RecordingEnd>,
}

/// Why a recording cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// A line is not an entry of this format.
    #[error("line {line} is not an entry of a recording: {}", without_line(source))]
    Line {
        /// Counted from 1.
        line: usize,
        /// What the parser says.
        source: serde_json::Error,
    },
    /// The first line is not a header.
    #[error("the first line is not the header of a recording, as `run --recordings`, `capture` and `import` write it")]
    NoHeader,
    /// A second header: several recordings were put into one file.
    #[error("line {line} begins another recording; give each recording a file of its own")]
    SecondHeader {
        /// Counted from 1.
        line: usize,
    },
    /// Another version of lockstep wrote the recording.
    #[error("recording has format {format}, this build reads {FORMAT}; record it again")]
    Format {
        /// The format that the header names.
        format: u32,
    },
    /// A name that this version never writes, and that might lead out of the folder of recordings.
    #[error("the {field} `{name}` is not {rule}; the recording was edited, or was not written by lockstep")]
    Name {
        /// What the name belongs to.
        field: &'static str,
        /// The name, sanitized.
        name: String,
        /// Which names are valid.
        rule: &'static str,
    },
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl Recording {
    /// Reads NDJSON, as [`Recording::write`] writes it. An incomplete last line is ignored.
    ///
    /// # Errors
    /// The header is missing or has another format, or another line is a header or not an entry.
    pub fn read(input: impl BufRead) -> Result<Self, RecordingError> {
        let mut header = None;
        let (mut entries, mut packed) = (Vec::new(), 0);
        let mut end = None;
        // A line that was cut may end in the middle of a letter.
        let mut lines = input.split(b'\n').enumerate().peekable();
        while let Some((number, line)) = lines.next() {
            let line = line?;
            if line.trim_ascii().is_empty() {
                continue;
            }
            let entry = match serde_json::from_slice(&line) {
                Ok(entry) => entry,
                // The writer was stopped in the middle of the line.
                Err(half) if half.is_eof() && lines.peek().is_none() && header.is_some() => break,
                Err(_) if header.is_none() => return Err(explain_first_line(&line)),
                Err(source) => {
                    let line = number + 1;
                    return Err(RecordingError::Line { line, source });
                }
            };
            match (entry, &header) {
                (RecordingEntry::Header(found), None) if found.format != FORMAT => {
                    return Err(RecordingError::Format { format: found.format });
                }
                (RecordingEntry::Header(found), None) => {
                    check_names(&found)?;
                    header = Some(*found);
                }
                (RecordingEntry::Header(_), Some(_)) => return Err(RecordingError::SecondHeader { line: number + 1 }),
                (_, None) => return Err(RecordingError::NoHeader),
                (RecordingEntry::End(found), _) => end = Some(found),
                (entry, _) => {
                    entries.push(entry);
                    packed = pack_old(&mut entries, packed);
                }
            }
        }
        Ok(Self { header: header.ok_or(RecordingError::NoHeader)?, entries, end })
    }

    /// Writes NDJSON: one [`RecordingEntry`] per line.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(&self, mut out: impl Write) -> Result<(), RecordingError> {
        let line = |out: &mut dyn Write, entry: &RecordingEntry| -> std::io::Result<()> {
            serde_json::to_writer(&mut *out, entry)?;
            out.write_all(b"\n")
        };
        line(&mut out, &RecordingEntry::Header(Box::new(self.header.clone())))?;
        for entry in &self.entries {
            line(&mut out, entry)?;
        }
        if let Some(end) = &self.end {
            line(&mut out, &RecordingEntry::End(end.clone()))?;
        }
        // A writer with a buffer cannot return the error of its last part when it is dropped.
        out.flush()?;
        Ok(())
    }
}

/// The parser's message without its line, which is 1 for each line of a recording.
fn without_line(error: &serde_json::Error) -> String {
    error.to_string().replace(" at line 1 column ", " at column ")
}

/// Why a file that begins with this line is not read. The header of another version may have other
/// fields.
fn explain_first_line(line: &[u8]) -> RecordingError {
    let header = serde_json::from_slice::<Value>(line).unwrap_or_default();
    let format = header["header"]["format"].as_u64().and_then(|format| u32::try_from(format).ok());
    format
        .filter(|format| *format != FORMAT)
        .map_or(RecordingError::NoHeader, |format| RecordingError::Format { format })
}

/// Refuses names that would lead out of the folder of recordings, or that are not names.
fn check_names(header: &Header) -> Result<(), RecordingError> {
    let bad = |field: &'static str, name: &str, rule: &'static str| {
        Err(RecordingError::Name { field, name: sanitize::line(name).into_owned(), rule })
    };
    let case = &header.case;
    let parts: Vec<&str> = case.split('/').collect();
    let is_name = |part: &&str| !part.is_empty() && part.chars().any(|letter| letter != '.') && !part.contains('\\');
    if parts.len() > 3 || !parts.iter().all(is_name) || !sanitize::is_one_line(case) {
        return bad("case", case, "`AREA/NAME` or `AREA/FOLDER/NAME`, none of them of dots alone");
    }
    let subject = &header.subject.name;
    if subject.is_empty() || !sanitize::is_one_line(subject) {
        return bad("subject", subject, "one line of plain text");
    }
    Ok(())
}

/// The number of newest entries that stay parsed: more than a usual case has, and than a step
/// needs.
const PARSED: usize = 4096;

/// Packs the versions before the newest entries; those before `packed` are packed already. Returns
/// how many are packed now.
pub fn pack_old(entries: &mut [RecordingEntry], packed: usize) -> usize {
    let end = entries.len().saturating_sub(PARSED).max(packed);
    pack(&mut entries[packed..end]);
    end
}

fn pack(entries: &mut [RecordingEntry]) {
    for entry in entries {
        if let RecordingEntry::Object(version) = entry {
            version.object.pack();
        }
    }
}

impl Recording {
    /// Packs all versions; what is read of them stays the same.
    pub fn pack(&mut self) {
        pack(&mut self.entries);
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const NO_HEADER: &str =
        "the first line is not the header of a recording, as `run --recordings`, `capture` and `import` write it";
    use crate::Blame;
    use crate::testing::RecordingBuilder;

    #[test]
    fn recording_round_trips() {
        let builder = RecordingBuilder::rolled_out(2).request("update", "replicasets", 200).user_step(1, "scale 3");
        let recording = builder.unsettled(Blame::Environment, "probe").trouble(Blame::Subject, "no pod").aborted();
        let mut text = Vec::new();
        recording.write(&mut text).unwrap();
        assert_eq!(Recording::read(text.as_slice()).unwrap(), recording);
        let lines = text.split_inclusive(|byte| *byte == b'\n');
        let cut: Vec<u8> = lines.clone().take(lines.count() - 1).flatten().copied().collect();
        assert_eq!(Recording::read(cut.as_slice()).unwrap().end, None);
        let half = &text[..text.len() - 10];
        assert_eq!(Recording::read(half).unwrap().end, None);
    }

    #[test]
    fn write_reports_what_a_buffer_cannot_write_at_its_end() {
        let full: &mut [u8] = &mut [];
        let written = RecordingBuilder::rolled_out(2).end().write(std::io::BufWriter::with_capacity(1 << 20, full));
        assert!(matches!(written, Err(RecordingError::Io(_))), "{written:?}");
    }

    #[test]
    fn recording_may_be_cut_in_the_middle_of_a_letter() {
        let mut text = Vec::new();
        RecordingBuilder::rolled_out(1).user_step(1, "größe").end().write(&mut text).unwrap();
        let letter = text.iter().rposition(|byte| !byte.is_ascii()).unwrap();
        assert_eq!(Recording::read(&text[..letter]).unwrap().end, None);
    }

    #[rstest]
    #[case("", NO_HEADER)]
    #[case("{\"end\":{\"completed\":true,\"eventsComplete\":true,\"at\":1}}", NO_HEADER)]
    #[case("no json", NO_HEADER)]
    #[case("{\"header\":{\"format\":1}}", "recording has format 1, this build reads 3; record it again")]
    fn refuses_other_files(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(Recording::read(text.as_bytes()).unwrap_err().to_string(), expected);
    }

    #[test]
    fn refuses_two_recordings_in_one_file() {
        let mut text = Vec::new();
        let recording = RecordingBuilder::new().end();
        recording.write(&mut text).unwrap();
        recording.write(&mut text).unwrap();
        let error = Recording::read(text.as_slice()).unwrap_err();
        assert_eq!(error.to_string(), "line 3 begins another recording; give each recording a file of its own");
    }

    #[test]
    fn refuses_other_format() {
        let mut recording = RecordingBuilder::new().end();
        recording.header.format = 99;
        let mut text = Vec::new();
        recording.write(&mut text).unwrap();
        let error = Recording::read(text.as_slice()).unwrap_err();
        assert_eq!(error.to_string(), "recording has format 99, this build reads 3; record it again");
    }

    fn read_named(case: &str, subject: &str) -> Result<Recording, RecordingError> {
        let mut recording = RecordingBuilder::rolled_out(1).end();
        case.clone_into(&mut recording.header.case);
        subject.clone_into(&mut recording.header.subject.name);
        let mut text = Vec::new();
        recording.write(&mut text).unwrap();
        Recording::read(text.as_slice())
    }

    #[rstest]
    #[case("../../x", "ours")]
    #[case("..", "ours")]
    #[case("rolling/..", "ours")]
    #[case("/etc/x", "ours")]
    #[case("/x", "ours")]
    #[case("a/b/c/d", "ours")]
    #[case("a/", "ours")]
    #[case("", "ours")]
    #[case("a\\..\\b", "ours")]
    #[case("a/b\u{1b}[2J", "ours")]
    #[case("a/b", "")]
    #[case("a/b", "ours\n::error::x")]
    fn refuses_names_that_lead_out_of_the_folder(#[case] case: &str, #[case] subject: &str) {
        let error = read_named(case, subject).unwrap_err();
        assert!(matches!(error, RecordingError::Name { .. }), "{error}");
        assert!(!error.to_string().contains(['\u{1b}', '\n']), "{error:?}");
    }

    #[rstest]
    #[case("rolling/a.b-c_d", "command:../bin/x --flag 'a b'")]
    #[case("x", "deployment:./deploy")]
    #[case("größe/..x", "upstream:v1.35.0")]
    #[case("config-restart/safe/delay", "ours")]
    fn accepts_other_names(#[case] case: &str, #[case] subject: &str) {
        assert_eq!(read_named(case, subject).unwrap().header.case, case);
    }
}
