//! The current and recent states of one object.
//!
//! A controller acts on its caches, which lag behind. It is unknown which of the recent states it
//! saw, so a decision is a breach only if it is one for all of them.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::Value;

#[derive(Debug, Default)]
pub(super) struct ObjectHistory {
    now: Option<Arc<Value>>,
    /// The earlier states and until when they lasted; `None`: the object did not exist.
    earlier: VecDeque<(u64, Option<Arc<Value>>)>,
}

impl ObjectHistory {
    /// An object that existed when it was first listed.
    pub(super) fn new(value: Arc<Value>) -> Self {
        Self { now: Some(value), earlier: VecDeque::new() }
    }

    /// Set the current state; returns the one before.
    pub(super) fn put(&mut self, value: Option<Arc<Value>>, at: u64) -> Option<Arc<Value>> {
        let before = std::mem::replace(&mut self.now, value);
        self.earlier.push_back((at, before.clone()));
        before
    }

    /// Forget states that ended before this time.
    pub(super) fn forget(&mut self, since: u64) {
        while self.earlier.front().is_some_and(|(until, _)| *until <= since) {
            self.earlier.pop_front();
        }
    }

    /// The current state, if it exists.
    pub(super) fn now(&self) -> Option<&Arc<Value>> {
        self.now.as_ref()
    }

    /// Every state since then, including the current one at that time; `None` where the object did
    /// not exist.
    pub(super) fn states(&self, since: u64) -> impl Iterator<Item = Option<&Arc<Value>>> {
        let earlier = self.earlier.iter().filter(move |(until, _)| *until > since).map(|(_, value)| value.as_ref());
        earlier.chain([self.now.as_ref()])
    }
}
