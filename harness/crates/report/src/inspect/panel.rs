//! A panel: lines with a title, of which those around the focus are shown if not all fit.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::Line;
use ratatui::widgets::{Block, BorderType, Widget};

/// Lines with a title.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Panel {
    pub(super) title: String,
    pub(super) lines: Vec<Line<'static>>,
    /// The index of the line that must be visible.
    pub(super) focus: usize,
}

impl Panel {
    pub(super) fn new(title: impl Into<String>, lines: Vec<Line<'static>>) -> Self {
        Self { title: title.into(), lines, focus: 0 }
    }

    /// The number of rows of the whole panel, with borders.
    pub(super) fn height(&self) -> u16 {
        u16::try_from(self.lines.len()).unwrap_or(u16::MAX).saturating_add(2)
    }

    /// The lines that fit into this number of rows, and the index of the first.
    fn window(&self, rows: usize) -> (usize, &[Line<'static>]) {
        let from = self.focus.saturating_sub(rows / 2).min(self.lines.len().saturating_sub(rows));
        (from, &self.lines[from..self.lines.len().min(from + rows)])
    }

    pub(super) fn draw(&self, area: Rect, buffer: &mut Buffer) {
        if area.height < 3 || area.width < 4 {
            return;
        }
        let (from, visible) = self.window(usize::from(area.height) - 2);
        let hidden = self.lines.len() - visible.len();
        let title = match hidden {
            0 => format!(" {} ", self.title),
            _ => format!(" {} · {}–{} of {} ", self.title, from + 1, from + visible.len(), self.lines.len()),
        };
        let border = Style::new().fg(Color::DarkGray);
        let block = Block::bordered().border_type(BorderType::Rounded).border_style(border).title(title.bold().reset());
        let inner = block.inner(area);
        block.render(area, buffer);
        for (line, row) in visible.iter().zip(inner.rows()) {
            line.render(row, buffer);
        }
    }
}
