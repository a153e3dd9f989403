//! Table cells of workloads, scales, disruption budgets and autoscalers.

use serde_json::Value;

use crate::schema::printers::cells::{items, number, or};

/// Upstream: `printScale`.
pub(crate) fn scale(object: &Value, age: &str) -> Vec<Value> {
    let counts = [&object["spec"]["replicas"], &object["status"]["replicas"]].map(|count| number(count).into());
    counts.into_iter().chain([age.into()]).collect()
}

/// Upstream: `printControllerRevision`.
pub(crate) fn revision(object: &Value, age: &str) -> Vec<Value> {
    let owner = items(&object["metadata"]["ownerReferences"]).find(|one| one["controller"] == true);
    let owner = owner.map_or("<none>".to_owned(), |owner| {
        let kind = or(&owner["kind"], "");
        let kind = match or(&owner["apiVersion"], "").split_once('/') {
            Some((group, _)) => format!("{kind}.{group}"),
            None => kind.to_owned(),
        };
        format!("{}/{}", kind.to_lowercase(), or(&owner["name"], ""))
    });
    vec![owner.into(), number(&object["revision"]).into(), age.into()]
}

/// Upstream: `printHorizontalPodAutoscaler`.
pub(crate) fn autoscaler(object: &Value, age: &str) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let target = &spec["scaleTargetRef"];
    let least = spec["minReplicas"].as_i64().map_or("<unset>".to_owned(), |least| least.to_string());
    vec![
        format!("{}/{}", or(&target["kind"], ""), or(&target["name"], "")).into(),
        metrics(spec, status).into(),
        least.into(),
        number(&spec["maxReplicas"]).into(),
        number(&status["currentReplicas"]).into(),
        age.into(),
    ]
}

/// Upstream: `formatHPAMetrics`.
fn metrics(spec: &Value, status: &Value) -> String {
    const MOST: usize = 2;
    let all = items(&spec["metrics"]).enumerate().map(|(index, metric)| {
        let kind = or(&metric["type"], "");
        let field = format!("{}{}", kind[..kind.len().min(1)].to_lowercase(), kind.get(1..).unwrap_or_default());
        let (target, now) = (&metric[&field]["target"], &status["currentMetrics"][index][&field]["current"]);
        let text = |value: &'_ Value, absent: &str| or(value, absent).to_owned();
        let average = target["averageValue"].is_string();
        match kind {
            "External" | "Object" if average => {
                let now = text(&now["averageValue"], "<unknown>");
                format!("{now}/{} (avg)", or(&target["averageValue"], ""))
            }
            "External" | "Object" => format!("{}/{}", text(&now["value"], "<unknown>"), or(&target["value"], "")),
            "Pods" => format!("{}/{}", text(&now["averageValue"], "<unknown>"), or(&target["averageValue"], "")),
            "Resource" | "ContainerResource" => {
                let name = or(&metric[&field]["name"], "");
                if average {
                    let now = text(&now["averageValue"], "<unknown>");
                    return format!("{name}: {now}/{}", or(&target["averageValue"], ""));
                }
                let percent = |value: &Value, absent: &str| {
                    value.as_i64().map_or(absent.to_owned(), |percent| format!("{percent}%"))
                };
                let now = percent(&now["averageUtilization"], "<unknown>");
                format!("{name}: {now}/{}", percent(&target["averageUtilization"], "<auto>"))
            }
            _ => "<unknown type>".to_owned(),
        }
    });
    let all: Vec<String> = all.collect();
    match all.len() {
        0 => "<none>".to_owned(),
        count if count > MOST => format!("{} + {} more...", all[..MOST].join(", "), count - MOST),
        _ => all.join(", "),
    }
}
