//! Table cells of pods, such as `kubectl get pods` shows for ready and status. Upstream:
//! `printPod`.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::schema::printers::age;
use crate::schema::printers::cells::{self, items, number, or};

/// The summary of all containers.
struct Summary {
    ready: usize,
    reason: String,
    restarts: i64,
    /// The time at which a container last ended before a restart.
    last_restart: Option<Timestamp>,
}

pub(crate) fn cells(pod: &Value, now: Timestamp) -> Vec<Value> {
    let (spec, status) = (&pod["spec"], &pod["status"]);
    let summary = summary(pod);
    let sidecars = items(&spec["initContainers"]).filter(|one| is_sidecar(one)).count();
    let all = items(&spec["containers"]).len() + sidecars;
    let restarts = match summary.last_restart {
        Some(time) if summary.restarts != 0 => {
            format!("{} ({} ago)", summary.restarts, age::human(now.duration_since(time)))
        }
        _ => summary.restarts.to_string(),
    };
    vec![
        cells::name(pod),
        format!("{}/{all}", summary.ready).into(),
        summary.reason.into(),
        restarts.into(),
        cells::age(pod, now),
        or(&status["podIPs"][0]["ip"], "<none>").into(),
        or(&spec["nodeName"], "<none>").into(),
        or(&status["nominatedNodeName"], "<none>").into(),
        gates(pod).into(),
    ]
}

/// The row condition of a pod that has ended. The message is this project's own.
pub(crate) fn completed(pod: &Value) -> Option<Value> {
    let phase = pod["status"]["phase"].as_str().filter(|phase| matches!(*phase, "Succeeded" | "Failed"))?;
    Some(json!([{"type": "Completed", "status": "True", "reason": phase, "message": "All containers have ended."}]))
}

/// Whether an init container keeps running beside the containers.
fn is_sidecar(container: &Value) -> bool {
    container["restartPolicy"] == "Always"
}

fn condition<'a>(pod: &'a Value, kind: &str) -> Option<&'a Value> {
    items(&pod["status"]["conditions"]).find(|one| one["type"] == kind)
}

fn is_true(pod: &Value, kind: &str) -> bool {
    condition(pod, kind).is_some_and(|one| one["status"] == "True")
}

/// The number of a pod's open readiness gates.
fn gates(pod: &Value) -> String {
    let gates = items(&pod["spec"]["readinessGates"]);
    let (all, open) = (gates.len(), gates.filter(|gate| is_true(pod, or(&gate["conditionType"], ""))).count());
    if all == 0 { "<none>".to_owned() } else { format!("{open}/{all}") }
}

fn summary(pod: &Value) -> Summary {
    let status = &pod["status"];
    let mut reason = or(&status["reason"], or(&status["phase"], "")).to_owned();
    let mut conditions = items(&status["conditions"]);
    if conditions.any(|one| one["type"] == "PodScheduled" && one["reason"] == "SchedulingGated") {
        "SchedulingGated".clone_into(&mut reason);
    }
    let mut summary = Summary { ready: 0, reason, restarts: 0, last_restart: None };
    let mut sidecars = Summary { ready: 0, reason: String::new(), restarts: 0, last_restart: None };
    let initializing = summary.add_init_containers(pod, &mut sidecars);
    if !initializing || is_true(pod, "Initialized") {
        (summary.restarts, summary.last_restart) = (sidecars.restarts, sidecars.last_restart);
        summary.add_containers(pod);
    }
    let deleted = !pod["metadata"]["deletionTimestamp"].is_null();
    if deleted && status["reason"] == "NodeLost" {
        "Unknown".clone_into(&mut summary.reason);
    } else if deleted && !matches!(or(&status["phase"], ""), "Succeeded" | "Failed") {
        "Terminating".clone_into(&mut summary.reason);
    }
    summary
}

/// The reason of a terminated container, or its signal or exit code.
fn ended(terminated: &Value, before: &str) -> String {
    match or(&terminated["reason"], "") {
        "" if number(&terminated["signal"]) != 0 => format!("{before}Signal:{}", number(&terminated["signal"])),
        "" => format!("{before}ExitCode:{}", number(&terminated["exitCode"])),
        reason => format!("{before}{reason}"),
    }
}

impl Summary {
    fn count_restarts(&mut self, container: &Value) {
        self.restarts += number(&container["restartCount"]);
        let ended = age::parsed(&container["lastState"]["terminated"]["finishedAt"]);
        self.last_restart = self.last_restart.max(ended);
    }

    /// Adds the init containers; returns whether the pod is still initializing.
    fn add_init_containers(&mut self, pod: &Value, sidecars: &mut Self) -> bool {
        let declared = &pod["spec"]["initContainers"];
        for (index, container) in items(&pod["status"]["initContainerStatuses"]).enumerate() {
            self.count_restarts(container);
            let sidecar = items(declared).any(|one| one["name"] == container["name"] && is_sidecar(one));
            if sidecar {
                sidecars.count_restarts(container);
            }
            let (terminated, waiting) = (&container["state"]["terminated"], &container["state"]["waiting"]);
            if terminated.is_object() && number(&terminated["exitCode"]) == 0 {
                continue;
            }
            if sidecar && container["started"] == true {
                self.ready += usize::from(container["ready"] == true);
                continue;
            }
            self.reason = if terminated.is_object() {
                ended(terminated, "Init:")
            } else {
                match or(&waiting["reason"], "") {
                    "" | "PodInitializing" => format!("Init:{index}/{}", items(declared).len()),
                    reason => format!("Init:{reason}"),
                }
            };
            return true;
        }
        false
    }

    fn add_containers(&mut self, pod: &Value) {
        let (mut running, mut error) = (false, String::new());
        for container in items(&pod["status"]["containerStatuses"]).rev() {
            self.count_restarts(container);
            let state = &container["state"];
            let (waiting, terminated) = (or(&state["waiting"]["reason"], ""), &state["terminated"]);
            if !waiting.is_empty() {
                waiting.clone_into(&mut self.reason);
            } else if terminated.is_object() {
                self.reason = ended(terminated, "");
                if number(&terminated["exitCode"]) != 0 {
                    self.reason.clone_into(&mut error);
                }
            } else if container["ready"] == true && state["running"].is_object() {
                running = true;
                self.ready += 1;
            }
        }
        if self.reason != "Completed" {
            return;
        }
        if running && is_true(pod, "Ready") {
            "Running".clone_into(&mut self.reason);
        } else if !error.is_empty() {
            self.reason = error;
        } else if running {
            "NotReady".clone_into(&mut self.reason);
        }
    }
}
