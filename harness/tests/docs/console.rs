//! Console blocks: commands after `$ `, each with its output.
//!
//! The notation is trycmd's. trycmd itself runs programs by name and does not know cargo aliases,
//! and does not show exit codes as a shell does; pages show what a reader types.
//!
//! A line `...` matches any lines, and `[..]` matches any text within a line. A command that fails
//! is followed by `$ echo $?`.

use super::pages::Block;
use super::sandbox::Sandbox;

/// The result of running a block.
#[derive(Debug, Default)]
pub(crate) struct BlockResult {
    pub(crate) commands: usize,
    /// The differences from the page.
    pub(crate) wrong: Option<String>,
    /// The corrected block, if it omits no lines.
    pub(crate) rewritten: Option<String>,
}

/// A command and its expected output.
#[derive(Debug)]
struct ConsoleCommand {
    /// The command as on the page.
    command_line: String,
    words: Vec<String>,
    expected: Vec<String>,
}

/// Runs all commands of a block.
pub(crate) fn run(block: &Block, sandbox: &Sandbox) -> BlockResult {
    let commands = read(&block.text);
    let mut ran = BlockResult { commands: commands.len(), ..BlockResult::default() };
    let mut fresh = String::new();
    let mut code = 0;
    let mut rewritable = true;
    let mut wrong = Vec::new();
    for (number, command) in commands.iter().enumerate() {
        let is_exit_code = command.words == ["echo", "$?"];
        let answer = if is_exit_code { Ok((format!("{code}\n"), 0)) } else { sandbox.run(&command.words) };
        let (printed, ended) = match answer {
            Ok(answer) => answer,
            Err(why) => return BlockResult { wrong: Some(format!("{}: {why}", command.command_line)), ..ran },
        };
        code = ended;
        let shows_exit_code = commands.get(number + 1).is_some_and(|next| next.words == ["echo", "$?"]);
        if code != 0 && !shows_exit_code {
            wrong.push(format!("{}: exit code {code}, which `$ echo $?` does not show", command.command_line));
        }
        let printed: Vec<&str> = printed.trim_end().lines().map(str::trim_end).collect();
        fresh += &format!("$ {}\n", command.command_line);
        if !matches(&command.expected, &printed) {
            rewritable &= command.expected.iter().all(|line| line != "...");
            wrong.push(format!("`{}` prints\n{}", command.command_line, printed.join("\n")));
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

fn read(text: &str) -> Vec<ConsoleCommand> {
    let mut commands: Vec<ConsoleCommand> = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(command_line) = line.strip_prefix("$ ") {
            let mut command_line = command_line.to_owned();
            while command_line.ends_with('\\') {
                command_line = format!("{command_line}\n{}", lines.next().unwrap_or_default());
            }
            let words = shlex::split(&command_line.replace("\\\n", " ")).unwrap_or_default();
            commands.push(ConsoleCommand { command_line, words, expected: Vec::new() });
        } else if let Some(last) = commands.last_mut() {
            last.expected.push(line.trim_end().to_owned());
        }
    }
    for command in &mut commands {
        while command.expected.last().is_some_and(String::is_empty) {
            command.expected.pop();
        }
    }
    commands
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

/// Whether a line matches its expectation.
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

/// A line without durations such as `0.23 s`.
fn without_times(line: &str) -> String {
    let words = line.split(' ').collect::<Vec<_>>();
    let is_time = |number: usize| {
        words.get(number + 1).is_some_and(|unit| matches!(unit.trim_end_matches([',', ':']), "s" | "ms"))
            && words[number].parse::<f64>().is_ok()
    };
    (0..words.len()).map(|number| if is_time(number) { "[..]" } else { words[number] }).collect::<Vec<_>>().join(" ")
}

/// The lines of a `sh` block; those that end with `\` are joined.
pub(crate) fn joined(text: &str) -> Vec<String> {
    text.replace("\\\n", " ").lines().map(str::to_owned).collect()
}

/// The words of a lockstep command, beginning with the program; `None` for other commands.
pub(crate) fn words(line: &str) -> Option<Vec<String>> {
    let words = shlex::split(line)?;
    let start = words.iter().position(|word| word == "lockstep").filter(|at| *at == 0 || words[at - 1] == "cargo")?;
    let ends = |word: &&String| !matches!(word.as_str(), "|" | ">" | "&&" | ";" | "||");
    Some(words[start..].iter().take_while(ends).cloned().collect())
}
