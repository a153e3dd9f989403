//! The folder of evidence, which has a limited number of files.

use std::io::{self, BufWriter};
use std::path::Path;

use lockstep_recording::{FileName, Recording, RecordingError};
use lockstep_support::private_fs;

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
    own.iter().take(surplus).try_for_each(|name| std::fs::remove_file(folder.join(name)))
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
    use lockstep_recording::testing::RecordingBuilder;

    use super::*;

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
}
