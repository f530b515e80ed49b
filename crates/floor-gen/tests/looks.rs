//! Looks of themes: that each can be told from the others, and that all ground can be told from the ground beside it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use floor_gen::Pack;
use floor_gen::pack::{Files, Hatch, Look, Paint};

/// A vault for packs without those of the tower.
const VAULT: &str = "name: den\nmap:\n#####\n#.$.@\n#####\n";

fn read(toml: &str) -> Result<Pack, String> {
    let mut files = Files::new();
    files.insert("pack.toml", toml.as_bytes()).unwrap();
    files.insert("vaults/den.txt", VAULT.as_bytes()).unwrap();
    Pack::read(files).map_err(|errors| errors.to_string())
}

fn channels(colour: u32) -> [f64; 3] {
    [16, 8, 0].map(|shift| {
        let value = f64::from(colour >> shift & 0xff) / 255.0;
        if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    })
}

/// The relative luminance of WCAG 2.2.
fn luminance(colour: u32) -> f64 {
    let [red, green, blue] = channels(colour);
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/// The contrast ratio of WCAG 2.2, from 1 to 21.
fn contrast(a: u32, b: u32) -> f64 {
    let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
    a.max(b) / a.min(b)
}

/// CIELAB of a colour under D65.
fn lab(colour: u32) -> [f64; 3] {
    let [red, green, blue] = channels(colour);
    let xyz = [
        (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505,
        luminance(colour),
        (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089,
    ];
    let [x, y, z] = xyz.map(|t| if t > 0.008_856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 });
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

/// The distance of two colours in CIELAB: about 2 is just visible.
fn distance(a: u32, b: u32) -> f64 {
    lab(a).into_iter().zip(lab(b)).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

/// The built-in pack, and the example.
fn packs() -> [Pack; 2] {
    let tower = Pack::read(Pack::tower().files().clone()).unwrap();
    [tower, read(include_str!("../../../packs/drowned-library/pack.toml")).unwrap()]
}

fn own_looks(pack: &Pack) -> Vec<(&str, Look)> {
    let looks = pack.themes().iter().map(|theme| (theme.name(), theme.look()));
    looks.filter(|(_, look)| *look != Look::default()).collect()
}

#[test]
fn all_ground_of_a_look_differs() {
    use Paint::{Chasm, Deep, Floor, Grass, Ink, Lava, Rock, Shallow, Wall};
    for pack in packs() {
        for (name, look) in own_looks(&pack) {
            let contrast = |a, b| contrast(look.colour(a), look.colour(b));
            assert!(contrast(Rock, Wall) >= 1.8, "{name}: rock and wall {:.2}", contrast(Rock, Wall));
            assert!(contrast(Wall, Floor) >= 1.8, "{name}: wall and floor {:.2}", contrast(Wall, Floor));
            for ground in [Floor, Shallow, Grass, Lava] {
                let ratio = contrast(ground, Ink);
                assert!(ratio >= 4.5, "{name}: what is written on {ground:?} has a contrast of {ratio:.2}");
            }
            let ground = [Rock, Wall, Floor, Shallow, Deep, Lava, Grass, Chasm];
            for (i, a) in ground.into_iter().enumerate() {
                for b in ground.into_iter().skip(i + 1) {
                    let distance = distance(look.colour(a), look.colour(b));
                    assert!(distance >= 14.0, "{name}: {a:?} and {b:?} are {distance:.1} apart");
                }
            }
        }
    }
}

#[test]
fn each_theme_can_be_told_from_the_others() {
    for pack in packs() {
        let looks = own_looks(&pack);
        assert!(looks.len() >= 5, "{}", looks.len());
        for (i, (name, look)) in looks.iter().enumerate() {
            for (other_name, other) in &looks[..i] {
                let apart = |paint| distance(look.colour(paint), other.colour(paint));
                let sum = apart(Paint::Floor) + apart(Paint::Wall);
                assert!(sum >= 20.0, "{name} and {other_name} are {sum:.1} apart");
            }
        }
    }
    assert_eq!(own_looks(Pack::tower()).len(), 7, "every theme of the tower has a look");
}

#[test]
fn a_theme_says_what_differs() {
    let pack = read("name = \"mine\"\n[themes.crypt.look]\nfloor = \"#FFeedd\"\nhatch = \"dots\"\n").unwrap();
    let (look, tower) = (pack.look("crypt"), Pack::tower().look("crypt"));
    assert_eq!((look.colour(Paint::Floor), look.hatch), (0xff_eedd, Hatch::Dots));
    assert_eq!(look.colour(Paint::Wall), tower.colour(Paint::Wall), "the rest is that of the tower");
    assert_eq!(pack.look("mire"), Pack::tower().look("mire"));
    assert_eq!(pack.look("no theme"), Look::default());
}

#[test]
fn a_wrong_look_is_an_error_with_its_place() {
    let errors = read("name = \"mine\"\n[themes.crypt.look]\nflor = \"#ffffff\"\nwall = \"grey\"\nrock = \"#+12345\"\ndeep = 3\nhatch = \"dot\"\n").unwrap_err();
    insta::assert_snapshot!(errors, @r##"
    pack.toml:3:1: `themes.crypt.look` has no key `flor`; expected one of `hatch`, `rock`, `wall`, `floor`, `shallow`, `deep`, `lava`, `grass`, `chasm`, `ink` (did you mean `floor`?)
    pack.toml:4:8: `themes.crypt.look.wall` is "grey"; expected a colour such as "#a39782"
    pack.toml:5:8: `themes.crypt.look.rock` is "#+12345"; expected a colour such as "#a39782"
    pack.toml:6:8: `themes.crypt.look.deep` is 3; expected a colour such as "#a39782"
    pack.toml:7:9: `themes.crypt.look.hatch` is "dot"; expected one of `plain`, `strokes`, `dots`, `waves`, `bricks`, `shards`, `lines` (did you mean `dots`?)
    "##);
}
