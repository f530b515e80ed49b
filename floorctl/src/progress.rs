//! A progress bar on stderr. It is hidden if stderr is not a terminal.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar for `floors` floors, with the rate and the remaining time.
pub(crate) fn bar(verb: &'static str, floors: u64) -> ProgressBar {
    let style = ProgressStyle::with_template(
        "{msg} {bar:30.cyan/dim} {human_pos}/{human_len} floors  {per_sec:.cyan}  {eta} to go",
    )
    .expect("the template is well formed")
    .progress_chars("━╸─");
    ProgressBar::new(floors).with_style(style).with_message(verb)
}
