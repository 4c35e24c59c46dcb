//! Colours of drawings: fixed ones on white, or the colours of the page's style.

use crate::model::shown::escaped;

/// The colours of a drawing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Palette {
    pub ground: &'static str,
    /// Colour of text, if it is not black.
    ink: Option<&'static str>,
    pub axis: &'static str,
    pub grid: &'static str,
    /// Colour of decisive parts: the steps on a critical path, the bound of a score.
    pub critical: &'static str,
    pub critical_soft: &'static str,
    /// Further attribute for the edge of a step on a critical path.
    pub critical_edge: &'static str,
    pub other: &'static str,
    pub other_soft: &'static str,
}

impl Palette {
    pub(crate) const PICTURE: Palette = Palette {
        ground: "white",
        ink: None,
        axis: "#555",
        grid: "#ddd",
        critical: "#c62828",
        critical_soft: "#ffcdd2",
        critical_edge: "",
        other: "#1565c0",
        other_soft: "#bbdefb",
    };
    pub(crate) const PAGE: Palette = Palette {
        ground: "none",
        ink: Some("var(--ink)"),
        axis: "var(--faint)",
        grid: "var(--line)",
        critical: "var(--bad)",
        critical_soft: "var(--bad-soft)",
        critical_edge: " stroke-width=\"2.5\"",
        other: "var(--after)",
        other_soft: "var(--after-soft)",
    };

    /// The attribute for the colour of text, if needed.
    pub(crate) fn letters(&self) -> String {
        self.ink.map(|ink| format!(" fill=\"{ink}\"")).unwrap_or_default()
    }

    /// The start of a picture of this size. Its title is for screen readers, and is also shown at this position.
    pub(crate) fn begin(&self, (width, height): (f64, f64), title: &str, (x, y): (f64, f64)) -> String {
        let (ground, ink, title) = (self.ground, self.letters(), escaped(title));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"11\"{ink}>\n\
             <title>{title}</title>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"{ground}\"/>\n\
             <text x=\"{x}\" y=\"{y}\" font-size=\"13\">{title}</text>\n"
        )
    }
}
