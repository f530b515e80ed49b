//! Counts the system calls of an answer with strace: `serving --syscalls`. Counts do not depend on other load.
//!
//! strace stops a server at every system call, so more calls arrive together. Untraced, a server coalesces fewer
//! writes.

use std::{
    collections::BTreeMap,
    fs,
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context, ensure};
use benches::{
    load::{Rpc, Shape},
    peers::servers::PeerServer,
    process::wait_until,
    report::{self, Origin},
};

use crate::fleet::{Fleet, Limit, OURS};

/// Answers that are counted together, so that rare system calls, such as those of timers, hardly matter.
const CALLS: u64 = 20_000;

/// How long strace may take to attach to a server.
const STRACE_TIMEOUT: Duration = Duration::from_secs(10);

/// The servers whose system calls are counted: ours and two that send the same bytes.
const SERVERS: [&str; 3] = [OURS, PeerServer::BareHyper.name(), PeerServer::StaticTonic.name()];

pub(crate) fn print(fleet: &Fleet, connections: usize, streams: &[usize]) -> anyhow::Result<()> {
    let mut table = report::table(["server", "streams", "system calls an answer", "of which"]);
    for name in SERVERS {
        for streams in streams {
            let counts = counted(fleet, name, connections, *streams)?;
            let an_answer = |count: u64| format!("{:.2}", count as f64 / CALLS as f64);
            let mut most: Vec<(&String, &u64)> = counts.iter().collect();
            most.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
            let parts: Vec<String> =
                most.iter().take(4).map(|(call, count)| format!("{call} {}", an_answer(**count))).collect();
            table.add_row([name.to_owned(), streams.to_string(), an_answer(counts.values().sum()), parts.join(", ")]);
        }
    }
    println!("{}\n\n{connections} connections, {CALLS} answers each\n\n{table}", Origin::of("serving"));
    Ok(())
}

/// System calls of a server while it answers [`CALLS`] calls, by name.
fn counted(fleet: &Fleet, name: &str, connections: usize, streams: usize) -> anyhow::Result<BTreeMap<String, u64>> {
    let server = fleet.server(name);
    let summary = tempfile::NamedTempFile::new()?;
    let mut strace = Command::new("strace")
        .args(["-f", "-c", "-U", "name,calls", "-p", &server.pid().to_string(), "-o"])
        .arg(summary.path())
        .stderr(Stdio::null())
        .spawn()
        .context("strace does not start; install it (Debian: apt install strace)")?;
    wait_until(&format!("strace watches {name}"), STRACE_TIMEOUT, || {
        ensure!(strace.try_wait()?.is_none(), "strace may not watch another process here (ptrace is not permitted)");
        is_traced(server.pid())
    })?;
    let answered = server.load(Rpc::GetFloor, Shape::new(connections, streams), Limit::Calls(CALLS), Duration::ZERO);
    // On SIGINT strace detaches and writes its summary.
    Command::new("kill").args(["-INT", &strace.id().to_string()]).status()?;
    strace.wait()?;
    answered?;
    parse(&fs::read_to_string(summary.path())?)
}

/// Whether every thread of the process is being traced.
fn is_traced(pid: u32) -> anyhow::Result<bool> {
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let status = fs::read_to_string(thread?.path().join("status"))?;
        if status.lines().any(|line| line.strip_prefix("TracerPid:").is_some_and(|tracer| tracer.trim() == "0")) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Parses strace's table of two columns, name and calls, without its header, rules and total.
fn parse(summary: &str) -> anyhow::Result<BTreeMap<String, u64>> {
    let rows = summary.lines().filter_map(|line| {
        let (name, count) = line.split_once(' ')?;
        Some((name, count.trim().parse::<u64>().ok()?))
    });
    let counts: BTreeMap<String, u64> =
        rows.filter(|(name, _)| *name != "total").map(|(name, count)| (name.to_owned(), count)).collect();
    ensure!(!counts.is_empty(), "strace printed:\n{summary}");
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_of_strace_is_read() {
        let printed = "syscall              calls\n---------------- ---------\nwritev               20123\n\
                       epoll_wait             456\n---------------- ---------\ntotal                20579\n";
        let counts = parse(printed).unwrap();
        assert_eq!(counts, [("writev".to_owned(), 20123), ("epoll_wait".to_owned(), 456)].into());
        assert!(parse("").is_err());
    }
}
