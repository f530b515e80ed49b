//! Reads the tokens file again when it changes.

use std::time::Duration;

use super::Authenticator;

/// How often the file is looked at. A change is used after at most two intervals.
const INTERVAL: Duration = Duration::from_secs(1);

/// Looks at the file until the process ends.
pub(super) async fn watch(authenticator: Authenticator) {
    loop {
        tokio::time::sleep(INTERVAL).await;
        let authenticator = authenticator.clone();
        // A file system may take long to answer.
        let looked = tokio::task::spawn_blocking(move || authenticator.reload_if_changed()).await;
        if looked.is_err_and(|error| error.is_cancelled()) {
            // The runtime ends.
            return;
        }
    }
}
