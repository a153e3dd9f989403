//! Reads a list page by page.
//!
//! A page whose objects are too large together is read again with fewer of them: five hundred
//! ConfigMaps of 1 MiB would not fit into the memory of this process. The number of pages has a
//! limit, for a server that always names a next page would be followed without an end.

use serde::de::DeserializeOwned;

use super::error::RequestError;
use super::resource::Resource;
use super::server::{ApiServer, List};

/// The most pages of one list: a million objects in pages of five hundred.
const MOST_PAGES: usize = 2000;

/// The pages of one list.
#[derive(Debug)]
pub(crate) struct Pages {
    resource: Resource,
    next: Option<String>,
    objects: u32,
    requests: usize,
}

impl Pages {
    /// None has been read.
    pub(crate) fn new(resource: Resource) -> Self {
        Self { resource, next: None, objects: resource.page(), requests: 0 }
    }

    /// Reads the next page; of the last one `metadata.next` is empty.
    pub(crate) async fn read<T: DeserializeOwned>(&mut self, api: &ApiServer) -> Result<List<T>, RequestError> {
        loop {
            if self.requests >= MOST_PAGES {
                let what = format!("LIST {}", self.resource.plural());
                return Err(RequestError::TooManyPages { what, most: MOST_PAGES });
            }
            self.requests += 1;
            match api.list::<T>(self.resource, self.next.clone(), self.objects).await {
                Err(error) if error.is_too_large() && self.objects > 1 => self.objects = (self.objects / 4).max(1),
                Err(error) => return Err(error),
                Ok(list) => {
                    self.next = Some(list.metadata.next.clone());
                    return Ok(list);
                }
            }
        }
    }
}
