//! What the process of a server uses: memory, descriptors and threads.

use std::fs;

use test_support::Server;

/// By how much the memory may grow after the first tenth of a run, in percent.
const MAX_GROWTH_PERCENT: u64 = 5;
/// By how much descriptors and threads may grow: beyond the percentage, a few that come and go.
const MAX_MORE: u64 = 8;

#[derive(Clone, Copy, Default)]
pub(crate) struct Usage {
    resident_kib: u64,
    anonymous_kib: u64,
    descriptors: u64,
    threads: u64,
}

#[derive(Default)]
pub(crate) struct Samples(Vec<Usage>);

impl Samples {
    pub(crate) fn take(&mut self, server: &Server) {
        let process = format!("/proc/{}", server.pid());
        let status = fs::read_to_string(format!("{process}/status")).unwrap();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.split_whitespace().next().unwrap().parse().unwrap()
        };
        self.0.push(Usage {
            resident_kib: field("VmRSS:"),
            anonymous_kib: field("RssAnon:"),
            descriptors: fs::read_dir(format!("{process}/fd")).unwrap().count() as u64,
            threads: field("Threads:"),
        });
    }

    pub(crate) fn last(&self) -> Usage {
        *self.0.last().unwrap()
    }

    /// The medians of each tenth of the run.
    fn tenths(&self) -> Vec<Usage> {
        let median = |part: &[Usage], of: fn(&Usage) -> u64| {
            let mut values: Vec<_> = part.iter().map(of).collect();
            values.sort_unstable();
            values[values.len() / 2]
        };
        let tenths = self.0.chunks(self.0.len().div_ceil(10)).map(|part| Usage {
            resident_kib: median(part, |usage| usage.resident_kib),
            anonymous_kib: median(part, |usage| usage.anonymous_kib),
            descriptors: median(part, |usage| usage.descriptors),
            threads: median(part, |usage| usage.threads),
        });
        tenths.collect()
    }

    pub(crate) fn print(&self, name: &str) {
        for (number, usage) in self.tenths().iter().enumerate() {
            println!("{name}, the median of tenth {}: {usage}", number + 1);
        }
    }

    /// Compares the medians of all tenths with that of the second: in the first, caches and tables fill.
    pub(crate) fn assert_flat(&self, name: &str) {
        let tenths = self.tenths();
        let base = tenths[1];
        let more = |base: u64| base + base * MAX_GROWTH_PERCENT / 100;
        for (number, usage) in tenths.iter().enumerate().skip(2) {
            let is_flat = usage.resident_kib <= more(base.resident_kib)
                && usage.descriptors <= more(base.descriptors) + MAX_MORE
                && usage.threads <= more(base.threads) + MAX_MORE;
            assert!(is_flat, "{name}: {base} in the second tenth, {usage} in tenth {}", number + 1);
        }
    }
}

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { resident_kib, anonymous_kib, descriptors, threads } = self;
        write!(
            f,
            "{resident_kib} KiB resident, {anonymous_kib} KiB anonymous, {descriptors} descriptors, {threads} threads"
        )
    }
}
