//! The columns of the kinds that have no strategy.

use serde_json::{Value, json};

use crate::registry::strategies;
use crate::schema::printers::columns::CellType::{self, Boolean, Date, Integer, Text};
use crate::schema::printers::columns::{AGE, Column, NAME, wide};

const fn narrow(name: &'static str, cells: CellType) -> Column {
    Column { name, cells, wide: false }
}

/// The columns of a kind. Upstream: `AddHandlers` of `pkg/printers/internalversion`.
fn columns(kind: &str) -> Vec<Column> {
    if let Some(strategy) = strategies::by_name(kind) {
        return strategy.columns().to_vec();
    }
    let own: &[Column] = match kind {
        "Pod" => &[
            narrow("Ready", Text),
            narrow("Status", Text),
            narrow("Restarts", Text),
            AGE,
            wide("IP"),
            wide("Node"),
            wide("Nominated Node"),
            wide("Readiness Gates"),
        ],
        // The name is the last column.
        "Event" => {
            return vec![
                narrow("Last Seen", Text),
                narrow("Type", Text),
                narrow("Reason", Text),
                narrow("Object", Text),
                wide("Subobject"),
                wide("Source"),
                narrow("Message", Text),
                wide("First Seen"),
                wide("Count"),
                wide("Name"),
            ];
        }
        "Scale" => &[narrow("Desired", Integer), narrow("Available", Integer), AGE],
        "ControllerRevision" => &[narrow("Controller", Text), narrow("Revision", Text), AGE],
        "HorizontalPodAutoscaler" => &[
            narrow("Reference", Text),
            narrow("Targets", Text),
            narrow("MinPods", Text),
            narrow("MaxPods", Text),
            narrow("Replicas", Text),
            AGE,
        ],
        "Service" => &[
            narrow("Type", Text),
            narrow("Cluster-IP", Text),
            narrow("External-IP", Text),
            narrow("Port(s)", Text),
            AGE,
            wide("Selector"),
        ],
        _ => &[narrow("Created At", Date)],
    };
    [&[NAME], own].concat()
}

/// Whether a kind has only the default columns.
pub(crate) fn is_default(kind: &str) -> bool {
    columns(kind).last().is_some_and(|column| column.name == "Created At")
}

/// The column definitions of a table.
pub(crate) fn of(kind: &str) -> Value {
    let column = |Column { name, cells, wide }: Column| {
        let cells = match cells {
            Text => "string",
            Integer => "integer",
            Boolean => "boolean",
            Date => "date",
        };
        let format = if name == "Name" && kind != "Scale" { "name" } else { "" };
        json!({"name": name, "type": cells, "format": format, "description": "", "priority": i32::from(wide)})
    };
    columns(kind).into_iter().map(column).collect()
}
