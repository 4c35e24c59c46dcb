//! Texts that do not break within a name.

use maud::{Markup, html};

/// A text whose words with hyphens stay on one line if they fit there.
pub(in crate::report) fn unbroken(text: &str) -> Markup {
    html! {
        @for (at, word) in text.split(' ').enumerate() {
            @if at > 0 { " " }
            @if is_breakable(word) { span class="w" { (word) } } @else { (word) }
        }
    }
}

/// Tells if a browser may break a word after a hyphen in it.
fn is_breakable(word: &str) -> bool {
    let inner = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '-');
    inner.char_indices().any(|(at, c)| c == '-' && at + 1 < inner.len())
}

/// Lines of a cell: the first in full size, the others small below it.
pub(in crate::report) fn lines(texts: &[String]) -> Markup {
    html! {
        @for (at, text) in texts.iter().enumerate() {
            @if at == 0 { (unbroken(text)) } @else { small class="line" { (unbroken(text)) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_hyphens_stay_whole() {
        let text =
            unbroken("its node web-1.example.com is offline, use --stream – or-not - x-").into_string();
        let wanted = "its node <span class=\"w\">web-1.example.com</span> is offline, use \
            <span class=\"w\">--stream</span> – <span class=\"w\">or-not</span> - x-";
        assert_eq!(text, wanted);
        assert_eq!(unbroken("a  b").into_string(), "a  b");
    }

    #[test]
    fn names_are_no_markup() {
        assert_eq!(unbroken("<b>-x").into_string(), "<span class=\"w\">&lt;b&gt;-x</span>");
    }
}
