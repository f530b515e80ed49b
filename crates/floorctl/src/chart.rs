//! Figures drawn in block characters: values over time, shares, and a histogram of latencies.

use hdrhistogram::Histogram;
use indicatif::HumanCount;

const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Bars of one to seven eighths of a character.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// Rows of a histogram, and the characters of its longest bar.
const ROWS: usize = 12;
const BAR: usize = 30;

/// A character for each value, by its share of `most`; a space where there is none.
pub(crate) fn sparkline(values: impl IntoIterator<Item = Option<f64>>, most: f64) -> String {
    let height = |value: f64| HEIGHTS[((value / most * 8.0).ceil() as usize).clamp(1, 8) - 1];
    values.into_iter().map(|value| value.map_or(' ', height)).collect()
}

/// A bar for `share`, from 0 to 1, of at most `width` characters. Only that of 0 is empty.
fn bar(share: f64, width: usize) -> String {
    let eighths = (share * width as f64 * 8.0).ceil() as usize;
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// A line for each of at most [`ROWS`] ranges of latencies in microseconds, with its upper end and its share. Each range
/// ends at the same multiple of the one before. Without latencies there is no line.
pub(crate) fn histogram(latency: &Histogram<u64>) -> Vec<String> {
    let (min, max) = (latency.min().max(1), latency.max().max(1));
    let end = |row: usize| (min as f64 * (max as f64 / min as f64).powf(row as f64 / ROWS as f64)).round() as u64;
    let mut ends: Vec<_> = (1..ROWS).map(end).chain([max]).collect();
    ends.dedup();
    let mut counts = vec![0; ends.len()];
    for recorded in latency.iter_recorded() {
        let row = ends.partition_point(|end| *end < recorded.value_iterated_to());
        counts[row.min(ends.len() - 1)] += recorded.count_at_value();
    }
    let most = counts.iter().max().copied().unwrap_or_default() as f64;
    let line = |(end, count): (&u64, &u64)| {
        let (end, share) = (HumanCount(*end).to_string(), 100.0 * *count as f64 / latency.len() as f64);
        format!("to {end:>10} us  {:<BAR$}  {share:>5.1} %", bar(*count as f64 / most, BAR))
    };
    if latency.is_empty() { Vec::new() } else { ends.iter().zip(&counts).map(line).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparkline_shows_shares_of_the_most_and_gaps() {
        assert_eq!(sparkline([0.0, 1.0, 2.0, 40.0, 79.0, 80.0].map(Some), 80.0), "▁▁▁▄██");
        assert_eq!(sparkline([Some(8.0), None, Some(1.0)], 8.0), "█ ▁");
        assert_eq!(sparkline([Some(0.0)], 0.0), "▁", "nothing happened");
    }

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        assert_eq!([0.0, 0.001, 0.5, 0.9, 1.0].map(|share| bar(share, 4)), ["", "▏", "██", "███▋", "████"]);
    }

    #[test]
    fn every_latency_is_in_one_row() {
        let mut latency = Histogram::new_with_max(60_000_000, 3).unwrap();
        assert_eq!(histogram(&latency), Vec::<String>::new());
        latency.record(200).unwrap();
        assert_eq!(histogram(&latency), ["to        200 us  ██████████████████████████████  100.0 %"]);
        latency.record_n(205, 3).unwrap();
        latency.record_n(900, 4).unwrap();
        latency.record_n(819_000, 1).unwrap();
        let expected = [
            "to        400 us  ██████████████████████████████   44.4 %",
            "to        800 us                                    0.0 %",
            "to      1,600 us  ██████████████████████████████   44.4 %",
        ];
        let lines = histogram(&latency);
        assert_eq!(lines[..3], expected, "{lines:#?}");
        assert_eq!(
            (lines.len(), lines[11].as_str()),
            (12, "to    819,199 us  ███████▌                         11.1 %")
        );
    }
}
