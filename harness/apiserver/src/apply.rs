//! Server-side apply of an object or its status. Upstream: `applyPatcher`.

use serde_json::{Value, json};

use super::managed::{Refused, told};
use super::problem::{Outcome, Problem};
use super::read::{check_name, check_namespace, untyped};
use super::server::{Answer, Ask, Server};
use super::write::{normal, typed, writer};
use super::{defaults, rules};

impl Server {
    /// An object that is not there is created.
    pub(super) fn apply(&mut self, ask: &Ask<'_>, status: bool) -> Outcome<Answer> {
        let kind = ask.kind;
        let old = match self.existing(ask) {
            Ok(old) => Some(old),
            Err(problem) if status => return Err(problem),
            Err(_) => None,
        };
        let config = config(ask)?;
        let live = match &old {
            Some(old) => old.body.clone(),
            None => normal(kind, &json!({}))?,
        };
        self.check(ask, &config)?;
        let force = matches!(ask.call.param("force"), "true" | "1");
        let merged = writer(ask).apply(&live, &config, force).map_err(|why| match why {
            Refused::Conflicts(conflicts) => {
                let (message, causes) = told(&conflicts);
                Problem::apply_conflict(message, &causes)
            }
            Refused::Merge(why) => {
                Problem::plain_internal(format!("failed to create typed patch object ({}): {why}", named(ask, &config)))
            }
        })?;
        let decoded = typed(kind, &merged).map_err(Problem::plain_internal)?;
        let mut new = untyped(decoded.value);
        new["metadata"]["managedFields"] = merged["metadata"]["managedFields"].clone();
        rules::convert(kind, &mut new);
        defaults::fill(kind, &mut new);
        check_namespace(&mut new, kind, &ask.route.namespace)?;
        check_name(&new, &ask.route.name)?;
        match old {
            Some(old) => self.replaced(ask, &old, new, status),
            None => self.make(ask, new),
        }
    }

    /// Checks what is applied, before it is merged.
    fn check(&mut self, ask: &Ask<'_>, config: &Value) -> Outcome<()> {
        let (version, wanted) = (config["apiVersion"].as_str().unwrap_or_default(), ask.kind.api_version());
        if version != wanted {
            let kind = config["kind"].as_str().unwrap_or_default();
            return Err(Problem::bad_request(format!("invalid object type: {version}, Kind={kind}")));
        }
        if !config["metadata"]["managedFields"].is_null() {
            return Err(Problem::bad_request("metadata.managedFields must be nil".to_owned()));
        }
        let decoded = typed(ask.kind, config).map_err(|why| {
            Problem::plain_internal(format!("failed to create typed patch object ({}): {why}", named(ask, config)))
        })?;
        match decoded.unknown.first() {
            None => Ok(()),
            Some(path) => Err(Problem::plain_internal(format!(
                "failed to create typed patch object ({}): .{path}: field not declared in schema",
                named(ask, config)
            ))),
        }
    }
}

/// What is applied, from YAML or JSON.
fn config(ask: &Ask<'_>) -> Outcome<Value> {
    let decoded = serde_yaml::from_slice::<Value>(&ask.call.body);
    let config = decoded.map_err(|error| Problem::bad_request(format!("error decoding YAML: {error}")))?;
    if config.is_object() { Ok(config) } else { Err(Problem::unsupported("an apply of something that is no object")) }
}

/// `default/web; apps/v1, Kind=Deployment`, with the namespace that the object itself names.
fn named(ask: &Ask<'_>, config: &Value) -> String {
    let of = |name: &str| config["metadata"][name].as_str().unwrap_or_default().to_owned();
    format!("{}/{}; {}/{}, Kind={}", of("namespace"), of("name"), ask.kind.group, ask.kind.version, ask.kind.kind)
}
