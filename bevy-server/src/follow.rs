//! Follows files that operators replace while the server runs: the files of TLS and the tokens file. Decides at each look
//! whether the contents that it found are taken.

use std::time::Duration;

/// How long changed contents must stay the same before they are taken. A writer may not have finished, and files that
/// belong together are mostly replaced one after the other.
pub(crate) const SETTLE_TIME: Duration = Duration::from_secs(1);

/// Finds contents that have changed and are still.
///
/// It compares what the files contain, and not their times. So a link that leads to another file, as Kubernetes replaces
/// mounted secrets, is a change. What it returns was read twice, so a file that is half written is not taken.
#[derive(Debug)]
pub(crate) struct Follower<C> {
    /// The contents that were taken last, also if they could not be used.
    taken: C,
    /// The contents that the last look found, if they were others.
    changed: Option<C>,
}

impl<C: PartialEq> Follower<C> {
    /// Follows files whose contents `in_use` are in use.
    pub(crate) const fn new(in_use: C) -> Self {
        Self { taken: in_use, changed: None }
    }

    /// Takes and returns the contents that a look found, if they differ from those taken last and the look before found
    /// the same. So each version is returned once, whether it can be used or not.
    pub(crate) fn look(&mut self, found: C) -> Option<&C> {
        if found == self.taken {
            self.changed = None;
            return None;
        }
        if self.changed.as_ref() != Some(&found) {
            self.changed = Some(found);
            return None;
        }
        Some(self.take(found))
    }

    /// Takes and returns `found` without a second look.
    pub(crate) fn take(&mut self, found: C) -> &C {
        self.changed = None;
        self.taken = found;
        &self.taken
    }

    /// The time until the next look: `interval`, or [`SETTLE_TIME`] after a look that found a change.
    pub(crate) const fn pause(&self, interval: Duration) -> Duration {
        if self.changed.is_some() { SETTLE_TIME } else { interval }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_secs(10);

    #[test]
    fn a_change_is_taken_once_when_two_looks_have_found_it() {
        let mut follower = Follower::new("old");
        assert_eq!(follower.look("old"), None);
        assert_eq!(follower.pause(INTERVAL), INTERVAL);
        for half_written in ["n", "ne", "new"] {
            assert_eq!(follower.look(half_written), None, "{half_written}");
            assert_eq!(follower.pause(INTERVAL), SETTLE_TIME);
        }
        assert_eq!(follower.look("new"), Some(&"new"));
        assert_eq!(follower.look("new"), None, "it was taken");
        assert_eq!(follower.pause(INTERVAL), INTERVAL);
    }

    #[test]
    fn a_change_that_is_undone_before_it_is_taken_is_none() {
        let mut follower = Follower::new("old");
        assert_eq!(follower.look("new"), None);
        assert_eq!(follower.look("old"), None);
        assert_eq!(follower.look("new"), None, "it has been still for one look only");
        assert_eq!(follower.take("newer"), &"newer");
        assert_eq!(follower.look("newer"), None, "it was taken without a look");
    }
}
