//! How many there are of something, in words, as web/src/words.ts has them: `two skeletons, asleep`.

use std::collections::BTreeSet;

use floor_proto::v1::Behaviour;

use crate::counts::thousands;

const NUMBERS: [&str; 13] =
    ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
/// What is not counted by the piece.
const MASS: [&str; 20] = [
    "bread", "gold", "silver", "meat", "food", "oil", "water", "wine", "ale", "incense", "salt", "dust", "ash",
    "armour", "armor", "ink", "honey", "moss", "gravel", "straw",
];

/// `bread`, `spikes`, `a torn map`, `two torn maps`, `bread in two places`.
pub(crate) fn some(count: usize, name: &str) -> String {
    if let Some((what, of)) = name.split_once(" of ") {
        return format!("{} of {of}", some(count, what));
    }
    let is_mass = MASS.contains(&name.rsplit(' ').next().unwrap_or(name));
    let number = || NUMBERS.get(count).map_or_else(|| thousands(count as u64), |number| (*number).to_owned());
    match (is_mass, count) {
        (true, 1) => name.to_owned(),
        (false, 1) if plural(name) == name => name.to_owned(),
        (true, _) => format!("{name} in {} places", number()),
        (false, 1) => format!("{} {name}", if name.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }),
        (false, _) => format!("{} {}", number(), plural(name)),
    }
}

/// `lizardmen`, `witches`, `harpies`, `wolves`, `skeletons`. What has the form of several stays.
fn plural(name: &str) -> String {
    let before = |ending: &str| name.strip_suffix(ending).and_then(|rest| rest.chars().next_back());
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    if let Some(rest) = name.strip_suffix("man") {
        format!("{rest}men")
    } else if before("y").is_some_and(|letter| !"aeiou".contains(letter)) {
        format!("{}ies", &name[..name.len() - 1])
    } else if ends(&["wolf", "shelf", "calf", "half"]) {
        format!("{}ves", &name[..name.len() - 1])
    } else if before("s").is_some_and(|letter| !"su".contains(letter)) {
        name.to_owned()
    } else if ends(&["s", "x", "ch", "sh"]) {
        format!("{name}es")
    } else {
        format!("{name}s")
    }
}

/// What monsters are about: `asleep or on patrol`. Empty for more than two.
pub(crate) fn states(behaviours: impl Iterator<Item = Behaviour>) -> String {
    let all = behaviours.collect::<BTreeSet<_>>();
    let words = all.iter().map(|behaviour| state(*behaviour)).filter(|words| !words.is_empty()).collect::<Vec<_>>();
    if words.len() > 2 { String::new() } else { words.join(" or ") }
}

/// What a monster is about. Empty if its behaviour is unknown.
pub(crate) const fn state(behaviour: Behaviour) -> &'static str {
    match behaviour {
        Behaviour::Unspecified => "",
        Behaviour::Sleeps => "asleep",
        Behaviour::Guards => "on guard",
        Behaviour::Patrols => "on patrol",
        Behaviour::Wanders => "wandering",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_are_counted_as_people_count() {
        let all = [(1, "ogre"), (2, "lizardman"), (12, "bog witch"), (13, "harpy"), (3, "spikes"), (2, "wolf")];
        let words = ["an ogre", "two lizardmen", "twelve bog witches", "13 harpies", "three spikes", "two wolves"];
        assert_eq!(all.map(|(count, name)| some(count, name)), words);
        assert_eq!([some(1, "bread"), some(1, "darts")], ["bread", "darts"]);
        assert_eq!([some(2, "fine oil"), some(2, "wall of skulls")], ["fine oil in two places", "two walls of skulls"]);
    }
}
