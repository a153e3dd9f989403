//! The example in README.md is the one that is compiled and run.

#[test]
fn the_readme_shows_the_example() {
    let readme = include_str!("../README.md");
    let example = include_str!("../examples/virtual_time.rs");
    let (_, rest) = readme.split_once("```rust\n").unwrap();
    let (shown, _) = rest.split_once("```\n").unwrap();
    let (_, code) = example.split_once("\n\n").unwrap();
    let (code, _) = code.split_once("\n#[test]\n").unwrap();
    assert_eq!(shown, code);
}
