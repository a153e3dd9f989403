//! The group `rbac.authorization.k8s.io`. Its kinds are stored and validated, without effect: every
//! client may do everything. Upstream's default roles and bindings do not exist here.

pub(crate) mod cluster_role;
pub(crate) mod cluster_role_binding;
pub(crate) mod role;
pub(crate) mod role_binding;
