//! Suggests a name for a misspelled word.

/// The name that is most similar to a word. `None` if no name is similar enough to suggest.
pub fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let similar =
        names.map(|name| (strsim::jaro_winkler(name, &word), name)).filter(|(similarity, _)| *similarity > 0.8);
    similar.max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, name)| name)
}
