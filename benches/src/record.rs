//! Reads the tables of a record, which is what a report printed. The command `figures` draws them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context;

use crate::figure::Estimate;

/// The text of a record.
#[derive(Debug)]
pub struct Record(String);

impl Record {
    /// The newest of the records `DAY/NAME.md` in `records`.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    pub fn newest(records: &Path, name: &str) -> anyhow::Result<Self> {
        let days = fs::read_dir(records).with_context(|| format!("cannot read {}", records.display()))?;
        let files = days.filter_map(|day| Some(day.ok()?.path().join(name).with_extension("md")));
        let newest: Option<PathBuf> = files.filter(|file| file.exists()).max();
        let newest = newest.with_context(|| format!("{} has no record DAY/{name}.md", records.display()))?;
        Ok(Self(fs::read_to_string(&newest).with_context(|| format!("cannot read {}", newest.display()))?))
    }

    /// The headings of the loads.
    pub fn loads(&self) -> impl Iterator<Item = &str> {
        self.0.lines().filter_map(|line| line.strip_prefix("### "))
    }

    /// The figures in `column` of the table of `load`, by the names of their rows.
    ///
    /// # Errors
    /// When there is no such table, it has no such column, or a cell of it is no figure.
    pub fn column(&self, load: &str, column: &str) -> anyhow::Result<Vec<(&str, Estimate)>> {
        let missing = || format!("the record has no column {column:?} under {load:?}");
        let lines = self.0.lines().skip_while(|line| line.strip_prefix("### ") != Some(load));
        let mut rows = lines.skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
        let at = rows.next().and_then(|header| cells(header).position(|cell| cell == column)).with_context(missing)?;
        // After the header is a line of dashes.
        let figure = |row: &'_ str| cells(row).nth(at).and_then(estimate).with_context(missing);
        rows.skip(1).map(|row| Ok((cells(row).next().unwrap_or_default(), figure(row)?))).collect()
    }
}

fn cells(row: &str) -> impl Iterator<Item = &str> {
    row.trim().trim_start_matches('|').split('|').map(str::trim)
}

/// Parses `46` or `46 (44 .. 48)`.
fn estimate(text: &str) -> Option<Estimate> {
    let (value, range) = text.split_once(" (").unwrap_or((text, ""));
    let value = value.parse().ok()?;
    let Some((low, high)) = range.trim_end_matches(')').split_once(" .. ") else {
        return range.is_empty().then_some(Estimate { value, low: value, high: value });
    };
    Some(Estimate { value, low: low.parse().ok()?, high: high.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_found_by_load_column_and_row() {
        let record = Record(
            "# T\n\n### 1x1\n\n|  | p50 us |\n|---|---|\n| ours | 7 |\n\n### 8x1\n\n|  | answers/s | p50 us |\n\
             |---|---|---|\n| ours | 45079 (42856 .. 47973) | 58 |\n| a peer | 12 (10 .. 13) | 9 |\n"
                .to_owned(),
        );
        assert_eq!(record.loads().collect::<Vec<_>>(), ["1x1", "8x1"]);
        let expected = [("ours", 45079.0, 42856.0, 47973.0), ("a peer", 12.0, 10.0, 13.0)]
            .map(|(name, value, low, high)| (name, Estimate { value, low, high }));
        assert_eq!(record.column("8x1", "answers/s").unwrap(), expected);
        assert_eq!(record.column("1x1", "p50 us").unwrap(), [("ours", Estimate { value: 7.0, low: 7.0, high: 7.0 })]);
        for (load, column) in [("1x1", "answers/s"), ("9x9", "p50 us")] {
            assert!(record.column(load, column).unwrap_err().to_string().contains(load));
        }
    }
}
