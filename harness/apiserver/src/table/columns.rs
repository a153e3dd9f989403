//! The columns of each kind: name, type, and whether only `-o wide` shows them.

use serde_json::{Value, json};

/// What a column's cells are.
#[derive(Debug, Clone, Copy)]
enum Type {
    Text,
    Integer,
    Boolean,
    Date,
}

use Type::{Boolean, Date, Integer, Text};

type Column = (&'static str, Type, bool);

const fn shown(name: &'static str, cells: Type) -> Column {
    (name, cells, false)
}

/// A column that `-o wide` adds.
const fn wide(name: &'static str) -> Column {
    (name, Text, true)
}

const NAME: Column = shown("Name", Text);
const AGE: Column = shown("Age", Text);
const CONTAINERS: [Column; 2] = [wide("Containers"), wide("Images")];

/// The columns of a kind. Upstream: `AddHandlers` of `pkg/printers/internalversion`.
fn columns(kind: &str) -> Vec<Column> {
    let own: &[Column] = match kind {
        "Pod" => &[
            shown("Ready", Text),
            shown("Status", Text),
            shown("Restarts", Text),
            AGE,
            wide("IP"),
            wide("Node"),
            wide("Nominated Node"),
            wide("Readiness Gates"),
        ],
        "Node" => &[
            shown("Status", Text),
            shown("Roles", Text),
            AGE,
            shown("Version", Text),
            wide("Internal-IP"),
            wide("External-IP"),
            wide("OS-Image"),
            wide("Kernel-Version"),
            wide("Container-Runtime"),
        ],
        "Namespace" => &[shown("Status", Text), AGE],
        // Its name stands last.
        "Event" => {
            return vec![
                shown("Last Seen", Text),
                shown("Type", Text),
                shown("Reason", Text),
                shown("Object", Text),
                wide("Subobject"),
                wide("Source"),
                shown("Message", Text),
                wide("First Seen"),
                wide("Count"),
                wide("Name"),
            ];
        }
        "ConfigMap" => &[shown("Data", Text), AGE],
        "Secret" => &[shown("Type", Text), shown("Data", Text), AGE],
        "ServiceAccount" => &[AGE],
        "ResourceQuota" => &[shown("Request", Text), shown("Limit", Text), AGE],
        "Lease" => &[shown("Holder", Text), AGE],
        "Deployment" => &[
            shown("Ready", Text),
            shown("Up-to-date", Text),
            shown("Available", Text),
            AGE,
            CONTAINERS[0],
            CONTAINERS[1],
            wide("Selector"),
        ],
        "ReplicaSet" => &[
            shown("Desired", Integer),
            shown("Current", Integer),
            shown("Ready", Integer),
            AGE,
            CONTAINERS[0],
            CONTAINERS[1],
            wide("Selector"),
        ],
        "StatefulSet" => &[shown("Ready", Text), AGE, CONTAINERS[0], CONTAINERS[1]],
        "DaemonSet" => &[
            shown("Desired", Integer),
            shown("Current", Integer),
            shown("Ready", Integer),
            shown("Up-to-date", Integer),
            shown("Available", Integer),
            shown("Node Selector", Text),
            AGE,
            CONTAINERS[0],
            CONTAINERS[1],
            wide("Selector"),
        ],
        "Scale" => &[shown("Desired", Integer), shown("Available", Integer), AGE],
        "ControllerRevision" => &[shown("Controller", Text), shown("Revision", Text), AGE],
        "Job" => &[
            shown("Status", Text),
            shown("Completions", Text),
            shown("Duration", Text),
            AGE,
            CONTAINERS[0],
            CONTAINERS[1],
            wide("Selector"),
        ],
        "CronJob" => &[
            shown("Schedule", Text),
            shown("Timezone", Text),
            shown("Suspend", Boolean),
            shown("Active", Integer),
            shown("Last Schedule", Text),
            AGE,
            CONTAINERS[0],
            CONTAINERS[1],
            wide("Selector"),
        ],
        "PodDisruptionBudget" => {
            &[shown("Min Available", Text), shown("Max Unavailable", Text), shown("Allowed Disruptions", Integer), AGE]
        }
        "HorizontalPodAutoscaler" => &[
            shown("Reference", Text),
            shown("Targets", Text),
            shown("MinPods", Text),
            shown("MaxPods", Text),
            shown("Replicas", Text),
            AGE,
        ],
        "Service" => &[
            shown("Type", Text),
            shown("Cluster-IP", Text),
            shown("External-IP", Text),
            shown("Port(s)", Text),
            AGE,
            wide("Selector"),
        ],
        "Ingress" => &[shown("Class", Text), shown("Hosts", Text), shown("Address", Text), shown("Ports", Text), AGE],
        "EndpointSlice" => &[shown("AddressType", Text), shown("Ports", Text), shown("Endpoints", Text), AGE],
        _ => &[shown("Created At", Date)],
    };
    [&[NAME], own].concat()
}

/// Whether a kind has no columns of its own.
pub(super) fn is_default(kind: &str) -> bool {
    columns(kind).last().is_some_and(|(name, ..)| *name == "Created At")
}

/// The columns of a kind, as a table says them.
pub(super) fn of(kind: &str) -> Value {
    let column = |(name, cells, wide): Column| {
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
