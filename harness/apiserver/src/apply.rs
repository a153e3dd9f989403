//! Server-side apply of an object or its status. Upstream: `applyPatcher`.

use serde_json::{Value, json};

use super::api::{Decoded, TYPES, decode};
use super::call::DEEPEST;
use super::claims::writer;
use super::convert::converted;
use super::managed::{Atom, Managers, Refused, Writer, told};
use super::object::Object;
use super::problem::{Outcome, Problem};
use super::read::{check_name, check_namespace, untyped};
use super::server::{Answer, Ask, Server};
use super::write::{normal, typed};
use super::{defaults, rules, syntax, yaml};

impl Server {
    /// An object that is not there is created.
    pub(super) fn apply(&mut self, ask: &Ask<'_>, status: bool) -> Outcome<Answer> {
        let kind = ask.kind;
        let old = match self.existing(ask) {
            Ok(old) => Some(old),
            Err(problem) if status => return Err(problem),
            Err(_) => None,
        };
        let (config, version) = (config(ask)?, kind.api_version());
        let (live, had) = match &old {
            Some(old) => (old.at(kind).body.clone(), old.managers.clone()),
            None => (normal(kind, json!({}))?, None),
        };
        check(&config, (&version, kind.kind), |config| typed(kind, config))?;
        let force = matches!(ask.call.param("force"), "true" | "1");
        let writer = Writer { empty: normal(kind, json!({}))?, ..writer(ask) };
        let merged = writer.apply(&live, &had, &config, force);
        let (merged, managers) = merged.map_err(|why| refused(why, &config, (&version, kind.kind)))?;
        let decoded = typed(kind, &merged).map_err(Problem::plain_internal)?;
        let mut new = untyped(decoded.value);
        rules::keep_empty_rules(kind, &merged, &mut new);
        rules::convert(kind, &mut new);
        defaults::fill(kind, &mut new);
        check_namespace(&mut new, kind, &ask.route.namespace)?;
        check_name(&new, &ask.route.name)?;
        let new = converted(new, kind, kind.inner());
        match old {
            Some(old) => self.replaced(ask, &old, new, Some(managers), status),
            None => self.make(ask, new, managers),
        }
    }

    /// The scale that an apply makes of an object's, and the object's managers.
    pub(super) fn applied_scale(&self, ask: &Ask<'_>, old: &Object, scale: &Value) -> Outcome<(Value, Managers)> {
        let what = ("autoscaling/v1", "Scale");
        let place = TYPES.place(what.1).expect("scales are in the table");
        let config = config(ask)?;
        let of_object = writer(ask);
        if ask.kind.custom.is_some() && !of_object.has_managed_replicas(&old.managers) {
            // Upstream would make a manager of what is there, and converts an empty scale for that.
            let why = format!(
                "failed to create manager for existing fields: failed to convert live object (/; {version}, Kind=Scale) \
                 to proper version: request to convert CR to an invalid group/version: {version}",
                version = what.0
            );
            return Err(Problem::plain_internal(why));
        }
        check(&config, what, |config| decode(place, config.clone()))?;
        let force = matches!(ask.call.param("force"), "true" | "1");
        let version = of_object.api_version.clone();
        let of_scale = Writer {
            root: Atom::of_type(place),
            api_version: what.0.to_owned(),
            reset: &[],
            others: Vec::new(),
            ..of_object
        };
        let managers = (&old.managers, version.as_str());
        let applied = of_scale.apply_scale(scale, managers, &config, force);
        let before = scale;
        let (scale, managers) = applied.map_err(|why| refused(why, &config, what))?;
        if ask.kind.custom.is_some() && scale != *before {
            // Upstream's converter of custom resources knows a scale only while it is no map.
            let why = format!(
                "failed to convert new object ({}) to proper version: request to convert CR to an invalid group/version: {}",
                named(&config, what),
                what.0
            );
            return Err(Problem::plain_internal(why));
        }
        let decoded = decode(place, scale).map_err(Problem::plain_internal)?;
        check_name(&decoded.value, &ask.route.name)?;
        Ok((decoded.value, managers))
    }
}

/// Checks what is applied, before it is merged: it is a `kind` of a `version`.
fn check(
    config: &Value,
    (wanted, kind): (&str, &str),
    read: impl FnOnce(&Value) -> Result<Decoded, String>,
) -> Outcome<()> {
    let text = |name: &str| config[name].as_str().unwrap_or_default();
    let (version, said) = (text("apiVersion"), text("kind"));
    if version != wanted {
        return Err(Problem::bad_request(format!("invalid object type: {version}, Kind={said}")));
    }
    if !config["metadata"]["managedFields"].is_null() {
        return Err(Problem::bad_request("metadata.managedFields must be nil".to_owned()));
    }
    let no_type = |why: &str| {
        let named = named(config, (wanted, kind));
        Problem::plain_internal(format!("failed to create typed patch object ({named}): {why}"))
    };
    let decoded = read(config).map_err(|why| no_type(&why))?;
    match decoded.unknown.first() {
        None => Ok(()),
        Some(path) => Err(no_type(&format!(".{path}: field not declared in schema"))),
    }
}

/// The answer to an apply that is refused.
fn refused(why: Refused, config: &Value, what: (&str, &str)) -> Problem {
    match why {
        Refused::Conflicts(conflicts) => {
            let (message, causes) = told(&conflicts);
            Problem::apply_conflict(message, &causes)
        }
        Refused::Merge(why) => {
            let named = named(config, what);
            Problem::plain_internal(format!("failed to create typed patch object ({named}): {why}"))
        }
    }
}

/// What is applied, from YAML or JSON.
pub(super) fn config(ask: &Ask<'_>) -> Outcome<Value> {
    yaml::check_nesting(&ask.call.body)?;
    let decoded = serde_yaml::from_slice::<Value>(&ask.call.body);
    let config = decoded.map_err(|error| Problem::bad_request(format!("error decoding YAML: {error}")))?;
    if syntax::is_deeper(&config, DEEPEST) {
        return Err(Problem::too_deep());
    }
    if config.is_object() { Ok(config) } else { Err(Problem::unsupported("an apply of something that is no object")) }
}

/// `default/web; apps/v1, Kind=Deployment`, with the namespace that the object itself names.
fn named(config: &Value, (version, kind): (&str, &str)) -> String {
    let of = |name: &str| config["metadata"][name].as_str().unwrap_or_default().to_owned();
    // The core group is written before its slash.
    let version = if version.contains('/') { version.to_owned() } else { format!("/{version}") };
    format!("{}/{}; {version}, Kind={kind}", of("namespace"), of("name"))
}
