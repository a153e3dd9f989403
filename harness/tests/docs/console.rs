//! Console blocks: commands after `$ `, each with what it prints.
//!
//! The notation is trycmd's. trycmd itself runs programs by name and knows no alias of cargo's, and
//! does not show exit codes as a shell does; pages have what a reader types.
//!
//! `...` on a line of its own stands for any lines, `[..]` for any text of a line. A command that
//! does not end with 0 is followed by `$ echo $?`.

use super::pages::Block;
use super::sandbox::Sandbox;

/// What became of a block.
#[derive(Debug, Default)]
pub(crate) struct Ran {
    pub(crate) commands: usize,
    /// What is not as it is shown.
    pub(crate) wrong: Option<String>,
    /// The block as it should be, where it leaves no lines out.
    pub(crate) rewritten: Option<String>,
}

/// A command and what it is to print.
#[derive(Debug)]
struct Shown {
    /// As it stands on the page.
    typed: String,
    words: Vec<String>,
    expected: Vec<String>,
}

/// Run all commands of a block.
pub(crate) fn run(block: &Block, sandbox: &Sandbox) -> Ran {
    let shown = read(&block.text);
    let mut ran = Ran { commands: shown.len(), ..Ran::default() };
    let mut fresh = String::new();
    let mut code = 0;
    let mut rewritable = true;
    let mut wrong = Vec::new();
    for (number, command) in shown.iter().enumerate() {
        let asks = command.words == ["echo", "$?"];
        let answer = if asks { Ok((format!("{code}\n"), 0)) } else { sandbox.run(&command.words) };
        let (printed, ended) = match answer {
            Ok(answer) => answer,
            Err(why) => return Ran { wrong: Some(format!("{}: {why}", command.typed)), ..ran },
        };
        code = ended;
        let next_asks = shown.get(number + 1).is_some_and(|next| next.words == ["echo", "$?"]);
        if code != 0 && !next_asks {
            wrong.push(format!("{}: exit code {code}, which `$ echo $?` does not show", command.typed));
        }
        let printed: Vec<&str> = printed.trim_end().lines().map(str::trim_end).collect();
        fresh += &format!("$ {}\n", command.typed);
        if !matches(&command.expected, &printed) {
            rewritable &= command.expected.iter().all(|line| line != "...");
            wrong.push(format!("`{}` prints\n{}", command.typed, printed.join("\n")));
            fresh.extend(printed.iter().map(|line| format!("{}\n", without_times(line))));
        } else {
            fresh.extend(command.expected.iter().map(|line| format!("{line}\n")));
        }
    }
    if !wrong.is_empty() {
        ran.rewritten = Some(fresh).filter(|_| rewritable);
        ran.wrong = Some(wrong.join("\n"));
    }
    ran
}

fn read(text: &str) -> Vec<Shown> {
    let mut shown: Vec<Shown> = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(typed) = line.strip_prefix("$ ") {
            let mut typed = typed.to_owned();
            while typed.ends_with('\\') {
                typed = format!("{typed}\n{}", lines.next().unwrap_or_default());
            }
            let words = shlex::split(&typed.replace("\\\n", " ")).unwrap_or_default();
            shown.push(Shown { typed, words, expected: Vec::new() });
        } else if let Some(last) = shown.last_mut() {
            last.expected.push(line.trim_end().to_owned());
        }
    }
    for command in &mut shown {
        while command.expected.last().is_some_and(String::is_empty) {
            command.expected.pop();
        }
    }
    shown
}

fn matches(expected: &[String], printed: &[&str]) -> bool {
    match expected.split_first() {
        None => printed.is_empty(),
        Some((line, rest)) if line == "..." => (0..=printed.len()).any(|from| matches(rest, &printed[from..])),
        Some((line, rest)) => {
            printed.split_first().is_some_and(|(first, others)| fits(line, first) && matches(rest, others))
        }
    }
}

/// Whether a line is as it is shown.
fn fits(expected: &str, printed: &str) -> bool {
    let mut parts = expected.split("[..]");
    let Some(mut left) = parts.next().and_then(|first| printed.strip_prefix(first)) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, between)) = parts.split_last() else { return left.is_empty() };
    for part in between {
        let Some((_, after)) = left.split_once(part) else { return false };
        left = after;
    }
    left.ends_with(last)
}

/// A line whose durations, such as `0.23 s`, are left out.
fn without_times(line: &str) -> String {
    let words = line.split(' ').collect::<Vec<_>>();
    let is_time = |number: usize| {
        words.get(number + 1).is_some_and(|unit| matches!(unit.trim_end_matches([',', ':']), "s" | "ms"))
            && words[number].parse::<f64>().is_ok()
    };
    (0..words.len()).map(|number| if is_time(number) { "[..]" } else { words[number] }).collect::<Vec<_>>().join(" ")
}

/// The lines of a `sh` block, those that end with `\` joined.
pub(crate) fn joined(text: &str) -> Vec<String> {
    text.replace("\\\n", " ").lines().map(str::to_owned).collect()
}

/// The words of a lockstep command, the program's name first; nothing for any other.
pub(crate) fn words(line: &str) -> Option<Vec<String>> {
    let words = shlex::split(line)?;
    let start = words.iter().position(|word| word == "lockstep").filter(|at| *at == 0 || words[at - 1] == "cargo")?;
    let ends = |word: &&String| !matches!(word.as_str(), "|" | ">" | "&&" | ";" | "||");
    Some(words[start..].iter().take_while(ends).cloned().collect())
}
