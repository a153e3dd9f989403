//! What a kind is to clients: its names, scope, verbs and subresources; and the served kinds, which
//! are the built-in ones and the custom resources that CustomResourceDefinitions declare.
//!
//! Each built-in kind stands in its own file, `registry/<group>/<kind>.rs`; `registry/kinds.rs`
//! lists them.

use std::collections::BTreeMap;

use crate::types::custom_kind::CustomKind;
use crate::types::table::TYPES;

/// A kind at one version.
#[derive(Debug)]
pub(crate) struct ResourceKind {
    /// Empty for the core group.
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    /// The plural, as in paths.
    pub(crate) plural: &'static str,
    /// The kind, as in bodies and in the type table.
    pub(crate) kind: &'static str,
    pub(crate) namespaced: bool,
    pub(crate) subresources: &'static [&'static str],
    /// The subresources that the real server has and this one does not.
    pub(crate) unsupported_subresources: &'static [&'static str],
    /// The verbs of its objects, in upstream's order.
    pub(crate) verbs: &'static [&'static str],
    /// Whether an immediate deletion returns the object instead of a Status.
    pub(crate) returns_deleted: bool,
    /// For a custom resource, this version of its definition.
    pub(crate) custom: Option<&'static CustomKind>,
    /// The short names for kubectl of a built-in kind.
    pub(crate) short_names: &'static [&'static str],
    /// The categories of a built-in kind, such as `all`.
    pub(crate) categories: &'static [&'static str],
    pub(crate) selectable_fields: SelectableFields,
    /// The name of its type in the type table, if it is not the kind.
    pub(crate) table_name: Option<&'static str>,
    /// The version whose hash discovery shows, if it is another one.
    pub(crate) hashed_version: Option<&'static str>,
    /// Whether its objects can be encoded in protobuf.
    pub(crate) has_protobuf: bool,
    /// Whether its watches come from the watch cache, which sends bookmarks. Upstream:
    /// `DefaultWatchCacheSizes`.
    pub(crate) is_in_watch_cache: bool,
    /// The built-in kind as which its objects are stored, if it is another one.
    pub(crate) stored_as: Option<&'static ResourceKind>,
    /// Whether requests are processed in the version of the stored kind, between decoding and
    /// encoding.
    pub(crate) is_processed_as_stored: bool,
}

/// The fields that a field selector can use, besides name and namespace.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SelectableFields {
    /// None. Such kinds share one error message.
    Metadata,
    /// These, with an error message that names the unknown field only.
    Fields(&'static [&'static str]),
    /// These, with an error message that also names the kind.
    FieldsOfKind(&'static [&'static str]),
    /// These, each with its name in the stored kind.
    Renamed(&'static [(&'static str, &'static str)]),
}

/// The verbs of most kinds.
const VERBS: &[&str] = &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// The category of `kubectl get all`.
pub(crate) const ALL: &[&str] = &["all"];

/// A namespaced kind without subresources, short names and categories, which has all verbs and is
/// stored as it is served.
pub(crate) const fn kind(
    group: &'static str,
    version: &'static str,
    plural: &'static str,
    kind: &'static str,
) -> ResourceKind {
    ResourceKind {
        group,
        version,
        plural,
        kind,
        namespaced: true,
        subresources: &[],
        unsupported_subresources: &[],
        verbs: VERBS,
        returns_deleted: false,
        custom: None,
        short_names: &[],
        categories: &[],
        selectable_fields: SelectableFields::Metadata,
        table_name: None,
        hashed_version: None,
        has_protobuf: true,
        is_in_watch_cache: true,
        stored_as: None,
        is_processed_as_stored: false,
    }
}

/// The rank of a version among those of its group: v1alpha2, v1beta1, v1, v2. Upstream:
/// `CompareKubeAwareVersionStrings`.
pub(crate) fn version_rank(version: &str) -> (u8, u32, u32) {
    let number = |text: &str| text.parse::<u32>().unwrap_or(0);
    let plain = version.trim_start_matches('v');
    let (stage, major, minor) = match (plain.split_once("alpha"), plain.split_once("beta")) {
        (Some((major, minor)), _) => (1, major, minor),
        (_, Some((major, minor))) => (2, major, minor),
        _ => (3, plain, ""),
    };
    (stage, number(major), number(minor))
}

/// The sort order of kinds: by group and plural. All versions of a kind share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KindOrder(&'static str, &'static str);

impl KindOrder {
    /// Whether a definition of this name defines the kind.
    pub(crate) fn is_defined_by(self, definition: &str) -> bool {
        definition.strip_suffix(self.0).and_then(|name| name.strip_suffix('.')) == Some(self.1)
    }
}

impl ResourceKind {
    /// Such as `apps/v1` or `v1`.
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_owned() } else { format!("{}/{}", self.group, self.version) }
    }

    /// Such as `deployments.apps` or `pods`.
    pub(crate) fn resource(&self) -> String {
        if self.group.is_empty() { self.plural.to_owned() } else { format!("{}.{}", self.plural, self.group) }
    }

    pub(crate) fn list_kind(&self) -> String {
        self.custom.map_or_else(|| format!("{}List", self.kind), |custom| custom.list_kind.clone())
    }

    /// The singular, for kubectl.
    pub(crate) fn singular(&self) -> String {
        self.custom.map_or_else(|| self.kind.to_lowercase(), |custom| custom.singular.clone())
    }

    /// The index of a built-in kind's type in the table.
    pub(crate) fn table_index(&self) -> usize {
        TYPES.index_of(self.type_name()).expect("every built-in kind is in the table")
    }

    /// The name of a built-in kind's type in the table.
    pub(crate) fn type_name(&self) -> &'static str {
        self.table_name.unwrap_or(self.kind)
    }

    /// Whether both are the same kind at the same version.
    pub(crate) fn is(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }

    /// The version in which requests are processed internally, between decoding and encoding.
    pub(crate) fn inner(&'static self) -> &'static Self {
        if self.is_processed_as_stored { self.storage() } else { self }
    }

    /// The built-in kind as which its objects are stored; different only for an Event of
    /// `events.k8s.io` and an autoscaler of v1.
    pub(crate) fn storage(&'static self) -> &'static Self {
        self.stored_as.unwrap_or(self)
    }

    /// Its sort order.
    pub(crate) fn order(&self) -> KindOrder {
        let stored = self.stored_as.unwrap_or(self);
        KindOrder(stored.group, stored.plural)
    }
}

/// The kinds that a server serves: the built-in ones, and custom resources by the name of their
/// definition.
#[derive(Debug)]
pub(crate) struct Kinds {
    built_in: &'static [&'static ResourceKind],
    custom: BTreeMap<String, DefinitionVersions>,
}

#[derive(Debug, Clone)]
pub(crate) struct DefinitionVersions {
    pub(crate) served: Vec<&'static ResourceKind>,
    /// The storage version, which need not be served.
    pub(crate) storage: &'static ResourceKind,
    pub(crate) spec_digest: [u8; 32],
}

impl Kinds {
    pub(crate) fn new(built_in: &'static [&'static ResourceKind]) -> Self {
        Self { built_in, custom: BTreeMap::new() }
    }

    pub(crate) fn define(&mut self, name: &str, definition: DefinitionVersions) {
        self.custom.insert(name.to_owned(), definition);
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.custom.remove(name);
    }

    /// The definitions by name.
    pub(crate) fn definitions(&self) -> impl Iterator<Item = (&str, &DefinitionVersions)> {
        self.custom.iter().map(|(name, definition)| (name.as_str(), definition))
    }

    /// All kinds, including each served version of custom resources.
    pub(crate) fn all(&self) -> impl Iterator<Item = &'static ResourceKind> {
        let custom = self.custom.values().flat_map(|definition| definition.served.iter());
        self.built_in.iter().chain(custom).copied()
    }

    /// The kind of a path.
    pub(crate) fn served(&self, group: &str, version: &str, plural: &str) -> Option<&'static ResourceKind> {
        self.all().find(|kind| kind.plural == plural && kind.group == group && kind.version == version)
    }

    /// The kind with this plural, at any version.
    pub(crate) fn in_group(&self, group: &str, plural: &str) -> Option<&'static ResourceKind> {
        self.all().find(|kind| kind.plural == plural && kind.group == group)
    }

    /// The kind by apiVersion and kind.
    pub(crate) fn find(&self, api_version: &str, kind: &str) -> Option<&'static ResourceKind> {
        self.all().find(|one| one.kind == kind && one.api_version() == api_version)
    }

    /// The digest of the spec that defines a custom kind.
    pub(crate) fn spec_digest(&self, of: &ResourceKind) -> Option<[u8; 32]> {
        self.custom.get(&of.resource()).map(|definition| definition.spec_digest)
    }

    /// The kind as which an object of this kind is stored.
    pub(crate) fn storage_of(&self, kind: &'static ResourceKind) -> &'static ResourceKind {
        let of = kind.custom.and_then(|_| self.custom.get(&kind.resource()));
        of.map_or(kind.storage(), |definition| definition.storage)
    }

    /// A version of the definition of a custom kind, as the definition is now.
    pub(crate) fn current_version(&self, of: &ResourceKind, version: &str) -> Option<&'static ResourceKind> {
        let definition = self.custom.get(&of.resource())?;
        let versions = definition.served.iter().copied().chain([definition.storage]);
        versions.into_iter().find(|kind| kind.version == version)
    }

    /// The built-in groups except the core group; a group stands once for each of its kinds.
    pub(crate) fn built_in_groups(&self) -> impl Iterator<Item = &'static str> {
        self.built_in.iter().map(|kind| kind.group).filter(|group| !group.is_empty())
    }
}
