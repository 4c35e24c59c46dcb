//! Bars that show shares before and after.

use maud::{Markup, PreEscaped, html};

/// A share before and, if known, after; 1 is the whole.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::report) struct SharePair {
    pub before: f64,
    pub after: Option<f64>,
}

/// The fill patterns of bars, defined once per page.
pub(in crate::report) fn patterns() -> Markup {
    html! {
        svg class="patterns" width="0" height="0" aria-hidden="true" focusable="false" {
            defs {
                pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                    rect class="hatch-ground" width="5" height="5" {}
                    rect class="hatch-line" width="2" height="5" {}
                }
            }
        }
    }
}

/// Two thin bars, the upper one before and the lower one after, or one thick bar. The share kept free follows the share
/// taken.
pub(in crate::report) fn bar(taken: SharePair, kept: Option<SharePair>) -> Markup {
    let reserve = |of: fn(SharePair) -> f64| kept.map_or(0.0, of);
    let before = |y, height, class| row((taken.before, reserve(|kept| kept.before)), (y, height), class);
    let bars = match taken.after {
        None => before(1, 12, "a"),
        Some(after) => {
            let reserve = reserve(|kept| kept.after.unwrap_or(kept.before));
            before(1, 5, "b") + &row((after, reserve), (8, 5), "a")
        }
    };
    drawn("bar", &bars)
}

/// A bar made of rectangles. Pages have too many bars for templates, so this writes empty elements that contain numbers
/// only.
pub(in crate::report) fn drawn(class: &str, rectangles: &str) -> Markup {
    let track = "<rect class=\"t\" width=\"100%\" height=\"14\"/>";
    PreEscaped(format!("<svg class=\"{class}\" aria-hidden=\"true\">{track}{rectangles}</svg>"))
}

fn row((share, kept): (f64, f64), at: (u8, u8), class: &str) -> String {
    let (from, to) = (clipped(share), clipped(share + kept));
    let kept = if to > from { rectangle("r", (from, to), at) } else { String::new() };
    kept + &rectangle(class, (0.0, from), at)
}

/// A part of a bar.
pub(in crate::report) fn rectangle(class: &str, (from, to): (f64, f64), (y, height): (u8, u8)) -> String {
    let [x, width] = [from, to - from].map(|share| format!("{:.1}%", share * 100.0));
    format!("<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>")
}

/// A share limited to the range of a bar.
fn clipped(share: f64) -> f64 {
    if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
}

/// Placeholder for an unknown figure.
pub(in crate::report) const NOTHING: &str = "–";

/// A share for people, in whole percent.
pub(in crate::report) fn percent_text(share: f64) -> String {
    if share.is_finite() { format!("{:.0}", share * 100.0) } else { NOTHING.to_owned() }
}

/// Two texts with an arrow between them, or one if they are equal.
pub(in crate::report) fn change_text(before: &str, after: Option<&str>) -> String {
    match after {
        Some(after) if after != before => format!("{before} → {after}"),
        _ => before.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_never_leave_their_place() {
        for share in [f64::NAN, f64::INFINITY, -1.0, 0.0, 0.5, 2.0] {
            for after in [None, Some(share)] {
                let pair = SharePair { before: share, after };
                let text = bar(pair, Some(pair)).into_string();
                let widths = text.split("width=\"").skip(1).map(|rest| rest.split_once('%').unwrap().0);
                for width in widths {
                    assert!((0.0..=100.0).contains(&width.parse::<f64>().unwrap()), "{text}");
                }
            }
        }
    }

    #[test]
    fn changes_in_words() {
        assert_eq!(change_text("1", Some("2")), "1 → 2");
        assert_eq!(change_text("1", Some("1")), "1");
        assert_eq!(change_text("1", None), "1");
        assert_eq!((percent_text(0.504), percent_text(f64::NAN)), ("50".to_owned(), "–".to_owned()));
    }
}
