//! Stores objects unchanged, as a restore of etcd does: they are neither validated nor defaulted.

use std::collections::{BTreeMap, BTreeSet};

use http::Method;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::SeededRng;
use crate::http::request::{ApiRequest, ManagedFieldsPolicy, timestamp_value};
use crate::registry::apiextensions::custom_resource_definition;
use crate::registry::conversion;
use crate::registry::custom::kinds_of;
use crate::registry::decode::{decode_as, untyped};
use crate::registry::field_ownership::take_managed_fields;
use crate::registry::scheduling::priority_class::SYSTEM_CLASSES;
use crate::registry::state::{RecountProgress, Server};
use crate::storage::error::StorageError;
use crate::storage::keys::StoreKey;
use crate::storage::object::StoredObject;
use crate::storage::store::Store;
use crate::types::kinds::{Kinds, ResourceKind};

/// An object to store unchanged.
#[derive(Debug)]
pub(crate) struct RestoreEntry {
    kind: &'static ResourceKind,
    key: StoreKey,
    body: Value,
    /// The resourceVersion of the object, if any.
    pub(crate) version: Option<u64>,
}

impl RestoreEntry {
    pub(crate) fn read(kinds: &Kinds, object: Value) -> Result<Self, StorageError> {
        let text = |of: &Value| of.as_str().unwrap_or_default().to_owned();
        let (api_version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
        let Some(kind) = kinds.find(&api_version, &kind) else {
            return Err(StorageError::UnknownKind { api_version, kind });
        };
        let body = decode_as(kind, &untyped(object)).map_err(StorageError::Undecodable)?.value;
        let (namespace, name) = (text(&body["metadata"]["namespace"]), text(&body["metadata"]["name"]));
        if name.is_empty() {
            return Err(StorageError::Missing("metadata.name"));
        }
        if kind.namespaced && namespace.is_empty() {
            return Err(StorageError::Missing("metadata.namespace"));
        }
        let key = StoreKey::new(kind, if kind.namespaced { &namespace } else { "" }, &name);
        let version = body["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok());
        let mut body = conversion::convert_object(untyped(body), kind, kind.storage());
        take_managed_fields(&mut body);
        Ok(Self { kind: kind.storage(), key, body, version })
    }
}

impl RestoreEntry {
    /// Serves the kinds that it declares, if it is a definition of custom resources.
    pub(crate) fn define(&self, kinds: &mut Kinds) {
        if let Some(Ok(definition)) =
            self.kind.is(&custom_resource_definition::KIND).then(|| kinds_of(&self.body["spec"]))
        {
            kinds.define(&self.key.name, definition);
        }
    }
}

impl Kinds {
    /// The kind of a resource as kubectl names it: `deployments` or `deployments.apps`.
    pub(crate) fn by_resource(&self, name: &str) -> Result<&'static ResourceKind, StorageError> {
        let found = self.all().find(|kind| kind.plural == name || kind.resource() == name);
        found.ok_or_else(|| StorageError::UnknownResource(name.to_owned()))
    }
}

impl Server {
    /// A cluster with these objects and the objects that every cluster has.
    pub(crate) fn new(seed: u64, now: Timestamp, mut objects: Vec<RestoreEntry>) -> Self {
        let mut server = Self {
            store: Store::default(),
            rng: SeededRng::new(seed),
            gc_version: 0,
            service_accounts_version: 0,
            quotas: RecountProgress::new(now),
            unsupported: Vec::new(),
            warnings: Vec::new(),
            listed_quantities: Vec::new(),
            dry_run: false,
            not_before: BTreeMap::new(),
            kinds: Kinds::default(),
            definitions_version: 0,
            deleting_definitions: BTreeSet::new(),
        };
        // In version order, so that each object keeps its version.
        objects.sort_by_key(|entry| entry.version.unwrap_or(u64::MAX));
        for entry in objects {
            server.restore(entry, now);
        }
        server.establish(now);
        // Earlier history is unknown.
        server.store.forget(server.store.version());
        for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
            server.create_initially("/api/v1/namespaces", &json!({"metadata": {"name": name}}), now);
        }
        // The random names of a test do not depend on these.
        let rng = std::mem::replace(&mut server.rng, SeededRng::new(!seed));
        for (name, value, description) in SYSTEM_CLASSES {
            let class = json!({"metadata": {"name": name}, "value": value, "description": description});
            server.create_initially("/apis/scheduling.k8s.io/v1/priorityclasses", &class, now);
        }
        server.rng = rng;
        server
    }

    /// Creates an object that every cluster has; an existing one is not changed.
    fn create_initially(&mut self, path: &str, object: &Value, now: Timestamp) {
        let request = ApiRequest {
            method: Method::POST,
            path: path.to_owned(),
            query: BTreeMap::new(),
            content_type: "application/json".to_owned(),
            accept: String::new(),
            user_agent: "kube-apiserver/v1.36".to_owned(),
            body: object.to_string().into(),
            yaml_body: None,
            managed_fields: ManagedFieldsPolicy::Include,
        };
        self.respond(&request, now);
    }

    /// Stores an object unchanged.
    pub(crate) fn restore(&mut self, entry: RestoreEntry, now: Timestamp) -> std::sync::Arc<StoredObject> {
        let RestoreEntry { kind, key, mut body, version } = entry;
        let meta = &mut body["metadata"];
        if meta["uid"].as_str().unwrap_or_default().is_empty() {
            meta["uid"] = self.rng.uid().into();
        }
        if meta["creationTimestamp"].is_null() {
            meta["creationTimestamp"] = timestamp_value(now);
        }
        self.quotas.restart();
        self.store.restore(kind, key, body, version)
    }
}
