//! README.md shows the examples that are compiled and run.

#[test]
fn readme_contains_the_examples() {
    let readme = include_str!("../../README.md");
    let examples = [
        include_str!("../../examples/virtual_time.rs"),
        include_str!("../../examples/failures.rs"),
        include_str!("../../examples/listen.rs"),
    ];
    let shown = readme.split("```rust\n").skip(1).map(|rest| rest.split_once("```\n").unwrap().0);
    // What follows is the test that runs the example.
    let code = examples.iter().map(|example| {
        let (_, code) = example.split_once("\n\n").unwrap();
        let end = ["\n#[test]\n", "\n#[tokio::test]\n"].iter().find_map(|test| code.find(test)).unwrap();
        &code[..end]
    });
    assert_eq!(shown.collect::<Vec<_>>(), code.collect::<Vec<_>>());
}
