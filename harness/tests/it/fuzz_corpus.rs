//! Runs the seeds and earlier findings of the fuzz targets in `harness/fuzz` on every test run.

#[expect(unreachable_pub, reason = "the fuzz targets are another crate")]
#[path = "../../fuzz/src/inputs.rs"]
mod inputs;

use std::path::Path;

use rstest::rstest;

#[rstest]
#[case::requests("requests", inputs::requests)]
#[case::case("case", inputs::case)]
#[case::recording("recording", inputs::recording)]
#[case::audit("audit", inputs::audit)]
#[case::results("results", inputs::results)]
fn corpus_inputs_do_not_panic(#[case] target: &str, #[case] read: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut inputs = 0;
    for entry in folder.read_dir().expect("the corpus") {
        let path = entry.expect("readable").path();
        println!("{}", path.display());
        read(&std::fs::read(&path).expect("readable"));
        inputs += 1;
    }
    assert!(inputs > 0, "no input in {}", folder.display());
}
