//! Pods by node, and the nodes with several pods.
//!
//! When a ReplicaSet deletes pods, those on crowded nodes go first. A node with one pod is not
//! crowded, so where every pod has its own node, as with anti-affinity, no neighbours have to be
//! looked up.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rollout_model::Pod;

/// Pods by namespace and node; pods without a node are on the node with the empty name.
#[derive(Debug, Default)]
pub(super) struct PodsByNode {
    pods: BTreeMap<(String, String), BTreeMap<String, Arc<Pod>>>,
    /// Nodes with several pods.
    shared: BTreeSet<(String, String)>,
}

impl PodsByNode {
    /// The pods of one node, by name, if it has several.
    pub(super) fn pods_on(&self, namespace: &str, node: &str) -> impl Iterator<Item = &Arc<Pod>> {
        let pods = self.pods.get(&(namespace.to_owned(), node.to_owned()));
        pods.filter(|pods| pods.len() > 1).into_iter().flat_map(BTreeMap::values)
    }

    /// The pods of all nodes that have several, by node and name.
    pub(super) fn on_shared_nodes<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = &'a Arc<Pod>> {
        let from = (namespace.to_owned(), String::new());
        let nodes = self.shared.range(from..).take_while(move |(other, _)| other == namespace);
        nodes.filter_map(|node| self.pods.get(node)).flat_map(BTreeMap::values)
    }

    pub(super) fn put(&mut self, pod: &Arc<Pod>) {
        let node = node_of(pod);
        let pods = self.pods.entry(node.clone()).or_default();
        pods.insert(pod.name.clone(), Arc::clone(pod));
        if pods.len() > 1 {
            self.shared.insert(node);
        }
    }

    pub(super) fn remove(&mut self, pod: &Pod) {
        let node = node_of(pod);
        let Some(pods) = self.pods.get_mut(&node) else { return };
        pods.remove(&pod.name);
        if pods.len() < 2 {
            self.shared.remove(&node);
        }
        if pods.is_empty() {
            self.pods.remove(&node);
        }
    }
}

fn node_of(pod: &Pod) -> (String, String) {
    (pod.namespace.clone(), pod.traits().node.clone())
}

#[cfg(test)]
mod tests {
    use rollout_model::PodTraits;

    use super::*;

    fn pod(name: &str, node: &str) -> Arc<Pod> {
        let traits = PodTraits { node: node.to_owned(), ..PodTraits::default() };
        Arc::new(Pod {
            name: name.to_owned(),
            namespace: "ns".to_owned(),
            traits: Some(Box::new(traits)),
            ..Pod::default()
        })
    }

    #[test]
    fn only_nodes_with_several_pods_have_neighbours() {
        let mut nodes = PodsByNode::default();
        let pods = [pod("a", "n1"), pod("b", "n2"), pod("c", "n1"), pod("d", ""), pod("e", "")];
        pods.iter().for_each(|pod| nodes.put(pod));
        let shared = |nodes: &PodsByNode| nodes.on_shared_nodes("ns").map(|pod| pod.name.clone()).collect::<Vec<_>>();
        let on = |nodes: &PodsByNode, node: &str| nodes.pods_on("ns", node).count();
        assert_eq!(shared(&nodes), ["d", "e", "a", "c"]);
        assert_eq!((on(&nodes, "n1"), on(&nodes, "n2"), on(&nodes, "n3")), (2, 0, 0));
        assert_eq!(nodes.on_shared_nodes("n").count(), 0);
        nodes.remove(&pods[0]);
        nodes.remove(&pods[3]);
        nodes.remove(&pods[3]);
        assert!(shared(&nodes).is_empty());
        nodes.remove(&pods[4]);
        assert_eq!(nodes.pods.len(), 2);
    }
}
