//! What drawings are painted with: by themselves on white, or in a page whose style names the colours.

use crate::model::shown::escaped;

/// The colours of a drawing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Palette {
    pub ground: &'static str,
    /// What letters are painted with, if not black.
    ink: Option<&'static str>,
    pub axis: &'static str,
    pub grid: &'static str,
    /// What decides: the steps on a critical path, the bound of a score.
    pub critical: &'static str,
    pub critical_soft: &'static str,
    /// How the edge of a step on a critical path differs besides, as an attribute.
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

    /// The attribute of letters, if they need one.
    pub(crate) fn letters(&self) -> String {
        self.ink.map(|ink| format!(" fill=\"{ink}\"")).unwrap_or_default()
    }

    /// The beginning of a picture of this size, with a title for readers of screens and, at this place, for all.
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
