//! Pictures of figures, as SVG for light and dark pages. Reports and the command `figures` draw them.
//!
//! Text has the page's colour, and the colours of marks have a contrast of at least 3 to both. Lines also differ in
//! dash and marker, and each has its name at its end.

use std::{f64::consts::TAU, iter, ops::Range};

use plotters::{
    coord::{
        Shift,
        cartesian::Cartesian2d,
        ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter},
    },
    element::DashedPathElement,
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};

/// A figure and the ends of its interval or range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The mean or the median.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// A picture.
#[derive(Debug)]
pub struct Figure {
    /// The name of its file, without `.svg`.
    pub name: &'static str,
    /// The picture.
    pub svg: String,
}

/// What a picture is called, and says to those who do not see it.
#[derive(Debug)]
pub struct Caption {
    /// The name of its file, without `.svg`.
    pub name: &'static str,
    /// The heading.
    pub title: &'static str,
    /// What the axes or the bars are, with their units.
    pub axes: &'static str,
}

/// Bars, in groups.
#[derive(Debug)]
pub struct Bars {
    /// The caption.
    pub caption: Caption,
    /// The heading of each group, or an empty one, and its bars.
    pub groups: Vec<(String, Vec<Bar>)>,
}

/// A bar.
#[derive(Debug)]
pub struct Bar {
    /// Its name, to the left.
    pub name: String,
    /// Its length.
    pub estimate: Estimate,
    /// The same in words, to the right.
    pub text: String,
    /// Whether it stands out.
    pub is_marked: bool,
}

/// Lines in panels side by side, which have the same axes.
#[derive(Debug)]
pub struct Lines {
    /// The caption.
    pub caption: Caption,
    /// What the horizontal axis is, with its unit.
    pub x_title: &'static str,
    /// The labels of the horizontal axis, with their places from left to right.
    pub x_labels: Vec<(f64, String)>,
    /// A label of the vertical axis, which is logarithmic.
    pub y_label: fn(f64) -> String,
    /// The heading of each panel, or an empty one, and its lines.
    pub panels: Vec<(String, Vec<Line>)>,
}

/// A line.
#[derive(Debug)]
pub struct Line {
    /// Its name.
    pub name: String,
    /// Its points, from left to right.
    pub points: Vec<(f64, Estimate)>,
}

/// An axis with its labels.
struct Axis {
    is_logarithmic: bool,
    /// Of a logarithmic axis, the range of the logarithms.
    range: Range<f64>,
    labels: Vec<(f64, String)>,
}

/// The style of a line: its colour, its dash in pixels, and the corners of its markers with their rotation in parts of
/// a turn. A line without dashes has rings, in which the marker of a line below it can be seen.
type Style = (RGBColor, u32, usize, f64);

type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Axis, Axis>>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

const WIDTH: u32 = 880;
/// The height of lines, with the caption.
const HEIGHT: u32 = 380;
/// Sizes of letters. plotters divides them by 1.24 for pixels.
const TITLE: i32 = 20;
const TEXT: i32 = 16;
const LABEL: i32 = 15;
/// The height of the caption.
const CAPTION: i32 = 54;

/// The colour of text and axes. plotters writes a colour, and [`Figure::draw`] makes it that of the page.
const INK: RGBColor = BLACK;
const ORDINARY: RGBColor = RGBColor(0x3b, 0x82, 0xd6);
const MARKED: RGBColor = RGBColor(0xc2, 0x69, 0x0a);

/// The styles of lines, in their order.
const STYLES: [Style; 5] = [
    (MARKED, 0, 0, 0.0),
    (ORDINARY, 7, 4, 0.125),
    (RGBColor(0x2e, 0x8b, 0x57), 3, 3, 0.25),
    (RGBColor(0x9a, 0x5f, 0xd0), 12, 4, 0.0),
    (RGBColor(0x80, 0x88, 0x90), 5, 3, 0.75),
];

impl Figure {
    fn draw(caption: &Caption, height: u32, draw: impl FnOnce(&Area<'_>) -> Drawn) -> anyhow::Result<Self> {
        let Caption { name, title, axes } = caption;
        let mut svg = String::new();
        let root = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        root.draw(&Text::new(*title, (0, 2), text(TITLE, FontStyle::Bold, HPos::Left, VPos::Top)))?;
        root.draw(&Text::new(*axes, (0, 26), text(TEXT, FontStyle::Normal, HPos::Left, VPos::Top)))?;
        draw(&root)?;
        root.present()?;
        drop(root);
        let body = svg.replace("\"#000000\"", "\"currentColor\"");
        let body = body.split_once(">\n").map_or("", |(_, body)| body);
        let (title, axes) = (escaped(title), escaped(axes));
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"figure\" role=\"img\" width=\"{WIDTH}\" \
             height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\">\n<title>{title}</title>\n<desc>{axes}</desc>\n\
             <style>.figure {{ color: #1f2328 }} @media (prefers-color-scheme: dark) {{ .figure {{ color: \
             #e6edf3 }} }}</style>\n{body}"
        );
        Ok(Self { name, svg })
    }
}

/// `text` as HTML and SVG have it.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn text(size: i32, style: FontStyle, horizontal: HPos, vertical: VPos) -> TextStyle<'static> {
    ("sans-serif", size, style).into_text_style(&(WIDTH, HEIGHT)).color(&INK).pos(Pos::new(horizontal, vertical))
}

impl Bars {
    /// Draws them on a scale from 0.
    ///
    /// # Errors
    /// None that is known: the picture is drawn in memory.
    pub fn draw(&self) -> anyhow::Result<Figure> {
        /// The places of names and of the text to the right, and the distances of rows and groups.
        const NAMES: i32 = 170;
        const TEXTS: i32 = 130;
        const ROW: i32 = 21;
        const GROUP: i32 = 12;
        const THICKNESS: i32 = 15;
        let bars = || self.groups.iter().flat_map(|(_, bars)| bars);
        let most = bars().map(|bar| bar.estimate.high.max(bar.estimate.value)).fold(0.0, f64::max);
        let at = |value: f64| NAMES + (value / most * f64::from(WIDTH as i32 - NAMES - TEXTS)) as i32;
        let headings = self.groups.iter().filter(|(heading, _)| !heading.is_empty()).count();
        let rows = (bars().count() + headings) as i32 * ROW + self.groups.len() as i32 * GROUP;
        Figure::draw(&self.caption, (CAPTION + rows) as u32, |root| {
            let mut top = CAPTION;
            for (heading, bars) in &self.groups {
                if !heading.is_empty() {
                    root.draw(&Text::new(
                        heading.as_str(),
                        (0, top),
                        text(TEXT, FontStyle::Bold, HPos::Left, VPos::Top),
                    ))?;
                    top += ROW;
                }
                for Bar { name, estimate, text: words, is_marked } in bars {
                    let (middle, weight) =
                        (top + THICKNESS / 2, if *is_marked { FontStyle::Bold } else { FontStyle::Normal });
                    let label = |horizontal| text(TEXT, weight, horizontal, VPos::Center);
                    root.draw(&Text::new(name.as_str(), (NAMES - 8, middle), label(HPos::Right)))?;
                    let colour = if *is_marked { MARKED } else { ORDINARY };
                    let ends = [(NAMES, top), (at(estimate.value), top + THICKNESS)];
                    root.draw(&Rectangle::new(ends, colour.filled()))?;
                    root.draw(&PathElement::new(vec![(at(estimate.low), middle), (at(estimate.high), middle)], INK))?;
                    let right = at(estimate.high.max(estimate.value)) + 8;
                    root.draw(&Text::new(words.as_str(), (right, middle), label(HPos::Left)))?;
                    top += ROW;
                }
                top += GROUP;
            }
            Ok(())
        })
    }
}

impl Lines {
    /// Draws them.
    ///
    /// # Errors
    /// None that is known: the picture is drawn in memory.
    pub fn draw(&self) -> anyhow::Result<Figure> {
        Figure::draw(&self.caption, HEIGHT, |root| {
            let areas = root.margin(CAPTION, 0, 0, 0).split_evenly((1, self.panels.len()));
            let panels = areas.iter().zip(&self.panels);
            panels.into_iter().try_for_each(|(area, (heading, lines))| self.panel(root, area, heading, lines))
        })
    }

    fn panel(&self, root: &Area<'_>, area: &Area<'_>, heading: &str, lines: &[Line]) -> Drawn {
        /// Pixels of a character of a name, from a line's end to its name, and from one name to the next.
        const CHARACTER: usize = 8;
        const GAP: i32 = 14;
        const NAME: i32 = 16;
        /// Pixels above the axes, in which the heading is, and to the left.
        const HEADING: i32 = 26;
        const Y_LABELS: i32 = 66;
        // Above the axis, unless it would end outside.
        let room = area.dim_in_pixel().0 as i32 - (heading.len() * CHARACTER) as i32;
        let at = (Y_LABELS.min(room.max(0)), 2);
        area.draw(&Text::new(heading, at, text(TEXT, FontStyle::Bold, HPos::Left, VPos::Top)))?;
        let longest = lines.iter().map(|line| line.name.len()).max().unwrap_or_default();
        let mut chart = ChartBuilder::on(area)
            .margin_right((longest * CHARACTER) as i32 + GAP)
            .x_label_area_size(44)
            .y_label_area_size(Y_LABELS)
            .margin_top(if heading.is_empty() { 8 } else { HEADING })
            .build_cartesian_2d(self.x_axis(), self.y_axis())?;
        let label = text(LABEL, FontStyle::Normal, HPos::Center, VPos::Center);
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(INK.mix(0.15))
            .axis_style(INK.mix(0.5))
            .label_style(label.clone())
            .axis_desc_style(label)
            .x_desc(self.x_title)
            .draw()?;
        let mut ends = Vec::new();
        // The first line is drawn last, above the others.
        for (line, style) in lines.iter().zip(STYLES).rev() {
            line.draw(&mut chart, style)?;
            let weight = if style.1 == 0 { FontStyle::Bold } else { FontStyle::Normal };
            ends.extend(line.points.last().map(|(x, y)| (chart.backend_coord(&(*x, y.value)), &line.name, weight)));
        }
        ends.sort_by_key(|((_, y), ..)| *y);
        let mut free = 0;
        for ((x, y), name, weight) in ends {
            let at = (x + GAP, y.max(free));
            root.draw(&Text::new(name.as_str(), at, text(TEXT, weight, HPos::Left, VPos::Center)))?;
            free = at.1 + NAME;
        }
        Ok(())
    }

    fn x_axis(&self) -> Axis {
        /// The space beside the outer points, as a part of the axis.
        const SPACE: f64 = 0.08;
        let (first, last) = (self.x_labels[0].0, self.x_labels[self.x_labels.len() - 1].0);
        let space = (last - first) * SPACE;
        Axis { is_logarithmic: false, range: first - space..last + space, labels: self.x_labels.clone() }
    }

    fn y_axis(&self) -> Axis {
        let points = || self.panels.iter().flat_map(|(_, lines)| lines).flat_map(|line| &line.points);
        let most = points().map(|(_, y)| y.high).fold(f64::MIN, f64::max);
        let round = (0..12).flat_map(|decade| [1.0, 2.0, 5.0].map(|step| step * 10_f64.powi(decade)));
        let least = points().map(|(_, y)| y.low).fold(f64::MAX, f64::min);
        let range = least.log10() - 0.1..most.log10() + 0.1;
        let labels = round.filter(|y| range.contains(&y.log10())).map(|y| (y, (self.y_label)(y))).collect();
        Axis { is_logarithmic: true, range, labels }
    }
}

impl Line {
    fn draw(&self, chart: &mut Chart<'_, '_>, (colour, dash, corners, turn): Style) -> Drawn {
        /// Pixels of a ring, of a marker and of strokes.
        const RING: i32 = 8;
        const MARKER: f64 = 5.5;
        const WIDTH: u32 = 2;
        let stroke = colour.stroke_width(WIDTH);
        let points: Vec<(f64, f64)> = self.points.iter().map(|(x, y)| (*x, y.value)).collect();
        let range = |(x, y): &(f64, Estimate)| PathElement::new(vec![(*x, y.low), (*x, y.high)], colour);
        chart.draw_series(self.points.iter().map(range))?;
        if dash == 0 {
            chart.draw_series(points.iter().map(|at| Circle::new(*at, RING, stroke)))?;
            chart.draw_series(iter::once(PathElement::new(points, stroke)))?;
            return Ok(());
        }
        let corner = |number: usize| {
            let angle = TAU * (number as f64 / corners as f64 + turn);
            ((MARKER * angle.cos()).round() as i32, (-MARKER * angle.sin()).round() as i32)
        };
        let marker = || Polygon::new((0..corners).map(corner).collect::<Vec<_>>(), colour.filled());
        chart.draw_series(points.iter().map(|at| EmptyElement::at(*at) + marker()))?;
        chart.draw_series(iter::once(DashedPathElement::new(points, dash, dash / 2 + WIDTH, stroke)))?;
        Ok(())
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (first, last): (i32, i32)) -> i32 {
        let place = if self.is_logarithmic { value.log10() } else { *value };
        let share = (place - self.range.start) / (self.range.end - self.range.start);
        first + (share * f64::from(last - first)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        // Without light lines between the labels.
        if hint.weight().allow_light_points() { Vec::new() } else { self.labels.iter().map(|(at, _)| *at).collect() }
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        self.labels.iter().find(|(at, _)| at == value).map_or_else(String::new, |(_, label)| label.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(ends: [f64; 2]) -> String {
        let line = |(name, end): (&str, f64)| {
            let point = |x, value| (x, Estimate { value, low: value * 0.9, high: value * 1.1 });
            Line { name: name.to_owned(), points: vec![point(1.0, 100.0), point(2.0, end)] }
        };
        let lines = Lines {
            caption: Caption { name: "test", title: "A <title>", axes: "in us" },
            x_title: "cores",
            x_labels: [1.0, 2.0].map(|x| (x, format!("at {x}"))).into(),
            y_label: |y| format!("{y:.0} us"),
            panels: vec![(String::new(), ["one", "other"].into_iter().zip(ends).map(line).collect())],
        };
        lines.draw().unwrap().svg
    }

    /// The vertical place of a text.
    fn place(svg: &str, text: &str) -> i32 {
        let (before, _) = svg.split_once(&format!("\n{text}\n")).unwrap_or_else(|| panic!("no {text} in\n{svg}"));
        before.rsplit(" y=\"").next().unwrap().split('"').next().unwrap().parse().unwrap()
    }

    #[test]
    fn lines_have_labels_in_the_colour_of_the_page_and_names_that_do_not_overlap() {
        let svg = lines([500.0, 500.0]);
        assert!((place(&svg, "one") - place(&svg, "other")).abs() >= 16, "{svg}");
        assert!(place(&svg, "500 us") < place(&svg, "100 us") && svg.contains("\nat 2\n"), "{svg}");
        assert!(svg.contains("<title>A &lt;title&gt;</title>") && !svg.contains("#000000"), "{svg}");
        let svg = lines([500.0, 200.0]);
        assert!(place(&svg, "one") < place(&svg, "other"), "the greater is above\n{svg}");
    }
}
