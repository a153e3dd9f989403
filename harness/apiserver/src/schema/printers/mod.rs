//! Tables: the responses that `kubectl get` prints.
//!
//! A client that accepts `as=Table` gets columns and one row per object instead of the objects.
//! Columns, their order and their cells equal upstream's; the descriptions of columns, which
//! kubectl does not print, are this project's own. A kind without columns of its own has a name and
//! a creation time.
//!
//! Upstream: `pkg/printers/internalversion` and `asTable` of `endpoints/handlers`.

pub(crate) mod age;
pub(crate) mod cells;
pub(crate) mod columns;
mod custom;
mod json_path;
pub(crate) mod nodes;
pub(crate) mod pods;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::http::media_types::Include;
use crate::registry::conversion::convert_object;
use crate::registry::kinds::strategy_of;
use crate::registry::strategy::Strategy;
use crate::schema::printers::cells::number;
use crate::schema::printers::columns::{AGE, CellType, Column, NAME, integer};
use crate::types::kinds::ResourceKind;

#[derive(Debug, Clone, Copy)]
pub(crate) struct TableOptions<'a> {
    /// `meta.k8s.io/v1` or an older version.
    pub(crate) api_version: &'a str,
    pub(crate) include: Include,
    /// Whether it has column definitions; only the first table of a watch does.
    pub(crate) headers: bool,
    pub(crate) now: Timestamp,
    /// The kind to which the objects of rows are converted.
    pub(crate) requested_kind: Option<&'static ResourceKind>,
}

/// Converts an object or a list to a table. An object of no served kind is a scale.
pub(crate) fn table(value: &Value, kind: Option<&'static ResourceKind>, options: TableOptions<'_>) -> Value {
    let objects = match value["items"].as_array() {
        Some(items) => items.iter().collect(),
        None => vec![value],
    };
    let of = TablePrinter {
        rows: match kind {
            None => RowPrinter::Scale,
            Some(kind) => match kind.custom {
                Some(custom) => RowPrinter::Custom(custom::columns(&custom.columns)),
                None => RowPrinter::BuiltIn(strategy_of(kind)),
            },
        },
        kind,
        api_version: value["apiVersion"].as_str().unwrap_or_default(),
    };
    let rows: Vec<Value> = objects.iter().map(|object| row(&of, object, options)).collect();
    // The default printer encodes an empty list of rows as null.
    let none = rows.is_empty() && of.has_default_columns();
    let rows = if none { Value::Null } else { rows.into() };
    let mut meta = json!({"resourceVersion": value["metadata"]["resourceVersion"].as_str().unwrap_or_default()});
    for name in ["continue", "remainingItemCount"] {
        let given = &value["metadata"][name];
        if !given.is_null() && *given != "" && value["items"].is_array() {
            meta[name] = value["metadata"][name].clone();
        }
    }
    let headers = if options.headers { of.headers() } else { Value::Null };
    json!({"kind": "Table", "apiVersion": options.api_version, "metadata": meta, "columnDefinitions": headers, "rows": rows})
}

/// Adds the column attributes that only the scales of custom resources have: upstream has two
/// tables of scales.
pub(crate) fn as_of_custom_scale(table: &mut Value) {
    for column in table["columnDefinitions"].as_array_mut().into_iter().flatten() {
        let (field, value) = match column["name"].as_str() {
            Some("Name") => ("format", "name"),
            Some("Age") => ("type", "date"),
            _ => continue,
        };
        column[field] = value.into();
    }
}

/// Prints the rows of one kind.
pub(crate) struct TablePrinter<'a> {
    rows: RowPrinter,
    /// `None` for scales.
    kind: Option<&'static ResourceKind>,
    api_version: &'a str,
}

/// What has the columns and the cells.
enum RowPrinter {
    BuiltIn(&'static dyn Strategy),
    Custom(Vec<custom::CustomColumn>),
    Scale,
}

/// The columns of scales. Upstream: `printScale`.
const OF_SCALES: [Column; 4] = [NAME, integer("Desired"), integer("Available"), AGE];

impl TablePrinter<'_> {
    fn headers(&self) -> Value {
        match &self.rows {
            RowPrinter::BuiltIn(strategy) => headers(strategy.columns(), "name"),
            RowPrinter::Custom(columns) => custom::headers(columns),
            RowPrinter::Scale => headers(&OF_SCALES, ""),
        }
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        match &self.rows {
            RowPrinter::BuiltIn(strategy) => strategy.cells(object, now),
            RowPrinter::Custom(columns) => custom::cells(columns, object, now),
            RowPrinter::Scale => {
                let [desired, available] = ["spec", "status"].map(|part| number(&object[part]["replicas"]).into());
                vec![cells::name(object), desired, available, cells::age(object, now)]
            }
        }
    }

    /// Whether the kind has no columns of its own.
    fn has_default_columns(&self) -> bool {
        let RowPrinter::BuiltIn(strategy) = &self.rows else { return false };
        strategy.columns().last().is_some_and(|column| column.name == Column::DEFAULT[1].name)
    }
}

/// The column definitions of a table, with the format of the column of names.
fn headers(columns: &[Column], format_of_name: &str) -> Value {
    let header = |Column { name, cells, wide }: &Column| {
        let cells = match cells {
            CellType::Text => "string",
            CellType::Integer => "integer",
            CellType::Boolean => "boolean",
            CellType::Date => "date",
        };
        let format = if *name == "Name" { format_of_name } else { "" };
        json!({"name": name, "type": cells, "format": format, "description": "", "priority": i32::from(*wide)})
    };
    columns.iter().map(header).collect()
}

pub(crate) fn row(of: &TablePrinter<'_>, object: &Value, options: TableOptions<'_>) -> Value {
    let mut row = json!({"cells": of.cells(object, options.now)});
    if let RowPrinter::BuiltIn(strategy) = &of.rows
        && let Some(conditions) = strategy.row_conditions(object)
    {
        row["conditions"] = conditions;
    }
    // The end of the initial events of a watch is an annotation of the object, so the object is
    // always included.
    let ends = !object["metadata"]["annotations"]["k8s.io/initial-events-end"].is_null();
    row["object"] = match options.include {
        Include::Object => {
            let mut object = object.clone();
            object["kind"] = of.kind.map_or("Scale", |kind| kind.kind).into();
            object["apiVersion"] = of.api_version.into();
            match (of.kind, options.requested_kind) {
                (Some(kind), Some(requested)) => convert_object(object, kind, requested),
                _ => object,
            }
        }
        Include::Nothing if !ends => Value::Null,
        _ => {
            json!({"kind": "PartialObjectMetadata", "apiVersion": options.api_version, "metadata": partial_metadata(object)})
        }
    };
    row
}

#[cfg(test)]
mod tests;

/// The metadata of an object, without annotations that stand for fields of another version:
/// upstream extracts it before the object is converted to the requested version.
pub(crate) fn partial_metadata(object: &Value) -> Value {
    const OF_FIELDS: [&str; 2] = ["deprecated.daemonset.template.generation", "deprecated.deployment.rollback.to"];
    let mut meta = object["metadata"].clone();
    if let Some(annotations) = meta.get_mut("annotations").and_then(Value::as_object_mut) {
        let before = annotations.len();
        annotations.retain(|name, _| !OF_FIELDS.contains(&name.as_str()));
        if annotations.is_empty() && before > 0 {
            meta.as_object_mut().and_then(|meta| meta.remove("annotations"));
        }
    }
    meta
}
