//! The columns of tables: name, type, and whether only `-o wide` shows them.

use CellType::{Boolean, Date, Integer, Text};

/// The type of the cells of a column.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CellType {
    Text,
    Integer,
    Boolean,
    Date,
}

/// A column of a built-in kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) cells: CellType,
    /// Whether only `-o wide` shows it.
    pub(crate) wide: bool,
}

impl Column {
    /// The columns of a kind without columns of its own.
    pub(crate) const DEFAULT: [Self; 2] = [NAME, Self { name: "Created At", cells: Date, wide: false }];
}

pub(crate) const fn text(name: &'static str) -> Column {
    Column { name, cells: Text, wide: false }
}

pub(crate) const fn integer(name: &'static str) -> Column {
    Column { name, cells: Integer, wide: false }
}

pub(crate) const fn boolean(name: &'static str) -> Column {
    Column { name, cells: Boolean, wide: false }
}

/// A column that only `-o wide` shows.
pub(crate) const fn wide(name: &'static str) -> Column {
    Column { name, cells: Text, wide: true }
}

pub(crate) const NAME: Column = text("Name");
pub(crate) const AGE: Column = text("Age");
pub(crate) const CONTAINERS: [Column; 2] = [wide("Containers"), wide("Images")];
