//! Keys that wait for a worker: in order within a namespace, and namespaces in turn.
//!
//! A namespace has a share of the workers. However many of its objects wait, and however slowly the
//! API server answers its requests (an admission webhook may take ten seconds), a key of another
//! namespace waits for one sync at most.

use std::collections::{BTreeMap, VecDeque};

use crate::api::NamespacedName;

/// The keys by namespace, and the order of the namespaces.
#[derive(Debug)]
pub(super) struct ReadyKeys {
    /// Most workers of one namespace.
    share: usize,
    waiting: BTreeMap<String, VecDeque<NamespacedName>>,
    /// Workers in use, by namespace.
    working: BTreeMap<String, usize>,
    /// Namespaces with waiting keys and less than their share of workers, each once.
    turns: VecDeque<String>,
}

impl ReadyKeys {
    pub(super) fn new(share: usize) -> Self {
        Self { share, waiting: BTreeMap::new(), working: BTreeMap::new(), turns: VecDeque::new() }
    }

    /// Adds a key behind those of its namespace.
    pub(super) fn push(&mut self, key: NamespacedName) {
        let namespace = key.namespace.clone();
        let keys = self.waiting.entry(namespace.clone()).or_default();
        keys.push_back(key);
        if keys.len() == 1 && self.workers(&namespace) < self.share {
            self.turns.push_back(namespace);
        }
    }

    /// Whether a key can be given to a worker.
    pub(super) fn has_next(&self) -> bool {
        !self.turns.is_empty()
    }

    /// Gives the next key to a worker.
    pub(super) fn pop(&mut self) -> Option<NamespacedName> {
        let namespace = self.turns.pop_front()?;
        let keys = self.waiting.get_mut(&namespace)?;
        let key = keys.pop_front()?;
        let is_last = keys.is_empty();
        let workers = self.working.entry(namespace.clone()).or_default();
        *workers += 1;
        match is_last {
            true => drop(self.waiting.remove(&namespace)),
            false if *workers < self.share => self.turns.push_back(namespace),
            false => {}
        }
        Some(key)
    }

    /// Releases the worker of a key.
    pub(super) fn done(&mut self, key: &NamespacedName) {
        let Some(workers) = self.working.get_mut(&key.namespace) else { return };
        let had_all = *workers >= self.share;
        *workers -= 1;
        if *workers == 0 {
            self.working.remove(&key.namespace);
        }
        if had_all && self.waiting.contains_key(&key.namespace) {
            self.turns.push_back(key.namespace.clone());
        }
    }

    fn workers(&self, namespace: &str) -> usize {
        self.working.get(namespace).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ready(share: usize, keys: &[&str]) -> ReadyKeys {
        let mut ready = ReadyKeys::new(share);
        keys.iter().for_each(|text| ready.push(key(text)));
        ready
    }

    fn key(text: &str) -> NamespacedName {
        let (namespace, name) = text.split_once('/').unwrap();
        NamespacedName::new(namespace, name)
    }

    fn pop_all(ready: &mut ReadyKeys) -> Vec<String> {
        std::iter::from_fn(|| ready.pop()).map(|key| key.to_string()).collect()
    }

    #[test]
    fn namespaces_take_turns_and_each_is_served_in_order() {
        let mut ready = ready(9, &["a/1", "a/2", "a/3", "b/1", "c/1", "b/2"]);
        assert_eq!(pop_all(&mut ready), ["a/1", "b/1", "c/1", "a/2", "b/2", "a/3"]);
    }

    #[test]
    fn namespace_gets_no_more_than_its_share_of_the_workers() {
        let mut ready = ready(2, &["a/1", "a/2", "a/3", "a/4"]);
        assert_eq!(pop_all(&mut ready), ["a/1", "a/2"]);
        ready.push(key("b/1"));
        assert_eq!(pop_all(&mut ready), ["b/1"], "another namespace does not wait for the first");
        ready.done(&key("a/2"));
        assert!(ready.has_next());
        assert_eq!(pop_all(&mut ready), ["a/3"]);
        for done in ["a/1", "a/3", "b/1"] {
            ready.done(&key(done));
        }
        assert_eq!(pop_all(&mut ready), ["a/4"]);
        ready.done(&key("a/4"));
        assert!(!ready.has_next() && ready.working.is_empty() && ready.waiting.is_empty(), "{ready:?}");
    }
}
