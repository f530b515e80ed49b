//! A search: one call after the other, while the caller reads.

use std::{fmt, vec};

use floor_proto::{
    limits::{MAX_BATCH, MAX_SEEDS},
    rpc::Rpc,
    v1::{FloorMatch, FloorSpec, SearchFloorsRequest, SearchFloorsResponse},
};
use futures_util::future::BoxFuture;

use crate::ClientError;

/// The floors that meet a condition, in order. The server searches no further than the caller reads.
pub struct Search {
    call: Call,
    /// The next call. None after the last.
    request: Option<SearchFloorsRequest>,
    /// Towers of later calls, in reverse order of their chunks.
    later: Vec<Vec<u64>>,
    found: vec::IntoIter<FloorMatch>,
}

/// Makes one call.
pub(crate) type Call =
    Box<dyn Fn(SearchFloorsRequest) -> BoxFuture<'static, Result<SearchFloorsResponse, ClientError>> + Send + Sync>;

impl Search {
    pub(crate) fn new(call: Call, mut request: SearchFloorsRequest) -> Self {
        let mut later: Vec<_> = request.seeds.chunks(MAX_SEEDS).map(<[u64]>::to_vec).rev().collect();
        request.seeds = later.pop().unwrap_or_default();
        Self { call, request: Some(request), later, found: Vec::new().into_iter() }
    }

    /// The next match, `None` after the last.
    ///
    /// # Errors
    /// See [`ClientError`]. After a failed call the next one tries it again.
    pub async fn next(&mut self) -> Result<Option<FloorMatch>, ClientError> {
        loop {
            if let Some(found) = self.found.next() {
                return Ok(Some(found));
            }
            let Some(request) = &mut self.request else { return Ok(None) };
            let SearchFloorsResponse { matches, next } = (self.call)(request.clone()).await?;
            if let Some(wrong) = matches.iter().find_map(|found| problem(request, found.spec.as_ref())) {
                return Err(malformed(wrong));
            }
            if next != 0 && next <= request.skip {
                return Err(malformed(format!("after {} floors it goes on at {next}", request.skip)));
            }
            let is_full = request.limit != 0 && matches.len() >= request.limit as usize;
            request.limit = request.limit.saturating_sub(matches.len() as u32);
            request.skip = next;
            if is_full {
                self.request = None;
            } else if next == 0 {
                match self.later.pop() {
                    Some(seeds) => request.seeds = seeds,
                    None => self.request = None,
                }
            }
            self.found = matches.into_iter();
        }
    }
}

impl fmt::Debug for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Search").field("request", &self.request).finish_non_exhaustive()
    }
}

/// The most matches of an answer, and what a newer server may send beside them.
pub(crate) const MAX_ENTRIES: usize = MAX_BATCH + 16;

/// Why a match is not one of those asked for.
fn problem(request: &SearchFloorsRequest, found: Option<&FloorSpec>) -> Option<String> {
    let Some(found) = found else { return Some("a match names no floor".to_owned()) };
    let first = request.first.clone().unwrap_or_default();
    let is_in_tower =
        if request.seeds.is_empty() { found.seed == first.seed } else { request.seeds.contains(&found.seed) };
    let is_in_range = found.number.checked_sub(first.number).is_some_and(|index| index < request.count);
    (!is_in_tower || !is_in_range || found.view != first.view)
        .then(|| format!("floor {} of tower {} is outside the range", found.number, found.seed))
}

fn malformed(reason: String) -> ClientError {
    ClientError::Malformed { rpc: Rpc::SearchFloors.name(), reason }
}
