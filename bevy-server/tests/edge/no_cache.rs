//! `cache-control: no-cache`, which makes the server generate what it has.

use floor_proto::v1::BatchGetFloorsRequest;
use tempfile::TempDir;
use test_support::{Setup, spec};
use tonic::{Code, Request};

use crate::get;

fn uncached_batch() -> Request<BatchGetFloorsRequest> {
    let mut request = Request::new(BatchGetFloorsRequest { specs: vec![spec(1, 1); 256] });
    request.metadata_mut().insert("cache-control", "no-cache".parse().unwrap());
    request
}

#[tokio::test]
async fn a_floor_that_a_batch_repeats_is_generated_once() {
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data).with("GENERATION__PREFETCH", "false").start();
    let mut client = server.client().await;
    let cached = client.get_floor(get(1, 1)).await.unwrap().into_inner();
    let before = server.generations();
    let floors = client.batch_get_floors(uncached_batch()).await.unwrap().into_inner().floors;
    assert_eq!(floors.len(), 256);
    assert!(floors.iter().all(|floor| *floor == cached));
    assert_eq!(server.generations() - before, 1.0);
}

#[tokio::test]
async fn a_client_that_may_not_skip_the_cache_causes_no_generation() {
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data).with("GRPC__NO_CACHE", "none").start();
    let mut client = server.client().await;
    let status = client.batch_get_floors(uncached_batch()).await.unwrap_err();
    assert_eq!(status.code(), Code::PermissionDenied, "{status:?}");
    assert!(status.message().contains("grpc.no_cache"), "{status:?}");
    assert_eq!((server.generations(), server.refusals("no_cache")), (0.0, 1.0));
}
