//! The rules of this repository that no compiler knows, each in a file of its own. Prints one line
//! for each breach, `file:line: what is wrong and what to do`.
//!
//! ```text
//! cargo run --package house-rules [PATHS]      all rules, reported for these files or folders
//! cargo run --package house-rules -- --write   write the parts of pages that are generated
//! ```
//!
//! Exit codes: 0 all rules hold; 1 some do not; 2 the repository cannot be read.
//!
//! *Architecture Invariant:* a rule reads texts and returns breaches. Only `repository` reads and
//! writes files.

mod boundaries;
mod cases;
mod circles;
mod comments;
mod crates;
mod imports;
mod names;
mod repository;
mod requirements;
mod source;
mod words;

use std::process::ExitCode;

use anyhow::Context;
use repository::{Breach, Repository};

fn main() -> ExitCode {
    let (flags, paths): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
    if let Some(unknown) = flags.iter().find(|flag| *flag != "--write") {
        eprintln!("house-rules: unknown flag {unknown}: expected --write");
        return ExitCode::from(2);
    }
    let breaches = if flags.is_empty() { breaches() } else { write().and_then(|()| breaches()) };
    match breaches {
        Ok(breaches) => {
            let mut count = 0;
            for breach in
                breaches.iter().filter(|it| paths.is_empty() || paths.iter().any(|path| it.path.starts_with(path)))
            {
                println!("{}:{}: {}", breach.path, breach.line, breach.message);
                count += 1;
            }
            if count == 0 {
                println!("all hold");
                return ExitCode::SUCCESS;
            }
            eprintln!("house-rules: {count} breaches");
            ExitCode::from(1)
        }
        Err(error) => {
            eprintln!("house-rules: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Write the parts of pages that are generated.
fn write() -> anyhow::Result<()> {
    let repository = Repository::read()?;
    let (path, text) = crates::fresh_page(&repository)?;
    repository::write(path, &text)
}

/// Every breach of every rule, in order of file and line.
fn breaches() -> anyhow::Result<Vec<Breach>> {
    let repository = Repository::read()?;
    let words = repository.texts.get(words::PATH).context("the repository has no list of words")?;
    let words = words::Words::read(words)?;
    let mut breaches = words.check(&repository);
    breaches.extend(comments::check(&repository));
    breaches.extend(names::check(&repository, &words));
    breaches.extend(boundaries::check(&repository));
    breaches.extend(cases::check(&repository));
    breaches.extend(circles::check(&repository));
    breaches.extend(crates::check(&repository)?);
    breaches.extend(requirements::check(&repository));
    breaches.sort();
    breaches.dedup();
    Ok(breaches)
}
