//! The TLS settings in use. They change when their files change or at a reload, and open connections go on.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use bevy::prelude::*;
use prometheus::{IntGaugeVec, Opts, Registry};
use tokio::{sync::watch, task::spawn_blocking, time::sleep};
use tokio_rustls::rustls::ServerConfig;

use crate::{
    config::{ServerTls, TlsContents},
    follow::Follower,
    metrics::{Reloaded, Reloads},
};

/// How often the files are read.
const CHECK_INTERVAL: Duration = Duration::from_secs(10);
/// A certificate that is valid for less than this is warned of.
const EXPIRES_SOON: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// The TLS settings of the gRPC port; none if it speaks plaintext. Cheap to clone.
#[derive(Resource, Debug, Clone)]
pub struct Certificates {
    in_use: watch::Sender<Option<Arc<ServerTls>>>,
    /// Without a value if there is no certificate.
    expiry: IntGaugeVec,
    reloads: Reloads,
}

impl Certificates {
    /// Uses `tls`, registers the metric of its expiry, and tells `reloads` whether changed files can be used.
    ///
    /// # Errors
    /// If `registry` already has a metric with this name.
    pub fn new(tls: Option<ServerTls>, registry: &Registry, reloads: Reloads) -> prometheus::Result<Self> {
        let help = "When the certificate of the gRPC port expires, in Unix time. Missing without TLS.";
        let expiry = IntGaugeVec::new(Opts::new("floors_tls_certificate_expiry_seconds", help), &[])?;
        registry.register(Box::new(expiry.clone()))?;
        let certificates = Self { in_use: watch::Sender::new(None), expiry, reloads };
        certificates.set(tls);
        Ok(certificates)
    }

    /// Uses `tls` for new connections. Returns whether it is other than before.
    pub(crate) fn set(&self, tls: Option<ServerTls>) -> bool {
        match &tls {
            Some(_) => self.reloads.record(Reloaded::Tls, true),
            None => self.reloads.forget(Reloaded::Tls),
        }
        let tls = tls.map(Arc::new);
        let changed = self.in_use.send_if_modified(|in_use| {
            let changed = *in_use != tls;
            if changed {
                in_use.clone_from(&tls);
            }
            changed
        });
        if changed {
            self.report_expiry(tls.as_deref());
        }
        changed
    }

    /// For a new connection; `None` without TLS.
    pub(super) fn server_config(&self) -> Option<Arc<ServerConfig>> {
        self.in_use.borrow().as_ref().map(|tls| tls.server_config())
    }

    /// Uses the files again when they have changed. Sleeps while there is no TLS. Never returns.
    pub(super) async fn follow_files(self) {
        let mut receiver = self.in_use.subscribe();
        let mut follower = Follower::new(None);
        let mut followed: Option<Arc<ServerTls>> = None;
        loop {
            // Fails only without a sender, and `self` is one.
            let Ok(in_use) = receiver.wait_for(Option::is_some).await.map(|in_use| in_use.clone()) else { return };
            let Some(in_use) = in_use else { continue };
            // A reload may use contents that no look has found.
            if followed.as_ref().is_none_or(|followed| !Arc::ptr_eq(followed, &in_use)) {
                follower.take(Some(in_use.contents().clone()));
                followed = Some(Arc::clone(&in_use));
            }
            sleep(follower.pause(CHECK_INTERVAL)).await;
            let files = in_use.files().clone();
            // A panic is the only error.
            let Ok(found) = spawn_blocking(move || TlsContents::read(&files)).await else { continue };
            let Some(Some(changed)) = follower.look(Some(found)) else { continue };
            // Files that could not be used may have been replaced by those in use.
            if changed == in_use.contents() {
                self.reloads.record(Reloaded::Tls, true);
                continue;
            }
            match ServerTls::parse(in_use.files().clone(), changed.clone()) {
                Ok(tls) => self.replace(&in_use, tls),
                Err(error) => {
                    // A reload may have replaced them meanwhile.
                    if self.is_in_use(&in_use) {
                        self.reloads.record(Reloaded::Tls, false);
                    }
                    tracing::error!(%error, "the changed TLS files cannot be used; the old certificate stays in use");
                }
            }
        }
    }

    fn is_in_use(&self, tls: &Arc<ServerTls>) -> bool {
        self.in_use.borrow().as_ref().is_some_and(|in_use| Arc::ptr_eq(in_use, tls))
    }

    /// Uses `tls`, unless a reload has replaced `expected` meanwhile.
    fn replace(&self, expected: &Arc<ServerTls>, tls: ServerTls) {
        let tls = Arc::new(tls);
        let replaced = self.in_use.send_if_modified(|in_use| {
            let is_expected = in_use.as_ref().is_some_and(|in_use| Arc::ptr_eq(in_use, expected));
            if is_expected {
                *in_use = Some(Arc::clone(&tls));
            }
            is_expected
        });
        if replaced {
            self.reloads.record(Reloaded::Tls, true);
            tracing::info!("the TLS files have changed; new connections use them");
            self.report_expiry(Some(&tls));
        }
    }

    fn report_expiry(&self, tls: Option<&ServerTls>) {
        let Some(expires) = tls.and_then(ServerTls::expires) else {
            self.expiry.reset();
            return;
        };
        self.expiry.with_label_values::<&str>(&[]).set(i64::try_from(expires.as_secs()).unwrap_or(i64::MAX));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let date = || humantime::format_rfc3339_seconds(UNIX_EPOCH + expires);
        match expires.checked_sub(now) {
            None => {
                tracing::warn!(expired = %date(), "the certificate in grpc.tls.cert has expired, and clients refuse it");
            }
            Some(left) if left < EXPIRES_SOON => {
                tracing::warn!(expires = %date(), "the certificate in grpc.tls.cert expires soon; replace its file");
            }
            Some(_) => {}
        }
    }
}
