//! One object as it is and as it was a moment ago.
//!
//! A controller acts on what its caches hold, and those lag behind. Which of the last states it saw
//! is not known, so a decision is a breach only if it is one whichever of them it was.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::Value;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Past {
    now: Option<Arc<Value>>,
    /// What it was before, and until when; `None`: it was not there.
    gone: VecDeque<(u64, Option<Arc<Value>>)>,
}

impl Past {
    /// An object that was there when it was first looked for.
    pub(super) fn found(value: Arc<Value>) -> Self {
        Self { now: Some(value), gone: VecDeque::new() }
    }

    /// The object is so from now on, or gone; what it was.
    pub(super) fn put(&mut self, value: Option<Arc<Value>>, at: u64) -> Option<Arc<Value>> {
        let before = std::mem::replace(&mut self.now, value);
        self.gone.push_back((at, before.clone()));
        before
    }

    /// What is older than this counts no more.
    pub(super) fn forget(&mut self, since: u64) {
        while self.gone.front().is_some_and(|(until, _)| *until <= since) {
            self.gone.pop_front();
        }
    }

    /// As it is, if it is there.
    pub(super) fn now(&self) -> Option<&Arc<Value>> {
        self.now.as_ref()
    }

    /// Every state since then, the one in which it is included; `None` where it was not there.
    pub(super) fn states(&self, since: u64) -> impl Iterator<Item = Option<&Arc<Value>>> {
        let gone = self.gone.iter().filter(move |(until, _)| *until > since).map(|(_, value)| value.as_ref());
        gone.chain([self.now.as_ref()])
    }
}
