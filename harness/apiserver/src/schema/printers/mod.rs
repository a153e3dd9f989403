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
mod core;
mod custom;
pub(crate) mod nodes;
mod pods;
mod services;
mod tables;
mod workloads;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::http::media_types::Include;
use crate::registry::autoscaling;
use crate::registry::events::conversion as events;
use crate::registry::strategies;
use crate::types::kinds::ResourceKind;

/// The options of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TableOptions<'a> {
    /// `meta.k8s.io/v1` or an older version.
    pub(crate) api_version: &'a str,
    pub(crate) include: Include,
    /// Whether it has column definitions; only the first table of a watch does.
    pub(crate) headers: bool,
    pub(crate) now: Timestamp,
}

/// Converts an object or a list to a table. An object of no served kind is a scale.
pub(crate) fn table(value: &Value, kind: Option<&'static ResourceKind>, options: TableOptions<'_>) -> Value {
    let objects = match value["items"].as_array() {
        Some(items) => items.iter().collect(),
        None => vec![value],
    };
    let of = TablePrinter {
        kind: kind.map_or("Scale", |kind| kind.kind),
        api_version: value["apiVersion"].as_str().unwrap_or_default(),
        columns: kind.and_then(|kind| kind.custom).map(|custom| custom::columns(&custom.columns)),
    };
    let rows: Vec<Value> = objects.iter().map(|object| row(&of, object, options)).collect();
    // The default printer encodes an empty list of rows as null.
    let none = rows.is_empty() && of.columns.is_none() && tables::is_default(of.kind);
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
    kind: &'a str,
    api_version: &'a str,
    /// The columns of a custom resource.
    columns: Option<Vec<custom::CustomColumn>>,
}

impl TablePrinter<'_> {
    fn headers(&self) -> Value {
        self.columns.as_ref().map_or_else(|| tables::of(self.kind), |columns| custom::headers(columns))
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        match &self.columns {
            Some(columns) => custom::cells(columns, object, now),
            None if self.kind == "Event" && self.api_version.contains('/') => {
                cells(self.kind, &events::to_core(object.clone()), now)
            }
            None if self.kind == "HorizontalPodAutoscaler" && self.api_version.ends_with("/v1") => {
                cells(self.kind, &autoscaling::from_v1(object), now)
            }
            None => cells(self.kind, object, now),
        }
    }
}

pub(crate) fn row(of: &TablePrinter<'_>, object: &Value, options: TableOptions<'_>) -> Value {
    let mut row = json!({"cells": of.cells(object, options.now)});
    if of.kind == "Pod"
        && of.columns.is_none()
        && let Some(conditions) = pods::completed(object)
    {
        row["conditions"] = conditions;
    }
    // The end of the initial events of a watch is an annotation of the object, so the object is
    // always included.
    let ends = !object["metadata"]["annotations"]["k8s.io/initial-events-end"].is_null();
    row["object"] = match options.include {
        Include::Object => {
            let mut object = object.clone();
            object["kind"] = of.kind.into();
            object["apiVersion"] = of.api_version.into();
            object
        }
        Include::Nothing if !ends => Value::Null,
        _ => {
            json!({"kind": "PartialObjectMetadata", "apiVersion": options.api_version, "metadata": partial_metadata(object)})
        }
    };
    row
}

/// The cells of an object, including those of wide columns.
fn cells(kind: &str, object: &Value, now: Timestamp) -> Vec<Value> {
    if let Some(strategy) = strategies::by_name(kind) {
        return strategy.cells(object, now);
    }
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let age = age::since(&object["metadata"]["creationTimestamp"], now);
    let mut cells = vec![name.into()];
    match kind {
        "Pod" => cells.extend(pods::cells(object, &age, now)),
        // The name is the last cell.
        "Event" => return core::event(object, now),
        "Scale" => cells.extend(workloads::scale(object, &age)),
        "ControllerRevision" => cells.extend(workloads::revision(object, &age)),
        "HorizontalPodAutoscaler" => cells.extend(workloads::autoscaler(object, &age)),
        "Service" => cells.extend(services::service(object, &age)),
        _ => cells.push(object["metadata"]["creationTimestamp"].clone()),
    }
    cells
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
        if !object["spec"]["scaleTargetRef"].is_null() {
            annotations.retain(|name, _| !autoscaling::FIELD_ANNOTATIONS.contains(&name.as_str()));
        }
        if annotations.is_empty() && before > 0 {
            meta.as_object_mut().and_then(|meta| meta.remove("annotations"));
        }
    }
    meta
}
