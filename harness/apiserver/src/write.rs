//! Create, replace and patch. Upstream: `Create` and `Update` of the generic registry.

use http::StatusCode;
use serde_json::{Value, json};

use super::api::{self, Decoded, decode};
use super::body::{self, patch_error, unregistered};
use super::claims::note_manager;
use super::convert::converted;
use super::custom::{Custom, refuse_definition, refuse_invalid_before};
use super::field::FieldError;
use super::kinds::{AUTOSCALER, DEFINITION, Kind};
use super::managed::{self, Managers};
use super::object::Object;
use super::problem::{Outcome, Problem};
use super::read::{check_name, check_namespace, untyped, with_rollback};
use super::server::{Answer, Ask, Server, stamp, text, whole};
use super::store::Key;
use super::{admit, defaults, quota, rules, services, validate};

/// The longest part of `generateName` that is used.
const LONGEST_BASE: usize = 58;

impl Server {
    pub(super) fn create(&mut self, ask: &Ask<'_>) -> Outcome<Answer> {
        let mut body = self.read(ask)?;
        check_namespace(&mut body, ask.kind, &ask.route.namespace)?;
        for own in ["deletionTimestamp", "deletionGracePeriodSeconds"] {
            body["metadata"].as_object_mut().and_then(|meta| meta.remove(own));
        }
        let mut body = converted(body, ask.kind, ask.kind.inner());
        let empty = normal(ask.kind.inner(), json!({}))?;
        let managers = note_manager(ask, (&empty, &None), &mut body)?;
        self.make(ask, body, managers)
    }

    /// Creates an object.
    pub(super) fn make(&mut self, ask: &Ask<'_>, mut body: Value, managers: Managers) -> Outcome<Answer> {
        let kind = ask.kind.inner();
        let namespace = if kind.namespaced { ask.route.namespace.clone() } else { String::new() };
        let meta = &mut body["metadata"];
        let base = meta["generateName"].as_str().unwrap_or_default().to_owned();
        let makes = meta["name"].as_str().unwrap_or_default().is_empty() && !base.is_empty();
        if makes {
            let base: String = base.chars().take(LONGEST_BASE).collect();
            meta["name"] = format!("{base}{}", self.chance.suffix()).into();
        }
        meta["uid"] = self.chance.uid().into();
        let earliest = self.not_before.get(&namespace).copied().unwrap_or(ask.now);
        meta["creationTimestamp"] = stamp(ask.now.max(earliest));
        let version = meta.as_object_mut().and_then(|meta| meta.remove("resourceVersion"));
        let name = meta["name"].as_str().unwrap_or_default().to_owned();
        // Admission comes before names are generated.
        let known = if makes { &base } else { &name };
        let known = if known.is_empty() { "Unknown" } else { known.as_str() };
        admit::create(self, kind, &namespace, known, &mut body)?;
        let mut name = name.clone();
        if name.is_empty() && kind.built_in() == "LimitRange" {
            name = self.chance.uid();
            body["metadata"]["name"] = name.clone().into();
        }
        if name.is_empty() && kind.built_in() == "Service" && !self.dry {
            let unnamed = services::unnamed(self, &body["spec"]);
            if let Some(error) = unnamed {
                return Err(Problem::invalid(kind.group, kind.kind, &name, &[error]));
            }
        }
        let shared = !makes && shares_labels(ask, &body);
        rules::create(kind, &mut body);
        if shared {
            body["metadata"]["labels"] = body["spec"]["template"]["metadata"]["labels"].clone();
        }
        // A namespace's label has its name, which may have just been generated. What an annotation
        // of an autoscaler of v1 says is judged as it is said.
        if kind.built_in() != AUTOSCALER {
            defaults::fill(kind, &mut body);
        }
        if let Some(what) = validate::unordered(kind, &body) {
            return Err(Problem::unsupported(what));
        }
        let errors = match kind.custom {
            Some(custom) => {
                let errors = custom.validate(&body, None)?;
                if errors.is_empty() {
                    self.warnings.extend(Custom::warnings(&body, None));
                }
                errors
            }
            None => validate::create(kind, with_rollback(kind, &body)?.as_ref()),
        };
        if !errors.is_empty() {
            return Err(Problem::invalid(kind.storage().group, kind.kind, &name, &errors));
        }
        if kind.built_in() == DEFINITION {
            refuse_definition(self, &body)?;
        }
        quota::refuse(self, kind, &body)?;
        if let Some(what) = validate::beyond(kind, &body, None) {
            return Err(Problem::unsupported(what));
        }
        self.warnings.extend(validate::warnings(kind, &body, None));
        admit::validate(self, kind, &namespace, &name, &body)?;
        let charge = quota::Charge { kind, namespace: &namespace, name: &name, new: &body, old: None, now: ask.now };
        quota::admit(self, &charge)?;
        let numbered = |version: &Value| version.as_str().and_then(|text| text.parse::<u64>().ok()).unwrap_or(0) != 0;
        if !self.dry && version.as_ref().is_some_and(numbered) {
            let why = "resourceVersion should not be set on objects to be created";
            return Err(Problem::plain_internal(why.to_owned()));
        }
        let key = Key::new(kind, &namespace, &name);
        if let Some(there) = self.store.get(&key) {
            let refused = Problem::exists(kind, &name, there.deleting());
            return Err(if base.is_empty() { refused } else { refused.not_unique() });
        }
        match kind.built_in() {
            "Service" => services::create(self, &mut body["spec"]),
            // What is read from etcd gets defaults once more.
            "Job" if !self.dry => defaults::labels_of_job(&mut body),
            "EndpointSlice" => rules::empty_lists(&mut body),
            _ => {}
        }
        let body = normal(kind, body)?;
        let object = self.keep(kind, key, body, managers).at(ask.kind);
        if self.dry {
            // It has no version but the one in the request.
            let mut made = object.typed();
            made["metadata"].as_object_mut().and_then(|meta| match version {
                Some(version) => meta.insert("resourceVersion".to_owned(), version),
                None => meta.remove("resourceVersion"),
            });
            return Ok(whole(StatusCode::CREATED, &made));
        }
        Ok(text(StatusCode::CREATED, object.text(ask.call.managed)))
    }

    /// PUT and PATCH of an object or its status.
    pub(super) fn change(&mut self, ask: &Ask<'_>) -> Outcome<Answer> {
        let status = ask.route.subresource == "status";
        if ask.call.method == http::Method::PUT {
            let mut new = self.read(ask)?;
            check_namespace(&mut new, ask.kind, &ask.route.namespace)?;
            check_name(&new, &ask.route.name)?;
            let mut new = converted(new, ask.kind, ask.kind.inner());
            return match self.existing(ask) {
                Ok(old) => self.replaced(ask, &old, new, None, status),
                Err(_) if ask.kind.built_in() == "Service" && status => {
                    Err(Problem::unsupported("the creation of a Service by its status"))
                }
                Err(_) if ask.kind.made_by_put() && !status => {
                    if let Some(uid) = new["metadata"]["uid"].as_str().filter(|uid| !uid.is_empty()) {
                        return Err(self.wrong_uid(ask, "", uid));
                    }
                    if ask.kind.namespaced {
                        admit::namespace_lives(self, ask.kind, &ask.route.namespace, &ask.route.name)?;
                    }
                    base_version(&new)?;
                    let empty = normal(ask.kind, json!({}))?;
                    let managers = note_manager(ask, (&empty, &None), &mut new)?;
                    if !self.dry {
                        new["metadata"].as_object_mut().and_then(|meta| meta.remove("resourceVersion"));
                    }
                    self.make(ask, new, managers)
                }
                Err(problem) => Err(problem),
            };
        }
        body::check_patch(ask.call)?;
        if ask.call.form() == body::APPLY {
            return self.apply(ask, status);
        }
        let old = self.existing(ask)?;
        let new = self.patched(ask, &old.at(ask.kind))?;
        let new = converted(new, ask.kind, ask.kind.inner());
        self.replaced(ask, &old, new, None, status)
    }

    pub(super) fn replaced(
        &mut self,
        ask: &Ask<'_>,
        old: &Object,
        new: Value,
        applied: Option<Managers>,
        status: bool,
    ) -> Outcome<Answer> {
        let object = self.replace(ask, old, new, applied, status)?.at(ask.kind);
        Ok(text(StatusCode::OK, object.text(ask.call.managed)))
    }

    /// An object after a patch, defaults filled in.
    fn patched(&mut self, ask: &Ask<'_>, old: &Object) -> Outcome<Value> {
        let kind = ask.kind;
        let reads = body::reads_managed_fields(ask.call);
        let (patched, mut told) = body::patched(ask, &if reads { old.typed() } else { old.typed_body() })?;
        let error = |why: &str| {
            let whole = if reads { patched.clone() } else { old.add_managers(patched.clone()) };
            patch_error(ask, &whole, why)
        };
        let loose = ask.call.form().contains("strategic");
        let (version, name) = (kind.api_version(), kind.kind);
        let said = (patched["apiVersion"].as_str().unwrap_or_default(), patched["kind"].as_str().unwrap_or_default());
        if !loose {
            if said.0.is_empty() {
                return Err(Problem::unsupported("a patch that takes the version away"));
            }
            let is_other = said.0 != version && self.kinds.named(said.0, name).is_some();
            if kind.custom.is_none() && is_other {
                return Err(Problem::unsupported("a patch of the version in which an object is written"));
            }
            if kind.custom.is_some() && (said.0 != version || said.1 != name) {
                return Err(Problem::unsupported("a patch of a custom resource's version or kind"));
            }
            if said.0 != version || !(said.1.is_empty() || said.1 == name) {
                return Err(error(&unregistered(said.0, said.1)));
            }
        }
        let decoded = if loose { api::decode_loosely(kind.of_table(), patched.clone()) } else { typed(kind, &patched) };
        let decoded = decoded.map_err(|why| error(&why))?;
        told.extend(body::unknown_fields(&decoded.unknown));
        self.tell(ask, told, |why| error(&why))?;
        let mut new = untyped(decoded.value);
        rules::keep_empty_rules(kind, &patched, &mut new);
        rules::convert(kind, &mut new);
        defaults::fill(kind, &mut new);
        check_namespace(&mut new, kind, &ask.route.namespace)?;
        check_name(&new, &ask.route.name)?;
        Ok(new)
    }

    /// Validates a changed object and replaces the old one; `applied` are its managers after an
    /// apply.
    pub(super) fn replace(
        &mut self,
        ask: &Ask<'_>,
        old: &Object,
        mut new: Value,
        applied: Option<Managers>,
        status: bool,
    ) -> Outcome<std::sync::Arc<Object>> {
        let kind = ask.kind.inner();
        let name = ask.route.name.as_str();
        check_namespace(&mut new, kind, old.meta("namespace"))?;
        let empty_rules = rules::take_empty_rules(kind, &mut new);
        let uid = new["metadata"]["uid"].as_str().unwrap_or_default();
        // A patch applies to the object as it was read.
        let put = ask.call.method == http::Method::PUT;
        if put && !uid.is_empty() && uid != old.meta("uid") {
            return Err(self.wrong_uid(ask, old.meta("uid"), uid));
        }
        match base_version(&new)? {
            0 if kind.needs_version() => {
                let error = FieldError::invalid("metadata.resourceVersion", 0, "must be specified for an update");
                return Err(Problem::invalid(kind.group, kind.plural, name, &[error]));
            }
            0 => {}
            version if version != old.version => return Err(Problem::stale(kind, name)),
            _ => {}
        }
        let before = &old.body;
        let mut managers = match applied {
            Some(managers) => managers,
            None => note_manager(ask, (before, &old.managers), &mut new)?,
        };
        if !status {
            admit::update(kind, &mut new, before);
        }
        new["metadata"]["resourceVersion"] = old.version.to_string().into();
        new["metadata"]["generation"] = before["metadata"]["generation"].clone();
        let given = (kind.built_in() == "EndpointSlice").then(|| new.clone());
        if kind.built_in() == "EndpointSlice" {
            rules::empty_lists(&mut new);
        }
        if status {
            rules::status(kind, &mut new, before);
        } else {
            rules::update(kind, &mut new, before);
        }
        if kind.built_in() == "Service" && !status {
            services::update(self, &mut new["spec"], &before["spec"]);
        }
        // These cannot be changed; an update that omits them keeps them.
        for fixed in ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
            let was = &before["metadata"][fixed];
            let meta = &mut new["metadata"];
            let given = matches!(fixed, "deletionGracePeriodSeconds" | "uid") && !meta[fixed].is_null();
            if !was.is_null() && !given {
                meta[fixed] = was.clone();
            }
        }
        // A write of the status keeps the stored spec, which need not be decoded again.
        let keeps_spec = status && kind.custom.is_none();
        let spec = new.get_mut("spec").filter(|_| keeps_spec).map(Value::take);
        let mut new = normal(kind, new)?;
        if let Some(spec) = spec {
            new["spec"] = spec;
        }
        if managed::are_same_but_for_times(&managers, &old.managers) && new == *before {
            managers.clone_from(&old.managers);
        }
        let mut seen = with_rollback(kind, &new)?;
        if empty_rules && !status {
            seen.to_mut()["spec"]["rules"] = json!([]);
        }
        if let Some(what) = validate::unordered(kind, &seen).filter(|_| !status) {
            return Err(Problem::unsupported(what));
        }
        let errors = match kind.custom {
            Some(custom) => {
                let found =
                    if status { custom.validate_status(&seen, before) } else { custom.validate(&seen, Some(before)) };
                let errors = found?;
                if errors.is_empty() && !status {
                    self.warnings.extend(Custom::warnings(&seen, Some(before)));
                }
                errors
            }
            None if status => validate::status(kind, &seen, before),
            None => validate::update(kind, &seen, before),
        };
        if !errors.is_empty() {
            if kind.built_in() == DEFINITION && !status {
                refuse_invalid_before(before)?;
            }
            return Err(Problem::invalid(kind.storage().group, kind.kind, name, &errors));
        }
        if kind.built_in() == DEFINITION && !status {
            refuse_definition(self, &seen)?;
        }
        let beyond =
            if status { validate::beyond_status(kind, &seen) } else { validate::beyond(kind, &seen, Some(before)) };
        if let Some(what) = beyond {
            return Err(Problem::unsupported(what));
        }
        if !status {
            quota::refuse(self, kind, &seen)?;
            self.warnings.extend(validate::warnings(kind, &seen, Some(before)));
            let (namespace, old) = (old.meta("namespace"), Some(before));
            quota::admit(self, &quota::Charge { kind, namespace, name, new: &seen, old, now: ask.now })?;
        }
        // Without finalizers an object in deletion is removed, not written; a namespace is removed
        // by its controller.
        let kept = new["metadata"]["finalizers"].as_array().is_some_and(|names| !names.is_empty());
        let grace = before["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
        if old.deleting() && !kept && grace == 0 && kind.built_in() != "Namespace" {
            self.discard(&old.key());
            // What is not written is answered as it came.
            for (given, name) in given.iter().flat_map(|given| ["endpoints", "ports"].map(|name| (given, name))) {
                new[name] = given[name].clone();
            }
            return Ok(Object::new(kind, new, managers, old.version));
        }
        Ok(self.keep(kind, old.key(), new, managers))
    }
}

/// Whether a new Job's labels are its template's. Where a request names none, upstream's default is
/// the template's own map, so that what is generated for the template is in both; not where a name
/// is generated, as the object is copied before.
fn shares_labels(ask: &Ask<'_>, body: &Value) -> bool {
    let none = |object: &Value| object["metadata"]["labels"].as_object().is_none_or(serde_json::Map::is_empty);
    if ask.kind.built_in() != "Job" || none(body) {
        return false;
    }
    let applied = ask.call.form() == body::APPLY;
    let given = if applied { super::apply::config(ask) } else { body::object_of(ask, ask.kind.kind) };
    given.is_ok_and(|given| none(&given))
}

/// The resourceVersion of an update, 0 if absent. Upstream: `ObjectResourceVersion`.
fn base_version(body: &Value) -> Outcome<u64> {
    match body["metadata"]["resourceVersion"].as_str().unwrap_or_default() {
        "" => Ok(0),
        text => text
            .parse()
            .map_err(|_| Problem::plain_internal(format!("strconv.ParseUint: parsing \"{text}\": invalid syntax"))),
    }
}

/// The body as it is stored, without empty fields.
pub(super) fn normal(kind: &Kind, body: Value) -> Outcome<Value> {
    let decoded = match kind.custom {
        Some(custom) => custom.decode(&body),
        None => decode(kind.of_table(), body),
    };
    let decoded = decoded.map_err(|why| Problem::internal(&format!("the server's own object is wrong: {why}")))?;
    Ok(untyped(decoded.value))
}

/// A body as its kind.
///
/// # Errors
/// The decoder's message for a value of the wrong type.
pub(super) fn typed(kind: &Kind, body: &Value) -> Result<Decoded, String> {
    match kind.custom {
        Some(custom) => custom.decode(body),
        None => decode(kind.of_table(), body.clone()),
    }
}
