//! The errors, each with what brings a server to give it.

use std::{
    thread,
    time::{Duration, Instant},
};

use super::{
    Admin, Case, FAULT, Fails, admin,
    fixture::{
        LONG_TIMEOUT,
        redis_server::{RedisConnection, RedisServer, free_port},
    },
    wait_for,
};

/// The user of the cases that limit one, who may do what the tier needs.
const USER: &str =
    "ACL SETUSER few reset on >few-password ~values:* +mget +set +unlink +getrange +scan +dbsize +info +ping";
const LOGIN: &str = "few:few-password@";
const KILL: &str = "CLIENT KILL TYPE normal SKIPME yes";

const NONE: Case = Case {
    login: "",
    path: "",
    options: &[],
    prepare: |_| {},
    provoke: |_| {},
    cure: |_| {},
    fails: Fails::Everything,
    says: &[],
};

fn with_user(server: &RedisServer) {
    admin(server, &[USER]);
}

pub(crate) fn no_password() -> Case {
    Case {
        // Connections that were made before keep their rights.
        provoke: |server| admin(server, &["ACL SETUSER default resetpass >hush", KILL]),
        cure: |server| admin(server, &["ACL SETUSER default nopass"]),
        // The second to a command with more than ten arguments.
        says: &["NOAUTH Authentication required|unauthenticated multibulk length", "cache.redis.password_file"],
        ..NONE
    }
}

pub(crate) fn a_wrong_password() -> Case {
    Case {
        login: LOGIN,
        prepare: with_user,
        provoke: |server| admin(server, &["ACL SETUSER few resetpass >another", KILL]),
        cure: |server| admin(server, &[USER]),
        says: &["WRONGPASS invalid username-password pair or user is disabled", "check the user in cache.redis.url"],
        ..NONE
    }
}

pub(crate) fn a_user_that_was_removed() -> Case {
    Case {
        login: LOGIN,
        prepare: with_user,
        provoke: |server| admin(server, &["ACL DELUSER few"]),
        cure: |server| admin(server, &[USER]),
        says: &["WRONGPASS", "check the user in cache.redis.url"],
        ..NONE
    }
}

pub(crate) fn a_user_without_mget() -> Case {
    Case {
        login: LOGIN,
        prepare: with_user,
        provoke: |server| admin(server, &["ACL SETUSER few -mget -set"]),
        cure: |server| admin(server, &[USER]),
        says: &["NOPERM", "the commands MGET, SET, UNLINK"],
        ..NONE
    }
}

pub(crate) fn a_user_without_set() -> Case {
    Case {
        login: LOGIN,
        prepare: with_user,
        provoke: |server| admin(server, &["ACL SETUSER few -set"]),
        cure: |server| admin(server, &[USER]),
        fails: Fails::Writes,
        says: &["NOPERM", "'set' command", "the commands MGET, SET, UNLINK"],
        ..NONE
    }
}

pub(crate) fn a_user_without_the_keys() -> Case {
    Case {
        login: LOGIN,
        prepare: with_user,
        provoke: |server| admin(server, &["ACL SETUSER few resetkeys ~other:*"]),
        cure: |server| admin(server, &[USER]),
        says: &["NOPERM", "the keys of cache.namespace"],
        ..NONE
    }
}

/// It keeps the keys, because a port without a server can be followed, not copied.
pub(crate) fn a_replica() -> Case {
    Case {
        provoke: |server| admin(server, &[&format!("REPLICAOF 127.0.0.1 {}", free_port())]),
        cure: |server| admin(server, &["REPLICAOF NO ONE"]),
        fails: Fails::Writes,
        says: &["READONLY You can't write against a read only replica", "redis+sentinel://"],
        ..NONE
    }
}

pub(crate) fn a_replica_without_its_master() -> Case {
    Case {
        options: &["--replica-serve-stale-data", "no"],
        provoke: |server| admin(server, &[&format!("REPLICAOF 127.0.0.1 {}", free_port())]),
        cure: |server| admin(server, &["REPLICAOF NO ONE"]),
        says: &["MASTERDOWN Link with MASTER is down", "name the master in cache.redis.url"],
        ..NONE
    }
}

pub(crate) fn out_of_memory() -> Case {
    Case {
        provoke: |server| admin(server, &["CONFIG SET maxmemory 1"]),
        cure: |server| admin(server, &["CONFIG SET maxmemory 0"]),
        fails: Fails::Writes,
        says: &["OOM command not allowed when used memory > 'maxmemory'", "allkeys-lfu"],
        ..NONE
    }
}

pub(crate) fn a_disk_that_cannot_be_written() -> Case {
    Case {
        options: &["--enable-protected-configs", "yes"],
        provoke: |server| {
            admin(server, &["CONFIG SET save 3600_1", "CONFIG SET dir /proc", "BGSAVE"]);
            wait_for(server, "INFO persistence", "rdb_last_bgsave_status:err");
        },
        cure: |server| admin(server, &["CONFIG SET stop-writes-on-bgsave-error no"]),
        fails: Fails::Writes,
        says: &["MISCONF Redis is configured to save RDB snapshots", "turn its persistence off"],
        ..NONE
    }
}

pub(crate) fn too_few_replicas() -> Case {
    Case {
        provoke: |server| admin(server, &["CONFIG SET min-replicas-to-write 1"]),
        cure: |server| admin(server, &["CONFIG SET min-replicas-to-write 0"]),
        fails: Fails::Writes,
        says: &["NOREPLICAS Not enough good replicas to write", "min-replicas-to-write"],
        ..NONE
    }
}

pub(crate) fn a_script_that_blocks() -> Case {
    Case {
        options: &["--busy-reply-threshold", "1"],
        provoke: |server| {
            let mut connection = Admin::of(server.port());
            thread::spawn(move || connection.run("EVAL while_true_do_end 0"));
            wait_for(server, "PING", "BUSY");
        },
        cure: |server| admin(server, &["SCRIPT KILL"]),
        says: &["BUSY Redis is busy running a script", "SCRIPT KILL ends it"],
        ..NONE
    }
}

pub(crate) fn too_many_clients() -> Case {
    Case {
        provoke: |server| {
            let mut only = Admin::of(server.port());
            only.run("CONFIG SET maxclients 1");
            only.run(KILL);
            thread::spawn(move || {
                thread::sleep(2 * FAULT);
                only.run("CONFIG SET maxclients 1000");
            });
        },
        cure: |server| {
            let is_full = || RedisConnection::to(server.port()).and_then(|mut it| it.command(&[b"PING"]));
            let started = Instant::now();
            while is_full().ok().is_none_or(|reply| reply != b"+PONG\r\n") {
                assert!(started.elapsed() < LONG_TIMEOUT, "it takes no more clients");
                thread::sleep(Duration::from_millis(20));
            }
        },
        says: &["the server closed a new connection", "the max number of clients, raise its maxclients"],
        ..NONE
    }
}

/// A server that reads its data again, slowly.
pub(crate) fn loading() -> Case {
    Case {
        options: &["--enable-debug-command", "yes"],
        provoke: |server| {
            admin(
                server,
                &[
                    "DEBUG POPULATE 4000 other",
                    "CONFIG SET key-load-delay 1000",
                    "CONFIG SET loading-process-events-interval-bytes 1024",
                ],
            );
            let mut connection = Admin::of(server.port());
            thread::spawn(move || connection.run("DEBUG RELOAD"));
            wait_for(server, "PING", "LOADING");
        },
        // It ends by itself.
        cure: |server| wait_for(server, "PING", "PONG"),
        says: &["LOADING Redis is loading the dataset in memory", "wait until it has read its data"],
        ..NONE
    }
}
