//! The pages and their fenced blocks.

use super::root;

/// A Markdown file.
#[derive(Debug)]
pub(crate) struct Page {
    /// The path from the repository's root.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// A fenced block.
#[derive(Debug)]
pub(crate) struct Block {
    /// The first word after the fence.
    pub(crate) language: String,
    /// The path in `<!-- file: PATH -->` in the line before.
    pub(crate) file: Option<String>,
    /// The line number of the fence.
    pub(crate) line: usize,
    /// The text between the fences.
    pub(crate) text: String,
}

/// All pages, sorted by path.
pub(crate) fn pages() -> Vec<Page> {
    let markdown = |folder: &str| {
        let entries = root().join(folder).read_dir().into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let paths = names.filter(|name| name.ends_with(".md")).map(|name| format!("{folder}{name}"));
        paths.collect::<Vec<_>>()
    };
    let mut paths = [markdown(""), markdown("docs/")].concat();
    paths.sort();
    let read = |path: String| {
        let text = std::fs::read_to_string(root().join(&path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        Page { path, text }
    };
    paths.into_iter().map(read).collect()
}

impl Page {
    /// Its fenced blocks, in order.
    pub(crate) fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut open: Option<Block> = None;
        let mut before = "";
        for (number, line) in (1..).zip(self.text.lines()) {
            match (&mut open, line.strip_prefix("```")) {
                (None, Some(info)) => {
                    let file = before.strip_prefix("<!-- file: ").and_then(|rest| rest.strip_suffix(" -->"));
                    let language = info.split([',', ' ']).next().unwrap_or_default().to_owned();
                    open = Some(Block { language, file: file.map(str::to_owned), line: number, text: String::new() });
                }
                (Some(_), Some("")) => blocks.extend(open.take()),
                (Some(block), _) => block.text += &format!("{line}\n"),
                (None, None) => {}
            }
            before = line;
        }
        assert!(open.is_none(), "{}: a block is not closed", self.path);
        blocks
    }

    /// Its lines outside of blocks, with line numbers.
    pub(crate) fn prose(&self) -> Vec<(usize, &str)> {
        let mut inside = false;
        let mut lines = Vec::new();
        for (number, line) in (1..).zip(self.text.lines()) {
            if line.starts_with("```") {
                inside = !inside;
            } else if !inside {
                lines.push((number, line));
            }
        }
        lines
    }
}
