//! A hedged generation: runs while a slow tier is asked for the same value. [`MissLookup`](super::miss_lookup::MissLookup)
//! starts it, and the first answer wins.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::{FutureExt, future::BoxFuture};

use crate::{
    key::Key,
    producer::{GenerateResult, Producer},
    source::Priority,
};

/// A hedged generation. It outlives the query of its tier, so that no value is generated twice.
pub(crate) struct Hedge {
    pub(crate) key: Key,
    work: BoxFuture<'static, GenerateResult>,
}

impl Hedge {
    pub(crate) fn new(producer: &Arc<Producer>, key: Key, priority: Priority) -> Self {
        let producer = producer.clone();
        Self { key, work: async move { producer.generate(key, priority).await }.boxed() }
    }
}

impl Future for Hedge {
    type Output = (Key, GenerateResult);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let key = self.key;
        self.work.as_mut().poll(cx).map(|made| (key, made))
    }
}
