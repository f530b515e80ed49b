//! What a floor of a frozen pack costs, beside the same floor of the generator in this program: the medians of both, and
//! of their ratios, in one run that alternates. Before that, what loading the pack takes.
//!
//! ```sh
//! floorctl pack freeze tower -o tower.floorpack
//! cargo run --release -p floor-pack --features modules --example frozen -- tower.floorpack
//! ```

use std::{env, error::Error, path::Path, time::Instant};

use floor_gen::{Generator, Kind, pack::PackErrors};
use floor_pack::{LoadedPack, pack_files};

/// Floors of each kind.
const FLOORS: u32 = 400;

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args().nth(1).ok_or("name the file of a frozen pack")?;
    let files = pack_files::read(Path::new(&path))?;
    let load = || -> Result<(LoadedPack, f64), PackErrors> {
        let started = Instant::now();
        Ok((LoadedPack::read(files.clone())?, started.elapsed().as_secs_f64() * 1000.0))
    };
    let (frozen, first) = load()?;
    let (_, another) = load()?;
    println!("loaded in {first:.0} ms, another pack with the same generator in {another:.0} ms");
    let (native, mut generator) = (LoadedPack::built_in(), Generator::new());
    let mut timed = |pack: &LoadedPack, number: u32, kind: Kind| -> Result<f64, Box<dyn Error>> {
        let spec = pack.resolve(7, number, 0, 0, Some(kind))?;
        let started = Instant::now();
        pack.framed(&mut generator, &spec)?;
        Ok(started.elapsed().as_secs_f64() * 1e6)
    };
    println!("{:<10}{:>12}{:>12}{:>8}", "kind", "native us", "frozen us", "ratio");
    for kind in Kind::ALL {
        let (mut natives, mut frozens, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for number in 1..=FLOORS {
            let (own, of_module) = (timed(native, number, kind)?, timed(&frozen, number, kind)?);
            natives.push(own);
            frozens.push(of_module);
            ratios.push(of_module / own);
        }
        let medians = [&mut natives[..], &mut frozens[..], &mut ratios[..]].map(median);
        println!("{:<10}{:>12.1}{:>12.1}{:>8.2}", kind.name(), medians[0], medians[1], medians[2]);
    }
    Ok(())
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
