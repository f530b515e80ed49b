//! Horizontal bar charts with intervals, as SVG. The command `ablation` writes them beside its records.

use std::fmt::Write as _;

/// One bar.
#[derive(Debug, Clone)]
pub struct Bar {
    /// The label; bars with the same label have the same colour.
    pub label: String,
    /// The value that the bar's length shows.
    pub value: f64,
    /// Half of the interval around `value`.
    pub half_interval: f64,
}

/// In pixels: from the left edge to the bars, the longest bar, the height of a bar's row, the gap between groups.
const LEFT: f64 = 190.0;
const LENGTH: f64 = 520.0;
const ROW_HEIGHT: f64 = 18.0;
const GAP: f64 = 34.0;

/// Six colours that colour-blind readers can tell apart (Okabe and Ito, "Color Universal Design", 2008).
const COLOURS: [&str; 6] = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00"];

/// The SVG text of a chart: named groups of bars, all to one scale.
#[must_use]
pub fn svg(title: &str, groups: &[(String, Vec<Bar>)]) -> String {
    let bars = groups.iter().flat_map(|(_, bars)| bars);
    let longest = bars.clone().map(|bar| bar.value + bar.half_interval).fold(f64::MIN_POSITIVE, f64::max);
    let height = GAP + groups.len() as f64 * GAP + bars.count() as f64 * ROW_HEIGHT + ROW_HEIGHT;
    let width = LEFT + LENGTH + 90.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n<text x=\"10\" y=\"20\" \
         font-size=\"14\">{}</text>\n",
        escaped(title)
    );
    let mut labels: Vec<&str> = Vec::new();
    let mut y = GAP;
    for (name, bars) in groups {
        let _ = writeln!(out, "<text x=\"10\" y=\"{}\" font-weight=\"bold\">{}</text>", y + 20.0, escaped(name));
        y += GAP;
        for bar in bars {
            let index = labels.iter().position(|label| *label == bar.label).unwrap_or_else(|| {
                labels.push(&bar.label);
                labels.len() - 1
            });
            write_bar(&mut out, bar, COLOURS[index % COLOURS.len()], y, LENGTH / longest);
            y += ROW_HEIGHT;
        }
    }
    out.push_str("</svg>\n");
    out
}

fn write_bar(out: &mut String, bar: &Bar, colour: &str, y: f64, scale: f64) {
    let (end, half) = (LEFT + bar.value * scale, bar.half_interval * scale);
    let middle = y + ROW_HEIGHT / 2.0 - 2.0;
    let _ = writeln!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n<rect x=\"{LEFT}\" y=\"{y:.1}\" width=\"{:.1}\" \
         height=\"{}\" fill=\"{colour}\"/>\n<path d=\"M{:.1} {middle:.1}H{:.1}\" stroke=\"black\"/>\n<text x=\"{:.1}\" \
         y=\"{:.1}\">{:.0}</text>",
        LEFT - 6.0,
        y + 12.0,
        escaped(&bar.label),
        end - LEFT,
        ROW_HEIGHT - 4.0,
        end - half,
        end + half,
        end + half + 6.0,
        y + 12.0,
        bar.value,
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_bar_fills_the_width_and_labels_share_colours() {
        let bar = |label: &str, value| Bar { label: label.to_owned(), value, half_interval: 0.0 };
        let groups =
            [("one".to_owned(), vec![bar("a<b", 10.0), bar("c", 5.0)]), ("two".to_owned(), vec![bar("a<b", 5.0)])];
        let picture = svg("title", &groups);
        assert!(picture.contains("width=\"520.0\""), "{picture}");
        assert_eq!(picture.matches("width=\"260.0\"").count(), 2);
        assert_eq!(picture.matches(COLOURS[0]).count(), 2);
        assert!(picture.contains("a&lt;b") && !picture.contains("a<b"));
    }
}
