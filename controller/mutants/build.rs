//! With the feature `copy`, writes the copy of the rules that `src/lib.rs` includes. An entry of
//! the bank that does not match them fails the build.

#[cfg(feature = "copy")]
#[path = "build/bank.rs"]
mod bank;
#[cfg(feature = "copy")]
#[path = "build/copy.rs"]
mod copy;
#[cfg(feature = "copy")]
#[path = "build/switches.rs"]
mod switches;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "copy")]
    {
        ["build", copy::BANK, copy::SOURCES].iter().for_each(|path| println!("cargo::rerun-if-changed={path}"));
        for fault in copy::write().err().unwrap_or_default() {
            println!("cargo::error={fault}");
        }
    }
}
