//! Changes of the text of a document, for its status section.

use std::ops::Range;

use roxmltree::Node;

use htools_model::shown::escaped;

/// A range of the document, and its new text.
pub(super) struct StatusSplice {
    pub(super) range: Range<usize>,
    pub(super) text: String,
}

/// Inserts text at the end of an element.
pub(super) fn at_end(element: Node<'_, '_>, text: &str, new: &str) -> StatusSplice {
    let range = element.range();
    let inside = &text[range.clone()];
    match (inside.ends_with("/>") && !element.has_children(), inside.rfind("</")) {
        (false, Some(end)) => {
            StatusSplice { range: range.start + end..range.start + end, text: new.to_owned() }
        }
        _ => {
            let name = element.tag_name().name();
            StatusSplice { range: range.end - 2..range.end, text: format!(">{new}</{name}>") }
        }
    }
}

/// The document with all changes. Of two that overlap, the first counts.
pub(super) fn spliced(text: &str, mut splices: Vec<StatusSplice>) -> String {
    splices.sort_by_key(|splice| splice.range.start);
    let mut changed = String::with_capacity(text.len());
    let mut at = 0;
    for StatusSplice { range, text: new } in splices {
        if range.start < at {
            continue;
        }
        changed.push_str(&text[at..range.start]);
        changed.push_str(&new);
        at = range.end;
    }
    changed.push_str(&text[at..]);
    changed
}

/// An escaped attribute value.
pub(super) fn attribute(value: &str) -> String {
    escaped(value).replace('\n', "&#10;").replace('\r', "&#13;").replace('\t', "&#9;")
}

#[cfg(test)]
mod tests {
    use roxmltree::Document;

    use super::*;

    /// The text with something new at the end of its element `a`.
    fn with(text: &str, new: &str) -> String {
        let document = Document::parse(text).unwrap();
        let element = document.descendants().find(|node| node.has_tag_name("a")).unwrap();
        spliced(text, vec![at_end(element, text, new)])
    }

    #[test]
    fn elements_get_new_ends() {
        assert_eq!(with("<x><a/></x>", "<b/>"), "<x><a><b/></a></x>");
        assert_eq!(with("<x><a></a></x>", "<b/>"), "<x><a><b/></a></x>");
        assert_eq!(with("<x><a><c/></a></x>", "<b/>"), "<x><a><c/><b/></a></x>");
        assert_eq!(with(r#"<x><a y=">"/></x>"#, ""), r#"<x><a y=">"></a></x>"#);
    }

    #[test]
    fn changes_are_made_in_order_of_their_places() {
        let splice = |range, text: &str| StatusSplice { range, text: text.to_owned() };
        let all = vec![splice(4..5, "E"), splice(0..2, "A"), splice(1..3, "never")];
        assert_eq!(spliced("abcdef", all), "AcdEf");
    }

    #[test]
    fn values_are_escaped() {
        assert_eq!(attribute("a\n<\"b"), "a&#10;&lt;&quot;b");
    }
}
