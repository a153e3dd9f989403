//! The format as a whole: the files of this repository, and every mistake that is caught.

use std::path::PathBuf;

use super::{find, load};

#[test]
fn every_case_of_the_repository_reads() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../cases");
    for path in find(&[root]).unwrap() {
        if let Err(error) = load(&path) {
            panic!("{error}");
        }
    }
}
