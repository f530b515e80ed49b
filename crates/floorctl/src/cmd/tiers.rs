//! `floorctl tiers`: shows statistics of the tiers and whether the policy uses them.

use std::{
    io::Write as _,
    time::{Duration, Instant},
};

use clap::Args;
use comfy_table::{Table, presets::UTF8_HORIZONTAL_ONLY};
use floor_client::{FloorClient, ServerInfo, TierInfo};
use floor_export::{escape::escaped, json_layout};
use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use terminal_size::terminal_size;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::{
    json,
    operations::ANSWER,
    output::{self, ReportFormat},
    server::Server,
    tier_rates::TierRates,
};

const AFTER_HELP: &str = "\
The tiers are listed in lookup order. Generation is last: it provides floors that no tier holds. The server measures \
the costs in its own lookups. They are shown in microseconds (us), or nanoseconds (ns) below one. h is the share of lookups that find the floor, T the response time of a lookup, and G the time to \
generate a floor. The server uses a tier while h x G exceeds T. It adds CPU time to both, at a price that is zero \
while cores are idle. `asked` is the share of lookups that used the tier. With --json, \
prints the message floors.v1.ServerInfo in proto3's JSON.

--watch reads the counts every --interval until Ctrl-C, and goes on when the server is away or restarts. In a terminal \
it draws the last 60 intervals of each tier, or as many as fit; otherwise it prints a line for each tier. With --json it \
prints each reading as one line, and says on standard error if the server does not answer.

Examples:
  floorctl tiers
  floorctl tiers --watch --interval 5s
  floorctl tiers --json | jq '.tiers[] | {name, hits, hitRatio}'";

/// Show the hits, the misses, the costs and the verdict of each tier
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Tiers {
    /// Show the lookups a second and the hit rates until Ctrl-C
    #[arg(long)]
    watch: bool,
    /// The time between two readings, at least 100ms
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = readable_interval, requires = "watch")]
    interval: Duration,
    #[command(flatten)]
    report: ReportFormat,
}

fn readable_interval(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if time < Duration::from_millis(100) { Err("write 100ms or more".to_owned()) } else { Ok(time) }
}

impl Tiers {
    pub(crate) async fn run(self, server: &Server) -> anyhow::Result<()> {
        let client = server.connect().await?;
        let info = client.server_info().await?;
        if self.watch {
            let view = View::new(&self, server.url());
            let watched = tokio::select! {
                watched = self.watch(&client, info, &view) => watched,
                interrupted = tokio::signal::ctrl_c() => Ok(interrupted?),
            };
            return view.end().and(watched);
        }
        if self.report.json {
            return output::print_json(&json::server_info(&info));
        }
        output::print(format_args!("{}\n{}", counts_table(&info.tiers), policy_table(&info.tiers)))
    }
}

impl Tiers {
    /// Shows `info` and each later reading. Returns only if that fails: calls that fail are shown too.
    async fn watch(&self, client: &FloorClient, info: ServerInfo, view: &View) -> anyhow::Result<()> {
        let (begun, mut rates) = (Instant::now(), TierRates::default());
        let mut last = begun;
        rates.add(&info, Duration::ZERO);
        view.show(&rates, &info, begun.elapsed())?;
        let mut ticks = interval(self.interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks.tick().await;
        loop {
            ticks.tick().await;
            let why = match timeout(ANSWER, client.server_info()).await {
                Ok(Ok(info)) => {
                    rates.add(&info, last.elapsed());
                    last = Instant::now();
                    view.show(&rates, &info, begun.elapsed())?;
                    continue;
                }
                Ok(Err(error)) => error.to_string(),
                Err(_) => format!("none within {}", humantime::format_duration(ANSWER)),
            };
            rates.skip();
            view.show_absence(&rates, begun.elapsed(), last.elapsed(), &why)?;
        }
    }
}

/// How what is watched is shown.
enum View {
    /// Drawn over the drawing before it, under a title.
    Drawing(ProgressBar, String),
    Lines,
    Json,
}

impl View {
    fn new(Tiers { report, interval, .. }: &Tiers, url: &str) -> Self {
        let drawing = ProgressBar::with_draw_target(None, ProgressDrawTarget::stdout())
            .with_style(ProgressStyle::with_template("{msg}").expect("the template is well formed"));
        match (report.json, drawing.is_hidden()) {
            (true, _) => Self::Json,
            (false, true) => Self::Lines,
            (false, false) => {
                let interval = humantime::format_duration(*interval);
                Self::Drawing(drawing, format!("{}, every {interval} until Ctrl-C", escaped(url)))
            }
        }
    }

    /// Shows the last interval, which ended after `time`.
    fn show(&self, rates: &TierRates, info: &ServerInfo, time: Duration) -> anyhow::Result<()> {
        let mut out = output::stdout();
        match self {
            Self::Drawing(drawing, title) => drawing.set_message(format!("{title}{}", rates.drawing(columns()))),
            Self::Lines => {
                let seconds = time.as_secs_f64();
                rates.lines().try_for_each(|line| writeln!(out, "{seconds:>7.1} s  {line}"))?;
            }
            Self::Json => json_layout::write_line(&mut out, &json::server_info(info))?,
        }
        Ok(out.flush()?)
    }

    /// Shows for how long the server has not answered, `away`, and the error, `why`.
    fn show_absence(&self, rates: &TierRates, time: Duration, away: Duration, why: &str) -> anyhow::Result<()> {
        match self {
            Self::Drawing(drawing, title) => {
                let absence = format!("no answer for {} s: {}", away.as_secs(), escaped(why));
                drawing.set_message(format!("{title}{}\n{absence}", rates.drawing(columns())));
                Ok(())
            }
            Self::Lines => output::print(format_args!("{:>7.1} s  no answer: {why}", time.as_secs_f64())),
            Self::Json => Ok(writeln!(output::stderr(), "no answer: {why}")?),
        }
    }

    /// Leaves the last drawing as it is: the terminal may have put `^C` below it.
    fn end(self) -> anyhow::Result<()> {
        if let Self::Drawing(drawing, _) = self {
            drawing.set_draw_target(ProgressDrawTarget::hidden());
            output::print("")?;
        }
        Ok(())
    }
}

/// The width of the terminal, less the last column, in which some break the line.
fn columns() -> usize {
    terminal_size().map_or(80, |(width, _)| usize::from(width.0)).saturating_sub(1)
}

/// Share of hits in all answered lookups; `None` before the first.
fn hit_rate(tier: &TierInfo) -> Option<f64> {
    let lookups = tier.hits + tier.misses;
    (lookups > 0).then(|| tier.hits as f64 / lookups as f64)
}

/// Lookups, contents and costs of each tier.
fn counts_table(tiers: &[TierInfo]) -> Table {
    let header = ["tier", "hits", "misses", "hit rate", "errors", "bypasses", "entries", "size", "per hit", "per miss"];
    let row = |tier: &TierInfo| {
        [
            tier.name.clone(),
            HumanCount(tier.hits).to_string(),
            HumanCount(tier.misses).to_string(),
            hit_rate(tier).map_or_else(|| "-".to_owned(), |rate| format!("{:.1} %", rate * 100.0)),
            HumanCount(tier.errors).to_string(),
            HumanCount(tier.bypasses).to_string(),
            HumanCount(tier.entries).to_string(),
            HumanBytes(tier.bytes).to_string(),
            cost(tier.hit_cost_us),
            cost(tier.miss_cost_us),
        ]
    };
    output::table(UTF8_HORIZONTAL_ONLY, header, tiers.iter().map(row), 1..=9)
}

/// The values behind the verdict on each tier, and its age.
fn policy_table(tiers: &[TierInfo]) -> Table {
    let header = ["tier", "h", "T", "G", "h x G", "asked", "verdict", "reason", "for"];
    let row = |tier: &TierInfo| {
        [
            tier.name.clone(),
            format!("{:.3}", tier.hit_ratio),
            cost(tier.probe_cost_us),
            cost(tier.generation_cost_us),
            cost(tier.hit_ratio * tier.generation_cost_us),
            format!("{:.0} %", tier.asked_ratio * 100.0),
            tier.verdict.clone(),
            tier.reason.clone(),
            humantime::format_duration(Duration::from_secs(tier.verdict_seconds)).to_string(),
        ]
    };
    output::table(UTF8_HORIZONTAL_ONLY, header, tiers.iter().map(row), 1..=5)
}

/// The cost as text; 0 means not measured.
fn cost(micros: f64) -> String {
    match micros {
        0.0 => "-".to_owned(),
        under if under < 1.0 => format!("{:.0} ns", under * 1000.0),
        _ => format!("{micros:.1} us"),
    }
}
