//! Reads a list page by page.
//!
//! A page whose objects exceed the size limit is read again with fewer of them: five hundred
//! ConfigMaps of 1 MiB do not fit into this process's memory. The number of pages is limited, since
//! a server could always name another page.

use serde::de::DeserializeOwned;

use super::error::RequestError;
use super::resource::Resource;
use super::server::{ApiServer, ListPage};

/// Most pages of one list: a million objects in pages of five hundred.
const MAX_PAGES: usize = 2000;

/// The pages of one list.
#[derive(Debug)]
pub struct ListPager {
    resource: Resource,
    continue_token: Option<String>,
    page_size: u32,
    requests: usize,
}

impl ListPager {
    /// Before the first page.
    pub fn new(resource: Resource) -> Self {
        Self { resource, continue_token: None, page_size: resource.page_size(), requests: 0 }
    }

    /// Reads the next page; `metadata.continue_token` of the last one is empty.
    pub async fn next_page<T: DeserializeOwned>(&mut self, api: &ApiServer) -> Result<ListPage<T>, RequestError> {
        loop {
            if self.requests >= MAX_PAGES {
                let request = format!("LIST {}", self.resource.plural());
                return Err(RequestError::TooManyPages { request, limit: MAX_PAGES });
            }
            self.requests += 1;
            match api.list::<T>(self.resource, self.continue_token.clone(), self.page_size).await {
                Err(error) if error.is_too_large() && self.page_size > 1 => {
                    self.page_size = (self.page_size / 4).max(1);
                }
                Err(error) => return Err(error),
                Ok(list) => {
                    self.continue_token = Some(list.metadata.continue_token.clone());
                    return Ok(list);
                }
            }
        }
    }
}
