//! A simulation of the policy in a server, without a clock: a grid of costs and loads, each compared with the fixed
//! choices.
//!
//! The simulation is a closed queueing network. A number of callers call, wait, and call again. Client, server threads,
//! Redis, workers and the writer are stations with first-come-first-served queues, whose running jobs share the
//! machine's cores equally, as threads do. The policy and the load are the real ones. Generation is predicted as the
//! server's queue does it.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
    time::{Duration, Instant},
};

use super::{Asked, Decision, Policy, cpu_clock::Totals, load::Load};
use crate::{config::Bypass, ewma::Ewma, source::Forecast};

/// A machine, a tier and a load. Times in seconds; CPU times are of one core.
#[derive(Debug, Clone, Copy)]
struct Scenario {
    name: &'static str,
    cores: f64,
    workers: usize,
    /// Other processes that always run.
    other_processes: usize,
    callers: usize,
    /// Keys in a call.
    keys: usize,
    /// How long a caller waits between an answer and its next call.
    pause: f64,
    /// CPU of the client per call, of the server per call, and of the server per query.
    client: f64,
    call: f64,
    query: f64,
    /// CPU of the tier on this machine per query, and the network delay there and back.
    store: f64,
    delay: f64,
    /// CPU of generating one value, and of storing it.
    generation: f64,
    store_write: f64,
    /// The shares of keys that memory has, and of the others that the tier has.
    memory_hits: f64,
    hits: f64,
}

/// Redis on the same machine, 100x100 floors, four connections with ten calls each.
const LOCAL: Scenario = Scenario {
    name: "local redis, 40 callers",
    cores: 2.0,
    workers: 2,
    other_processes: 0,
    callers: 40,
    keys: 1,
    pause: 0.0,
    client: 12e-6,
    call: 8e-6,
    query: 14e-6,
    store: 9e-6,
    delay: 40e-6,
    generation: 90e-6,
    store_write: 12e-6,
    memory_hits: 0.1,
    hits: 1.0,
};

const ONE_CALLER: Scenario = Scenario { name: "local redis, one caller", callers: 1, ..LOCAL };
const REMOTE: Scenario = Scenario { store: 0.0, ..LOCAL };

/// The result of a run.
#[derive(Debug, Clone, Copy)]
struct Outcome {
    /// Answers a second, and the mean response time in seconds.
    rate: f64,
    response: f64,
    /// The share of lookups that asked the tier.
    asked: f64,
    /// Changes of the verdict while measured.
    changes: usize,
    utilisation: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// The client sends a call or takes an answer.
    Client,
    /// The server takes a call.
    Call,
    /// The server sends a query.
    Send,
    Store,
    Network,
    Receive,
    Generate,
    /// The server takes a generated value.
    Take,
    Write,
    Pause,
    OtherProcess,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Job {
    step: Step,
    caller: usize,
}

/// Stations: clients, server threads, the store, the workers, the writer, other processes.
const STATIONS: usize = 6;

struct Station {
    threads: usize,
    /// Jobs with the seconds of CPU that are left.
    running: Vec<(Job, f64)>,
    waiting: VecDeque<(Job, f64)>,
}

/// A call, or a query in the background.
struct Call {
    began: f64,
    asked: f64,
    left: usize,
    /// CPU seconds of each value.
    generating: VecDeque<f64>,
    in_background: bool,
}

struct Simulation<'a> {
    scenario: Scenario,
    policy: &'a Policy,
    load: Load,
    epoch: Instant,
    now: f64,
    stations: [Station; STATIONS],
    timers: BinaryHeap<Reverse<(u64, Job)>>,
    calls: Vec<Call>,
    totals: Totals,
    in_flight: usize,
    random: u64,
    answers: u64,
    response: f64,
    lookups: u64,
    asks: u64,
    changes: usize,
    /// Seconds of CPU that a running job gets in a second, now.
    speed: f64,
    /// How much longer a value took on a worker than its CPU time.
    slowdown: Ewma,
}

fn run(scenario: Scenario, mode: Bypass, warm_up: f64, seconds: f64) -> Outcome {
    let policy = Policy::new(mode, scenario.delay > 0.0 || scenario.store > 0.0);
    Simulation::new(scenario, &policy).run(warm_up, seconds)
}

impl<'a> Simulation<'a> {
    fn new(scenario: Scenario, policy: &'a Policy) -> Self {
        let threads = [2, scenario.cores as usize, 1, scenario.workers, 1, scenario.other_processes];
        let station = |threads| Station { threads, running: Vec::new(), waiting: VecDeque::new() };
        Self {
            scenario,
            policy,
            load: Load::new(scenario.cores, None),
            epoch: Instant::now(),
            now: 0.0,
            stations: threads.map(station),
            timers: BinaryHeap::new(),
            calls: Vec::new(),
            totals: Totals::default(),
            in_flight: 0,
            random: 1,
            answers: 0,
            response: 0.0,
            lookups: 0,
            asks: 0,
            changes: 0,
            speed: 1.0,
            slowdown: Ewma::new(),
        }
    }

    fn run(mut self, warm_up: f64, seconds: f64) -> Outcome {
        for caller in 0..self.scenario.other_processes {
            self.enter(5, Job { step: Step::OtherProcess, caller }, f64::INFINITY);
        }
        for caller in 0..self.scenario.callers {
            let call = self.call(false);
            debug_assert_eq!(call, caller);
            self.enter(0, Job { step: Step::Client, caller }, self.scenario.client);
        }
        self.advance_to(warm_up);
        let before = self.totals;
        (self.answers, self.response, self.lookups, self.asks) = (0, 0.0, 0, 0);
        self.changes = 0;
        self.advance_to(warm_up + seconds);
        let answers = self.answers as f64;
        Outcome {
            rate: answers / seconds,
            response: self.response / answers,
            asked: self.asks as f64 / self.lookups.max(1) as f64,
            changes: self.changes,
            utilisation: (self.totals.busy - before.busy) / (self.scenario.cores * seconds),
        }
    }

    fn call(&mut self, in_background: bool) -> usize {
        let (began, asked) = (self.now, self.now);
        self.calls.push(Call { began, asked, left: 0, generating: VecDeque::new(), in_background });
        self.calls.len() - 1
    }

    /// A pseudo-random number from 0 to 1 (SplitMix64).
    fn random(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn enter(&mut self, station: usize, job: Job, cpu: f64) {
        let station = &mut self.stations[station];
        if station.running.len() < station.threads {
            station.running.push((job, cpu));
        } else {
            station.waiting.push_back((job, cpu));
        }
    }

    fn after(&mut self, seconds: f64, job: Job) {
        self.timers.push(Reverse((((self.now + seconds) * 1e9) as u64, job)));
    }

    fn instant(&self) -> Instant {
        self.epoch + Duration::from_secs_f64(self.now)
    }

    fn advance_to(&mut self, end: f64) {
        while self.now < end {
            let running: usize = self.stations.iter().map(|station| station.running.len()).sum();
            let speed = (self.scenario.cores / running.max(1) as f64).min(1.0);
            let mut next = end;
            let jobs = self.stations.iter().flat_map(|station| &station.running);
            let shortest = jobs.map(|(_, left)| *left).fold(f64::INFINITY, f64::min);
            next = next.min(self.now + shortest / speed);
            if let Some(Reverse((at, _))) = self.timers.peek() {
                next = next.min((*at as f64 * 1e-9).max(self.now));
            }
            self.speed = speed;
            let passed = next - self.now;
            self.now = next;
            self.totals.busy += passed * (running as f64).min(self.scenario.cores);
            self.totals.capacity += passed * self.scenario.cores;
            let mut done = Vec::new();
            for (number, station) in self.stations.iter_mut().enumerate() {
                // The server's threads, its workers and its writer are this process.
                if [1, 3, 4].contains(&number) {
                    self.totals.own += passed * speed * station.running.len() as f64;
                }
                for (_, left) in &mut station.running {
                    *left -= passed * speed;
                }
                let mut index = 0;
                while index < station.running.len() {
                    if station.running[index].1 <= 1e-12 {
                        done.push(station.running.swap_remove(index).0);
                        if let Some(waiting) = station.waiting.pop_front() {
                            station.running.push(waiting);
                        }
                    } else {
                        index += 1;
                    }
                }
            }
            while let Some(Reverse((at, job))) = self.timers.peek().copied() {
                if at as f64 * 1e-9 > self.now + 1e-12 {
                    break;
                }
                self.timers.pop();
                done.push(job);
            }
            done.into_iter().for_each(|job| self.done(job));
        }
    }

    fn done(&mut self, job: Job) {
        let Job { step, caller } = job;
        let next = |step| Job { step, caller };
        let scenario = self.scenario;
        let keys = scenario.keys as f64;
        match step {
            Step::Pause => self.enter(0, next(Step::Client), scenario.client),
            Step::Client => {
                self.calls[caller].began = self.now;
                self.enter(1, next(Step::Call), scenario.call);
            }
            Step::Call => {
                self.totals.operations += scenario.keys as u64;
                let missed = (0..scenario.keys).filter(|_| self.random() >= scenario.memory_hits).count();
                self.calls[caller].left = missed;
                if missed == 0 { self.answer(caller) } else { self.look_up(caller) }
            }
            Step::Send if scenario.store > 0.0 => self.enter(2, next(Step::Store), scenario.store * keys.sqrt()),
            Step::Send | Step::Store => self.after(scenario.delay, next(Step::Network)),
            Step::Network => self.enter(1, next(Step::Receive), scenario.query / 2.0),
            Step::Receive => {
                let asked = self.calls[caller].left;
                let hits = (0..asked).filter(|_| self.random() < scenario.hits).count();
                let took = Duration::from_secs_f64(self.now - self.calls[caller].asked);
                self.totals.operations += asked as u64;
                let by = if self.calls[caller].in_background { Asked::InBackground } else { Asked::ForCaller };
                self.policy.learn(self.instant(), by, asked, hits, took);
                if self.calls[caller].in_background {
                    return;
                }
                self.calls[caller].left = asked - hits;
                if asked == hits { self.found(caller) } else { self.generate(caller) }
            }
            Step::Generate => {
                self.slowdown.add(1.0 / self.speed, 1.0 / 16.0);
                self.enter(1, next(Step::Take), scenario.query / 2.0);
            }
            Step::Take => {
                self.totals.operations += 1;
                self.totals.generation += self.calls[caller].generating.pop_front().expect("it was generated");
                self.enter(4, next(Step::Write), scenario.store_write);
                self.calls[caller].left -= 1;
                if self.calls[caller].left == 0 {
                    self.found(caller);
                }
            }
            Step::Write | Step::OtherProcess => {}
        }
    }

    fn look_up(&mut self, caller: usize) {
        self.in_flight += 1;
        self.load.call(self.in_flight);
        let now = self.instant();
        if self.load.is_due(now) {
            self.load.measure(now, self.totals);
        }
        let keys = self.calls[caller].left;
        let usage = self.policy.status().usage;
        let decision = self.policy.decide(now, keys, Some(self.forecast(keys)), self.load.cpu_cost());
        self.changes += usize::from(self.policy.status().usage != usage);
        self.lookups += 1;
        self.calls[caller].asked = self.now;
        match decision {
            Decision::Ask => {
                self.asks += 1;
                self.enter(1, Job { step: Step::Send, caller }, self.scenario.query / 2.0);
            }
            Decision::Skip => self.generate(caller),
            Decision::AskInBackground => {
                let background = self.call(true);
                self.calls[background].left = keys;
                self.enter(1, Job { step: Step::Send, caller: background }, self.scenario.query / 2.0);
                self.generate(caller);
            }
        }
    }

    /// The cost of generating `keys` values now, from the queue of the workers.
    fn forecast(&self, keys: usize) -> Forecast {
        let Scenario { generation, workers, query, .. } = self.scenario;
        let Station { running, waiting, .. } = &self.stations[3];
        let slowdown = self.slowdown.get().unwrap_or(1.0);
        let (one, keys) = (generation * slowdown, keys as f64);
        let before = one * (waiting.len() as f64 + running.len() as f64 / 2.0);
        // An idle worker starts at once, and a thread of the server takes the value.
        let dispatch = query / 2.0 * slowdown;
        let response = dispatch + ((before + one * keys) / workers as f64).max(one);
        Forecast { response, run: one * keys, cpu: generation * keys }
    }

    fn generate(&mut self, caller: usize) {
        for _ in 0..self.calls[caller].left {
            // Generation costs differ by half.
            let run = self.scenario.generation * (0.5 + self.random());
            self.calls[caller].generating.push_back(run);
            self.enter(3, Job { step: Step::Generate, caller }, run);
        }
    }

    fn found(&mut self, caller: usize) {
        self.in_flight -= 1;
        self.answer(caller);
    }

    fn answer(&mut self, caller: usize) {
        self.answers += 1;
        self.response += self.now - self.calls[caller].began;
        let again = Job { step: Step::Client, caller };
        if self.scenario.pause > 0.0 {
            // Callers are not synchronised.
            let pause = self.scenario.pause * 2.0 * self.random();
            self.after(pause, Job { step: Step::Pause, caller });
        } else {
            self.enter(0, again, self.scenario.client);
        }
    }
}

fn grid() -> Vec<Scenario> {
    vec![
        LOCAL,
        ONE_CALLER,
        Scenario { name: "local redis, 400 callers", callers: 400, ..LOCAL },
        Scenario { name: "local redis, 4 callers", callers: 4, ..LOCAL },
        Scenario { name: "local redis, zipf", memory_hits: 0.7, ..LOCAL },
        Scenario { name: "local redis, steep zipf", memory_hits: 0.9, ..LOCAL },
        Scenario { name: "local redis, low load", callers: 4, pause: 10e-3, ..LOCAL },
        Scenario { name: "0.2 ms, one caller", delay: 200e-6, callers: 1, ..REMOTE },
        Scenario { name: "0.2 ms, 40 callers", delay: 200e-6, ..REMOTE },
        Scenario { name: "0.2 ms, 400 callers", delay: 200e-6, callers: 400, ..REMOTE },
        Scenario { name: "1 ms, one caller", delay: 1e-3, callers: 1, ..REMOTE },
        Scenario { name: "1 ms, 40 callers", delay: 1e-3, ..REMOTE },
        Scenario { name: "1 ms, 400 callers", delay: 1e-3, callers: 400, ..REMOTE },
        Scenario { name: "6 ms, one caller", delay: 6e-3, callers: 1, ..REMOTE },
        Scenario { name: "6 ms, 40 callers", delay: 6e-3, ..REMOTE },
        Scenario { name: "6 ms, 100 callers", delay: 6e-3, callers: 100, ..REMOTE },
        Scenario { name: "6 ms, 400 callers", delay: 6e-3, callers: 400, ..REMOTE },
        Scenario { name: "large floors, local, 40 callers", generation: 2.5e-3, query: 40e-6, store: 60e-6, ..LOCAL },
        Scenario { name: "large floors, 6 ms, one caller", generation: 2.5e-3, delay: 6e-3, callers: 1, ..REMOTE },
        Scenario { name: "large floors, 6 ms, 40 callers", generation: 2.5e-3, delay: 6e-3, ..REMOTE },
        Scenario { name: "1.3 ms source, local, 40 callers", generation: 1.3e-3, ..LOCAL },
        Scenario { name: "1.3 ms source, 1 ms, 40 callers", generation: 1.3e-3, delay: 1e-3, ..REMOTE },
        Scenario { name: "1.3 ms source, 6 ms, 40 callers", generation: 1.3e-3, delay: 6e-3, ..REMOTE },
        Scenario { name: "small floors, local, 40 callers", generation: 12e-6, ..LOCAL },
        Scenario { name: "small floors, local, one caller", generation: 12e-6, callers: 1, ..LOCAL },
        Scenario { name: "small floors, 1 ms, 400 callers", generation: 12e-6, delay: 1e-3, callers: 400, ..REMOTE },
        Scenario { name: "few hits, local, 40 callers", hits: 0.05, ..LOCAL },
        Scenario { name: "half hits, local, 40 callers", hits: 0.5, ..LOCAL },
        Scenario { name: "half hits, local, one caller", hits: 0.5, callers: 1, ..LOCAL },
        Scenario { name: "batches of 16, local, 40 callers", keys: 16, ..LOCAL },
        Scenario { name: "batches of 16, 1 ms, one caller", keys: 16, delay: 1e-3, callers: 1, ..REMOTE },
        Scenario { name: "batches of 16, 6 ms, 40 callers", keys: 16, delay: 6e-3, ..REMOTE },
        Scenario { name: "one worker, local, 40 callers", workers: 1, ..LOCAL },
        Scenario { name: "one worker, 1 ms, 40 callers", workers: 1, delay: 1e-3, ..REMOTE },
        Scenario { name: "other processes, local, 40 callers", other_processes: 2, ..LOCAL },
        Scenario { name: "other processes, local, one caller", other_processes: 2, callers: 1, ..LOCAL },
        Scenario { name: "other processes, 6 ms, one caller", other_processes: 2, delay: 6e-3, callers: 1, ..REMOTE },
        Scenario { name: "other processes, 1 ms, 40 callers", other_processes: 2, delay: 1e-3, ..REMOTE },
        Scenario { name: "16 cores, local, 40 callers", cores: 16.0, workers: 16, ..LOCAL },
        Scenario { name: "16 cores, 1 ms, 400 callers", cores: 16.0, workers: 16, callers: 400, delay: 1e-3, ..REMOTE },
        Scenario { name: "16 cores, 6 ms, 400 callers", cores: 16.0, workers: 16, callers: 400, delay: 6e-3, ..REMOTE },
    ]
}

/// In every scenario the policy matches the better fixed choice, and its verdict is stable.
#[test]
fn the_policy_is_as_good_as_the_better_fixed_choice() {
    let mut failed = Vec::new();
    for scenario in grid() {
        let [off, forced] = [Bypass::Off, Bypass::Forced].map(|mode| run(scenario, mode, 0.5, 1.0));
        let auto = run(scenario, Bypass::Auto, 5.0, 3.0);
        // Compares the rate if callers never pause, else the response time.
        let ratio = if scenario.pause > 0.0 {
            off.response.min(forced.response) / auto.response
        } else {
            auto.rate / off.rate.max(forced.rate)
        };
        let line = format!(
            "{:34} {ratio:5.2} (off {:6.0} forced {:6.0} auto {:6.0}; asked {:4.2}, {} changes, utilisation {:4.2}/{:4.2}/{:4.2})",
            scenario.name,
            off.rate,
            forced.rate,
            auto.rate,
            auto.asked,
            auto.changes,
            off.utilisation,
            forced.utilisation,
            auto.utilisation
        );
        println!("{line}");
        if ratio < 0.97 || auto.changes > 1 {
            failed.push(line);
        }
    }
    assert!(failed.is_empty(), "\n{}", failed.join("\n"));
}
