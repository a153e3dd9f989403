//! Runs the seeds and earlier findings of the fuzz target in `controller/fuzz` on every test run.

#[expect(unreachable_pub, reason = "the fuzz target is another crate")]
#[path = "../../../fuzz/src/inputs.rs"]
mod inputs;

use std::path::Path;

#[test]
fn corpus_inputs_do_not_panic() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/annotations");
    let mut inputs = 0;
    for entry in folder.read_dir().expect("the corpus") {
        let path = entry.expect("readable").path();
        println!("{}", path.display());
        inputs::annotations(&std::fs::read(&path).expect("readable"));
        inputs += 1;
    }
    assert!(inputs > 0, "no input in {}", folder.display());
}
