//! Names and foreign texts, made fit for one line of a message.

use std::borrow::Cow;

/// Maximum length of a source's name in a message, in characters.
const SOURCE_SHOWN: usize = 100;
/// Maximum length of an object's name in a message, in characters.
const NAME_SHOWN: usize = 60;

/// A source's name for a message. A long path loses its beginning, because the end says more.
pub fn shown_source(source: &str) -> String {
    let length = source.chars().count();
    if length <= SOURCE_SHOWN {
        return printable(source, SOURCE_SHOWN);
    }
    let tail: String = source.chars().skip(length - SOURCE_SHOWN + 3).collect();
    printable(&format!("...{tail}"), SOURCE_SHOWN)
}

/// An object's name for a message.
pub fn shown_name(name: &str) -> String {
    printable(name, NAME_SHOWN)
}

/// `text` made fit for one line of a terminal. Characters that could move the cursor, break the line or change the
/// writing direction are escaped. Text longer than `most` characters is cut and ends in dots.
pub fn printable(text: &str, most: usize) -> String {
    let mut shown = String::new();
    let mut length = 0;
    for c in text.chars() {
        let width = if is_unprintable(c) { c.escape_unicode().len() } else { 1 };
        if length + width > most {
            // Make room for the dots.
            while length + 3 > most && shown.pop().is_some() {
                length -= 1;
            }
            shown.push_str("...");
            return shown;
        }
        if is_unprintable(c) {
            shown.extend(c.escape_default())
        } else {
            shown.push(c)
        }
        length += width;
    }
    shown
}

/// `text` escaped as by [`printable`], but in full length and with its line breaks and tabs.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    let escaped = |c: char| is_unprintable(c) && !matches!(c, '\n' | '\t');
    if !text.contains(escaped) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if escaped(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    Cow::Owned(shown)
}

/// Tells if a character moves the cursor, breaks the line or changes the writing direction.
fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// A text escaped for XML elements and attributes in double quotes.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(printable("a\tb\u{1b}[31m\r\n", 80), r"a\tb\u{1b}[31m\r\n");
        assert_eq!(printable("\u{feff}\u{202e}é", 80), r"\u{feff}\u{202e}é");
    }

    #[test]
    fn lines_stay_lines() {
        assert!(matches!(printable_lines("a\tb\né"), Cow::Borrowed("a\tb\né")));
        assert_eq!(printable_lines("a\n\u{1b}[2J\r\u{9b}x\u{7f}\n"), "a\n\\u{1b}[2J\\r\\u{9b}x\\u{7f}\n");
    }

    #[test]
    fn long_texts_are_cut() {
        assert_eq!(printable("0123456789", 10), "0123456789");
        assert_eq!(printable("0123456789x", 10), "0123456...");
        assert!(printable(&"\u{1}".repeat(100), 10).chars().count() <= 10);
        assert!(shown_source(&format!("{}/end.data", "d/".repeat(500))).ends_with("/end.data"));
    }
}
