//! What a client learns of etcd: the keys of objects, in refusals.

use super::kinds::{DEFINITION, Kind};
use super::problem::Problem;
use super::server::{Ask, Server};
use super::store::Key;

impl Server {
    /// The UID in the request is that of another object of this name.
    pub(super) fn wrong_uid(&self, ask: &Ask<'_>, there: &str, uid: &str) -> Problem {
        // A dry run does not reach etcd, whose keys have a prefix.
        let path = format!("{}{}", if self.dry { "" } else { "/registry" }, registry(ask.kind, &ask.key()));
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: {path}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: \
             UID in precondition: {uid}, UID in object meta: {there}"
        );
        Problem::conflict(ask.kind, &ask.route.name, &why)
    }
}

/// The storage key.
pub(super) fn registry(kind: &Kind, key: &Key) -> String {
    let names: Vec<&str> =
        [key.namespace.as_str(), key.name.as_str()].into_iter().filter(|part| !part.is_empty()).collect();
    let plural = match kind.built_in() {
        "" => return format!("/{}/{}/{}", kind.group, kind.plural, names.join("/")),
        // The former name of nodes.
        "Node" => "minions",
        "Service" => "services/specs",
        "Ingress" => "ingress",
        DEFINITION => "apiextensions.k8s.io/customresourcedefinitions",
        _ => kind.plural,
    };
    format!("/{plural}/{}", names.join("/"))
}
