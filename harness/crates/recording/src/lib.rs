//! A recording: everything that was observed while one case ran, in one order, as NDJSON.
//!
//! **Architecture Invariant:** it knows what was observed, not what was expected: no case, no
//! timeline, no network and no clock.
//!
//! It separates running from judging. The runner writes recordings; timelines, verdicts and
//! reports read nothing else, so a stored recording can be judged again, offline,
//! with the same result. The first line is the [`Header`], the last is the [`RecordingEnd`]; a
//! recording without an end was cut off and proves nothing.
//!
//! Order: object versions are sorted by `resourceVersion` between the mark of their step and its
//! [`Settling`]. Times are milliseconds since the recording began. The recorder replaces the values
//! of Secrets by digests, and `secret` those in a case's text.
//!
//! * `recording` reads and writes a whole recording; `entry` has its lines, from the header to the
//!   end, and `body` the JSON of one version.
//! * `controllers` names the controllers that a case can judge.
//! * `file_name` makes a file name of a case's or subject's name.
//! * `testing` builds recordings for the tests of all crates above.

mod body;
pub mod controllers;
mod entry;
mod file_name;
mod recording;
pub mod secret;
pub mod testing;

pub use body::Body;
pub use entry::{
    Blame, ChangeType, Diagnosis, Effect, FOREIGN_WRITER, Header, Identity, ImpossibleStep, Injection, ObjectVersion,
    PodExpectation, RecordingEnd, RecordingEntry, Settling, StepMark, SubjectKind, SubjectRequest, Trouble,
    TroubleTopic, WriterRole, join_names,
};
pub use file_name::FileName;
pub use recording::{FORMAT, Recording, RecordingError, pack_old};
