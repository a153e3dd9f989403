//! The folder of evidence: so many files, and the oldest go first.

use std::io::{self, BufWriter};
use std::path::Path;

use crate::private;
use crate::recording::{FileName, Recording, RecordingError};

/// Write a recording, then remove the oldest beyond so many.
pub(super) fn keep(folder: &Path, name: &FileName, recording: &Recording, most: usize) -> Result<(), RecordingError> {
    // A reader finds a whole file or none.
    let half = folder.join(format!(".{name}.part"));
    recording.write(BufWriter::new(private::create(&half)?))?;
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

/// Whether a file is named as evidence is: `20261124T040000Z-NAMESPACE-DEPLOYMENT.ndjson`.
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
    use super::*;
    use crate::timeline::fixture::Film;

    #[test]
    fn the_oldest_go_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("mine.ndjson"), "x").unwrap();
        let recording = Film::rolled_out(1).end();
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
