//! The generators of packs: what a wrong or hostile module does costs only its own calls.
#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

use std::{
    fmt::Write as _,
    fs,
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use floor_gen::{FloorSpec, Generator, Kind, Pack, PackHash, pack::Files};
use floor_pack::{LoadedPack, ModuleError, ResolveError};
use floor_proto::{floor_json::FLOOR, v1};
use prost::Message as _;

/// The functions of a module as WebAssembly text, each with its body.
#[derive(Clone)]
struct Source {
    /// Imports, globals, tables: what stands before the functions.
    before: String,
    memory: String,
    abi: String,
    input: String,
    load: String,
    resolve: String,
    generate: String,
    data: Vec<u8>,
}

/// Where the floor lies in the memory.
const AT: u64 = 4096;

impl Source {
    /// A module with one floor for every spec of 16x16 cells.
    fn good() -> Self {
        let spec = FloorSpec::resolve(1, 1, 16, 16, Some(Kind::Standard)).unwrap();
        let floor = floor_wire::message(&floor_gen::generate(&spec)).encode_to_vec();
        Self {
            before: String::new(),
            memory: "(memory (export \"memory\") 2)".to_owned(),
            abi: "(i32.const 1)".to_owned(),
            input: "(i32.const 65536)".to_owned(),
            load: "(i64.const 0)".to_owned(),
            resolve: format!("(i64.const {})", (Kind::Standard as u64) << 32 | 16 << 16 | 16),
            generate: format!("(i64.const {})", AT << 32 | floor.len() as u64),
            data: floor,
        }
    }

    fn wasm(&self) -> Vec<u8> {
        let Self { before, memory, abi, input, load, resolve, generate, data } = self;
        let data = data.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "\\{byte:02x}");
            text
        });
        let of_floor = "(param i64 i32 i32 i32 i32) (result i64)";
        let text = format!(
            "(module {before} {memory}
               (func $abi (export \"floor_abi\") (result i32) {abi})
               (func $input (export \"floor_input\") (param i32) (result i32) {input})
               (func $load (export \"floor_load\") (result i64) {load})
               (func $resolve (export \"floor_resolve\") {of_floor} {resolve})
               (func $generate (export \"floor_generate\") {of_floor} {generate})
               (data (i32.const {AT}) \"{data}\"))"
        );
        wat::parse_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }
}

fn pack(wasm: &[u8]) -> Result<LoadedPack, String> {
    pack_with(wasm, &[])
}

fn pack_with(wasm: &[u8], others: &[(&str, &[u8])]) -> Result<LoadedPack, String> {
    let mut files = Files::new();
    files.insert("pack.toml", b"name = \"mine\"\n").unwrap();
    files.insert(Pack::GENERATOR, wasm).unwrap();
    for (path, content) in others {
        files.insert(path, content).unwrap();
    }
    LoadedPack::read(files).map_err(|errors| errors.to_string())
}

fn floor(pack: &LoadedPack, seed: u64) -> Result<v1::Floor, ModuleError> {
    let spec = match pack.resolve(seed, 1, 0, 0, None) {
        Ok(spec) => spec,
        Err(ResolveError::Module(error)) => return Err(error),
        Err(error) => panic!("{error}"),
    };
    pack.message(&mut Generator::new(), &spec)
}

#[test]
fn a_module_makes_floors_that_are_named_and_hashed_by_the_server() {
    let pack = pack(&Source::good().wasm()).unwrap();
    let made = floor(&pack, 7).unwrap();
    let spec = made.spec.clone().unwrap();
    assert_eq!((spec.seed, spec.number, spec.width), (7, 1, 16));
    assert_eq!((spec.pack.as_str(), made.pack_hash), (pack.reference(), pack.pack().hash().0));
    // Sizes are in range before the module is asked.
    assert!(matches!(pack.resolve(7, 0, 0, 0, None), Err(ResolveError::Spec(_))));
    let spec = FloorSpec::of_pack(pack.pack().hash(), 7, 1, 32, 32, Kind::Standard).unwrap();
    let error = pack.message(&mut Generator::new(), &spec).unwrap_err().to_string();
    assert!(error.contains("breaks a rule: limits") && error.contains(pack.reference()), "{error}");
    assert_ne!(spec.pack(), PackHash::BUILT_IN);
}

#[test]
fn an_authored_floor_comes_before_the_generator_and_stays_as_its_file_has_it() {
    let wasm = Source::good().wasm();
    let spec = FloorSpec::resolve(1, 1, 24, 20, Some(Kind::Maze)).unwrap();
    // As a program made it that had other rules: with a version, a metric and defaults of its own.
    let mut old = floor_wire::message(&floor_gen::generate(&spec));
    (old.generator_version, old.theme, old.landing) = (1, String::new(), None);
    old.metrics.as_mut().unwrap().loops += 1;
    let json = |floor: &v1::Floor| {
        let mut json = Vec::new();
        FLOOR.encode(&floor.encode_to_vec()[..], &mut json).unwrap();
        json
    };
    let (structure, text) = (("generator.toml", &b"checks = \"structure\"\n"[..]), json(&old));
    let mine = pack_with(&wasm, &[structure, ("floors/1.json", &text)]).unwrap();
    assert_eq!(mine.authored().map(|(path, _)| path).collect::<Vec<_>>(), ["floors/1.json"]);
    let drawn = floor(&mine, 7).unwrap();
    let resolved = v1::FloorSpec { seed: 7, pack: mine.reference().to_owned(), ..old.spec.clone().unwrap() };
    assert_eq!(drawn, v1::Floor { spec: Some(resolved), pack_hash: mine.pack().hash().0, ..old.clone() });
    // Of another size and of another number the generator makes the floor.
    for (number, side) in [(1, 16), (2, 0)] {
        let spec = mine.resolve(7, number, side, side, None).unwrap();
        let made = mine.message(&mut Generator::new(), &spec).unwrap();
        assert_eq!((spec.width(), made.theme.is_empty(), mine.is_authored(&spec)), (16, false, false));
    }

    let error = pack_with(&wasm, &[("floors/1.json", &text)]).unwrap_err();
    assert!(error.starts_with("floors/1.json: the floor breaks a rule: metric"), "{error}");
    old.exit = old.entry;
    let error = pack_with(&wasm, &[structure, ("floors/1.json", &json(&old))]).unwrap_err();
    assert_eq!(error, "floors/1.json: the exit is not the one cell StairsDown");
}

/// Bodies that each module has in one of its functions. `N` is a number that differs from module to module.
const HOSTILE: [&str; 20] = [
    "(loop br 0) unreachable",
    "(loop (drop (i64.mul (i64.const N) (i64.const N))) br 0) unreachable",
    "(local $x i64) (loop (local.set $x (i64.add (local.get $x) (i64.const N))) (i64.store (i32.const 0) (local.get $x)) br 0) unreachable",
    "(loop (drop (memory.grow (i32.const N))) br 0) unreachable",
    "(drop (memory.grow (i32.const 65000))) (loop br 0) unreachable",
    "(loop (memory.fill (i32.const 0) (i32.const N) (i32.const 100000)) br 0) unreachable",
    "(loop (memory.copy (i32.const 0) (i32.const 9) (i32.const 100000)) br 0) unreachable",
    "(drop (memory.grow (i32.const 900))) (loop (memory.fill (i32.const 0) (i32.const N) (i32.const 50000000)) br 0) unreachable",
    "(loop (drop (table.grow 0 (ref.null func) (i32.const N))) br 0) unreachable",
    "(call_indirect (i32.const N)) unreachable",
    "(call $deep) unreachable",
    "unreachable",
    "(drop (i64.div_s (i64.const N) (i64.const 0))) unreachable",
    "(drop (i64.load (i32.const 0x7fffffff))) unreachable",
    "(i64.store (i32.const -8) (i64.const N)) unreachable",
    "(drop (i32.trunc_f64_s (f64.const nan))) unreachable",
    "(drop (i32.div_s (i32.const 0x80000000) (i32.const -1))) unreachable",
    "(memory.init 0 (i32.const 0) (i32.const N) (i32.const 99999)) unreachable",
    "(call $wide (i64.const N)) unreachable",
    "(block (loop (br_if 0 (i32.const 1)))) unreachable",
];

/// Answers that are wrong, for functions that answer 64 bits.
fn answers(number: u64) -> [u64; 10] {
    [
        u64::MAX,
        u64::MAX >> 1,
        1 << 63,
        (1 << 63) | (0x7fff_ffff << 32) | number,
        (0x7fff_ffff << 32) | 5,
        (131_070 << 32) | (number + 3),
        AT << 32 | 0xffff_ffff,
        AT << 32 | (number % 200),
        (number << 32) | 60_000,
        1 << 62 | number,
    ]
}

fn hostile() -> Vec<(String, Vec<u8>)> {
    let helpers = "(table 4 funcref) (func $deep (call $deep)) (func $wide (param i64) (call $wide (local.get 0)))";
    let mut modules = Vec::new();
    let mut add = |what: String, edit: &dyn Fn(&mut Source)| {
        let mut source = Source::good();
        source.before = helpers.to_owned();
        edit(&mut source);
        modules.push((what, source.wasm()));
    };
    for number in 1..=7u64 {
        for body in HOSTILE {
            let body = body.replace('N', &number.to_string());
            // What ends a call only by the deadline takes a second each.
            if number > 1 && body.contains("grow") {
                continue;
            }
            add(format!("abi {body}"), &|source| source.abi.clone_from(&body));
            add(format!("input {body}"), &|source| source.input.clone_from(&body));
            add(format!("load {body}"), &|source| source.load.clone_from(&body));
            add(format!("resolve {body}"), &|source| source.resolve.clone_from(&body));
            add(format!("generate {body}"), &|source| source.generate.clone_from(&body));
            add(format!("start {body}"), &|source| source.before = format!("{helpers} (func $s {body}) (start $s)"));
        }
    }
    for number in (0..200).step_by(11) {
        for answer in answers(number) {
            let body = format!("(i64.const {})", answer as i64);
            add(format!("load {body}"), &|source| source.load.clone_from(&body));
            add(format!("resolve {body}"), &|source| source.resolve.clone_from(&body));
            add(format!("generate {body}"), &|source| source.generate.clone_from(&body));
        }
        add(format!("input {number}"), &|source| source.input = format!("(i32.const {})", -(number as i64) - 1));
        add(format!("abi {number}"), &|source| source.abi = format!("(i32.const {})", number + 2));
        add(format!("import {number}"), &|source| source.before = format!("(import \"env\" \"f{number}\" (func))"));
        add(format!("large {number}"), &|source| {
            source.memory = format!("(memory (export \"memory\") {})", 2000 + number);
        });
        add(format!("floor byte {number}"), &|source| {
            let at = number as usize % source.data.len();
            source.data[at] ^= 0xff;
        });
    }
    add("no memory".to_owned(), &|source| source.memory = "(memory 2)".to_owned());
    let good = Source::good().wasm();
    // A module with a changed byte is mostly none.
    modules.extend((8..good.len().min(160)).map(|at| {
        let mut broken = good.clone();
        broken[at] ^= 0x55;
        (format!("byte {at}"), broken)
    }));
    modules
}

/// Held by the test that measures memory, and by one that compiles something large.
static MEMORY: Mutex<()> = Mutex::new(());

/// The floor of a module that repeats `body` for ever: what its call ends with, and after how long.
fn endless(before: &str, body: &str) -> (String, Duration) {
    let mut source = Source::good();
    source.before = before.to_owned();
    source.generate = format!("(loop {body} br 0) unreachable");
    let pack = pack(&source.wasm()).unwrap();
    let started = Instant::now();
    let error = floor(&pack, 1).unwrap_err().to_string();
    (error, started.elapsed())
}

#[test]
fn a_time_limit_ends_what_lasts_long_for_its_fuel() {
    let _alone = MEMORY.lock();
    // Fuel counts instructions, and not what is copied between them: here 3,000 locals at each start of the loop.
    const LOCALS: usize = 3_000;
    let change = |local: usize| {
        let other = local * 7 % LOCALS + 1;
        format!("(local.set {local} (i64.add (local.get {local}) (local.get {other})))")
    };
    let (locals, body) = ("i64 ".repeat(LOCALS), (1..=LOCALS).map(change).collect::<String>());
    let function = format!("(func $f (param i32) (local {locals}) (loop (if (local.get 0) (then {body} (br 1)))))");
    // Nor what a loop costs that does not turn.
    for (before, body) in [(&*function, "(call $f (i32.const 0))"), ("", &*"(loop)".repeat(20_000))] {
        let (error, took) = endless(before, body);
        let ends = ["it has run too long", "it has used up its fuel"];
        assert!(ends.iter().any(|end| error.contains(&format!("floor_generate: {end}"))), "{error}");
        // A floor of 16x16 may take 0.18 s.
        assert!(took < Duration::from_secs(1), "{took:?}");
    }
}

/// The most memory that this process has used, in bytes.
fn peak() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<usize>().ok()).unwrap_or(0) << 10
}

#[test]
fn a_hostile_module_costs_only_its_own_calls() {
    let _alone = MEMORY.lock();
    let good = pack(&Source::good().wasm()).unwrap();
    let modules = hostile();
    assert!(modules.len() >= 1_000, "{}", modules.len());
    let (mut slowest, before) = (Duration::ZERO, peak());
    let mut harmless = Vec::new();
    for (what, wasm) in &modules {
        let started = Instant::now();
        let outcome = match pack(wasm) {
            Ok(pack) => (1..4).map(|seed| floor(&pack, seed)).find_map(Result::err).map(|error| error.to_string()),
            Err(error) => Some(error),
        };
        slowest = slowest.max(started.elapsed());
        match outcome {
            Some(error) => assert!(error.contains("generator") && error.len() < 1_000, "{what}: {error}"),
            None => harmless.push(what),
        }
        assert!(floor(&good, 1).is_ok(), "{what}");
    }
    // Bytes of names, and answers that happen to be right.
    assert!(harmless.len() < modules.len() / 10, "{harmless:?}");
    println!("{} modules, the slowest {slowest:?}, {} MiB more", modules.len(), (peak() - before) >> 20);
    // Three calls of at most their time each.
    assert!(slowest < Duration::from_secs(12), "{slowest:?}");
    assert!(peak() - before < 64 << 20, "{} MiB", (peak() - before) >> 20);
}

#[test]
fn however_many_packs_there_are_each_keeps_its_instances() {
    let mut source = Source::good();
    // Counts its calls: the width is the number of the request, the text of the refusal as long as that of the floor.
    source.before = "(global $n (mut i32) (i32.const 16))".to_owned();
    let count = "(global.set $n (i32.add (global.get $n) (i32.const 1)))";
    let counted = "(i64.extend_i32_u (global.get $n))";
    source.resolve = format!("{count} (i64.or (i64.const {}) {counted})", (Kind::Standard as u64) << 32 | 16 << 16);
    source.generate = format!("{count} (i64.or (i64.const {}) {counted})", 1 << 63 | AT << 32);
    source.data = b"x".repeat(99);
    let wasm = source.wasm();
    let packs = 2 * thread::available_parallelism().unwrap().get() + 2;
    let packs = (0..packs).map(|own| pack_with(&wasm, &[("own", own.to_string().as_bytes())]).unwrap());
    let packs = packs.collect::<Vec<_>>();
    // What reads the pack resolves a request.
    for call in 1..4 {
        for pack in &packs {
            let spec = pack.resolve(1, 1, 0, 0, None).unwrap();
            assert_eq!(spec.width(), 17 + call);
            match pack.message(&mut Generator::new(), &spec).unwrap_err() {
                ModuleError::Refused { text, .. } => assert_eq!(text.len(), 17 + usize::from(call)),
                error => panic!("{error}"),
            }
        }
    }
}

#[test]
fn a_module_that_fails_often_is_not_asked_for_a_while() {
    let mut source = Source::good();
    source.generate = "unreachable".to_owned();
    let pack = pack(&source.wasm()).unwrap();
    let errors = (0..21).map(|seed| floor(&pack, seed).unwrap_err()).collect::<Vec<_>>();
    let text = errors[0].to_string();
    assert!(
        text.contains(pack.reference()) && text.contains("floor_generate") && text.contains("unreachable"),
        "{text}"
    );
    assert!(
        matches!(errors[0], ModuleError::Fault { .. })
            && matches!(errors[19], ModuleError::Fault { .. })
            && matches!(&errors[20], ModuleError::Closed { fault, .. } if fault.contains("unreachable"))
    );
}
