//! Tells the program which platform it is built for, so that it can say so.

fn main() {
    let of = |name: &str| std::env::var(name).unwrap_or_default();
    println!("cargo::rustc-env=TARGET_PLATFORM={}/{}", of("CARGO_CFG_TARGET_OS"), of("CARGO_CFG_TARGET_ARCH"));
}
