//! Metrics of the server, read from the text format of Prometheus.

use anyhow::Context as _;

/// The text of `/metrics`.
pub(crate) struct Metrics(String);

impl Metrics {
    pub(crate) const fn new(text: String) -> Self {
        Self(text)
    }

    /// The sum over the series of `name` whose labels contain `labels`, such as `rpc="GetFloor"`. Fails if there is none.
    pub(crate) fn sum(&self, name: &str, labels: &str) -> anyhow::Result<f64> {
        let values = self.0.lines().filter_map(|line| {
            let (series, value) = line.rsplit_once(' ')?;
            let own_labels = series.strip_prefix(name)?;
            let is_named_so = own_labels.is_empty() || own_labels.starts_with('{');
            (is_named_so && own_labels.contains(labels)).then(|| value.parse::<f64>().ok())?
        });
        values.reduce(|sum, value| sum + value).with_context(|| format!("the server has no metric {name}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_found_by_name_and_labels() {
        let metrics = Metrics::new(
            "# TYPE calls counter\ncalls{rpc=\"A\",code=\"OK\"} 2\ncalls{rpc=\"B\"} 40\ncalls_more 9\ncpu 1.5\n"
                .to_owned(),
        );
        assert_eq!(metrics.sum("calls", "").unwrap(), 42.0);
        assert_eq!(metrics.sum("calls", "rpc=\"A\"").unwrap(), 2.0);
        assert_eq!(metrics.sum("cpu", "").unwrap(), 1.5);
        assert_eq!(metrics.sum("cp", "").unwrap_err().to_string(), "the server has no metric cp");
    }
}
