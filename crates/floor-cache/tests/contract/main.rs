//! The contract suite: every tier passes it with its real store. `fixture/stores.rs` lists the tiers.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod basics;
mod capacity;
mod corruption;
mod crashes;
mod damage;
#[path = "../fixture/mod.rs"]
mod fixture;
mod opening;

use fixture::{
    envelope,
    stores::{Records, StoreDir, for_each_tier},
};
use floor_cache::{Tier, TierKind};

/// Clauses of every tier.
macro_rules! tier_clauses {
    ($opened:expr) => {
        clauses! { basics(&*tier) for (_store, tier) in $opened;
            a_new_tier_is_empty
            put_values_are_returned
            get_many_keeps_the_order_of_keys
            empty_batches_succeed
            removed_values_are_gone
            a_prefix_removes_its_keys_in_batches_and_no_others
            a_pattern_inside_of_keys_removes_its_keys_and_no_others
            contains_reports_stored_keys
            putting_again_changes_nothing
            an_empty_value_is_a_value
            a_large_value_is_stored
            keys_that_differ_in_one_bit_are_distinct
            concurrent_use_is_safe
            stats_count_entries_and_bytes
        }
    };
}

/// Clauses of every tier outside this process's memory.
macro_rules! record_clauses {
    ($store:expr) => {
        clauses! { corruption(&store) for store in $store;
            every_invalid_value_is_a_miss
            a_value_of_another_version_is_a_miss
            a_value_sealed_with_an_unknown_key_is_kept
        }
    };
}

/// Clauses of every tier in files.
macro_rules! file_clauses {
    ($store:expr) => {
        clauses! { opening(&dir) for dir in Some(crate::StoreDir::new($store));
            a_restart_finds_stored_values
            the_error_of_an_unusable_directory_says_what_to_do
            a_check_finds_an_unusable_directory_and_creates_none
            new_directories_are_accessible_to_their_user_only
            a_store_of_another_version_is_put_aside
            a_store_at_a_mount_point_is_put_aside_inside_of_it
            a_store_in_use_is_an_error
        }
        clauses! { capacity(&dir) for dir in Some(crate::StoreDir::new($store));
            the_oldest_entries_are_evicted
            entries_are_evicted_under_continuous_writes
            the_limit_holds_for_values_of_any_length
            a_store_shrinks_into_a_smaller_capacity
            a_batch_that_cannot_fit_affects_no_other
            read_entries_are_kept_and_unread_ones_evicted
            an_entry_that_is_no_longer_read_is_evicted
            a_write_evicts_only_what_it_needs_if_everything_was_read
            a_restart_does_not_evict_read_entries_first
        }
        clauses! { damage(&dir) for dir in Some(crate::StoreDir::new($store));
            a_damaged_store_is_quarantined_and_a_new_one_created
            a_store_after_many_removals_is_not_quarantined
        }
        clauses! { crashes(store) for store in Some($store);
            the_process_that_is_killed
            fifty_crashes_while_writing_lose_only_the_last_writes
        }
    };
}

/// Defines a test for each clause in `$module`. A test whose store cannot be made is skipped.
macro_rules! clauses {
    ($module:ident($argument:expr) for $store:pat in $opened:expr; $($clause:ident)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $clause() {
            if let Some($store) = $opened {
                crate::$module::$clause($argument).await;
            }
        }
    )*};
}

macro_rules! contract {
    (memory: $($memory:ident)*; server: $($server:ident)*; files: $($name:ident($store:ident))*) => {
        $(mod $memory {
            tier_clauses!(Some(((), crate::fixture::stores::$memory())));
        })*
        $(mod $server {
            use crate::fixture::stores::$server as start;

            tier_clauses!(start().map(crate::opened));
            record_clauses!(start());
        })*
        $(mod $name {
            use crate::fixture::stores::$store;

            tier_clauses!(Some(crate::opened(crate::StoreDir::new(&$store))));
            record_clauses!(Some(crate::StoreDir::new(&$store)));
            file_clauses!(&$store);
        })*
    };
}

for_each_tier!(contract);

macro_rules! names {
    (memory: $($memory:ident)*; server: $($server:ident)*; files: $($name:ident($store:ident))*) => {
        [$(stringify!($memory),)* $(stringify!($server),)* $(stringify!($name),)*]
    };
}

#[test]
fn the_suite_runs_on_every_tier() {
    let covered = for_each_tier!(names);
    for kind in TierKind::ALL {
        assert!(covered.contains(&kind.name()), "for_each_tier lacks {kind}");
    }
}

/// A store and its tier.
fn opened<S: Records>(store: S) -> (S, Box<dyn Tier>) {
    let tier = store.open_with(envelope());
    (store, tier)
}
