//! Measures how much floors of one kind differ: `cargo run --release -p floor-gen --example variety`.

use clap::Parser;
use floor_gen::explain::Report;
use floor_gen::{Generator, Kind};

use measure::Variety;

mod kinds;
mod measure;

/// Measures how much floors of one kind differ.
#[derive(Parser)]
struct Options {
    /// Floors of each kind.
    #[arg(long, default_value_t = 100)]
    floors: u64,
    /// One kind only, by name.
    #[arg(long, value_parser = |name: &str| Kind::from_name(name).ok_or("no such kind"))]
    kind: Option<Kind>,
    /// Sizes, as WIDTHxHEIGHT.
    #[arg(long, value_parser = size, default_values = ["100x100", "60x60", "40x32"])]
    size: Vec<(u32, u32)>,
    /// Lists why layouts were rejected, and how often.
    #[arg(long)]
    rejected: bool,
}

fn size(text: &str) -> Result<(u32, u32), String> {
    let sides = text.split_once('x').and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
    sides.ok_or_else(|| format!("{text:?} is no size; a size looks like 100x100"))
}

fn main() {
    let options = Options::parse();
    println!(
        "kind      size     rooms 10/50/90 %  spread  looped  alike  roles  path  level  phase  open  bare worst  fallbacks  median      p99"
    );
    for &size in &options.size {
        for kind in Kind::ALL.into_iter().filter(|&kind| options.kind.is_none_or(|only| only == kind)) {
            let specs = measure::specs(kind, size, options.floors);
            print(kind, size, &Variety::measure(specs.clone()));
            if options.rejected {
                let (report, mut generator) = (Report::default(), Generator::new());
                for spec in specs {
                    let _ = generator.generate_observed(&spec, &report);
                }
                for (why, count) in report.rejected() {
                    println!("          {count:6} layouts rejected: {why}");
                }
            }
        }
    }
    if options.kind.is_none() {
        options.size.iter().for_each(|&size| print_kinds(size, options.floors));
    }
    println!(
        "quarters: share of floors with rooms in at least three quarters; spread: (90th - 10th percentile) / median; looped: share of floors with a loop; alike: mean correlation of \
         the open cells of two floors in 10x10 parts, best of eight symmetries; roles: different sequences of roles \
         along the walk; path: critical path over the diagonal; level: steps east and west over those north and \
         south, outside rooms; phase: standard deviation of rooms' centers within the parts of a lattice of 5x5, 0.29 \
         at random; bare: share of the open cells in squares of 9x9 plain floor in which nothing stands, the mean and the \
         barest floor"
    );
}

/// Prints how well plain measures tell kinds apart.
fn print_kinds(size: (u32, u32), floors: u64) {
    let told = kinds::Told::measure(size, floors);
    let names = Kind::ALL.map(Kind::name);
    println!("{}x{}: {:.2} of floors are told by {}", size.0, size.1, told.right_of_all(), kinds::MEASURES.join(", "));
    println!("kind       right  quarters  means, and taken for {}", names.join(" "));
    for (kind, name) in names.into_iter().enumerate() {
        println!(
            "{name:9} {:6.2} {:9.2}  {:.2?} {:?}",
            told.right(kind),
            told.quarters[kind],
            told.means[kind],
            told.answers[kind]
        );
    }
}

fn print(kind: Kind, (width, height): (u32, u32), variety: &Variety) {
    let [least, median, most] = variety.rooms;
    let [half, nearly_all] = variety.took.map(|took| took.as_secs_f64() * 1e6);
    println!(
        "{:9} {:8} {least:5} {median:4} {most:4}  {:5.0}%  {:5.0}%  {:5.2} {:6} {:5.2} {:6.2} {:6.2} {:4.0}%  {:4.2}  {:4.2} {:10} {half:5.0}us \
         {nearly_all:6.0}us",
        kind.name(),
        format!("{width}x{height}"),
        100.0 * variety.spread(),
        100.0 * variety.looped,
        variety.alike,
        variety.roles,
        variety.path,
        variety.level,
        variety.phase,
        100.0 * variety.open,
        variety.bare[0],
        variety.bare[1],
        variety.fallbacks,
    );
}
