//! Parses untrusted XML documents, with limits on size and nesting, and reports errors with their place.

use memchr::{memchr_iter, memchr2_iter};
use roxmltree::{Document, Node, ParsingOptions};

use htools_ganeti::input::error::{LoadError, Result};
use htools_ganeti::input::kind::FileKind;
use htools_model::shown::{shown_name, shown_source};

/// Greatest number of elements, texts and comments in a document.
const MOST_NODES: u32 = 4_000_000;
/// Greatest nesting depth of elements. Pacemaker's own documents have about ten levels.
const DEEPEST: usize = 200;
/// Greatest number of attributes of an element. Pacemaker's own have at most about 20. The parser compares each
/// attribute with all others of its element.
const MOST_ATTRIBUTES: usize = 200;

/// Reads a document whose root is `cib`. Documents that define entities are refused.
///
/// # Errors
/// Fails if it is no such document.
pub(crate) fn parse<'t>(text: &'t str, source: &str) -> Result<Document<'t>> {
    let wrong = |problem: &str| LoadError::one_line(&shown_source(source), problem);
    check_shape(text).map_err(|problem| wrong(&problem))?;
    let options = ParsingOptions { nodes_limit: MOST_NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options)
        .map_err(|e| FileKind::Cib.unless_other(wrong(&format!("not XML: {e}")), text, source))?;
    let root = document.root_element().tag_name().name();
    match root {
        "cib" => Ok(document),
        _ => Err(wrong(&format!("the root element is '{}', not 'cib'", shown_name(root)))),
    }
}

/// Refuses elements that are nested too deeply for the parser's stack, and those with more attributes than it reads in
/// linear time. Text that only looks like a tag, as in comments, may count. No real document comes near the limits.
fn check_shape(text: &str) -> std::result::Result<(), String> {
    let mut depth = 0usize;
    let mut begin = 0;
    let bytes = text.as_bytes();
    for at in memchr2_iter(b'<', b'>', bytes) {
        let since = std::mem::replace(&mut begin, at);
        if at - since > MOST_ATTRIBUTES && attributes(&bytes[since..at]) > MOST_ATTRIBUTES {
            let line = 1 + memchr_iter(b'\n', &bytes[..since]).count();
            return Err(format!("line {line}: an element has more than {MOST_ATTRIBUTES} attributes"));
        }
        match (bytes[at], bytes.get(at + 1)) {
            (b'<', Some(b'/')) => depth = depth.saturating_sub(1),
            (b'<', Some(b'!' | b'?')) => {}
            (b'<', Some(_)) => depth += 1,
            (b'>', _) if bytes[..at].ends_with(b"/") => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST {
            return Err(format!("elements are nested more than {DEEPEST} deep"));
        }
    }
    Ok(())
}

/// Number of attributes in a tag, from its opening bracket on; 0 if it is no tag. Text in values that looks like an
/// attribute counts, too.
fn attributes(tag: &[u8]) -> usize {
    if !tag.starts_with(b"<") || matches!(tag.get(1), Some(b'!' | b'?')) {
        return 0;
    }
    let is_quoted = |at: &usize| matches!(tag[at + 1..].trim_ascii_start().first(), Some(b'"' | b'\''));
    memchr_iter(b'=', tag).filter(is_quoted).count()
}

/// The id of an element; empty if it has none.
pub(crate) fn id<'a>(node: Node<'a, '_>) -> &'a str {
    node.attribute("id").unwrap_or_default()
}

/// The child elements with a name.
pub(crate) fn children<'a, 'i>(
    parent: Node<'a, 'i>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'i>> {
    parent.children().filter(move |node| node.has_tag_name(name))
}

/// The first child element with a name.
pub(crate) fn child<'a, 'i>(parent: Node<'a, 'i>, name: &'static str) -> Option<Node<'a, 'i>> {
    children(parent, name).next()
}

/// Place of an element, for messages.
pub(super) fn place(source: &str, node: Node<'_, '_>) -> String {
    let line = node.document().text_pos_at(node.range().start).row;
    format!("{}, line {line}, {} '{}'", shown_source(source), node.tag_name().name(), shown_name(id(node)))
}

/// An error about an element.
pub(super) fn wrong(source: &str, node: Node<'_, '_>, problem: &str) -> LoadError {
    LoadError::one_line(&place(source, node), problem)
}

/// The value of an attribute that must be there.
///
/// # Errors
/// Fails if it is missing.
pub(super) fn required<'a>(source: &str, node: Node<'a, '_>, name: &str) -> Result<&'a str> {
    node.attribute(name).ok_or_else(|| wrong(source, node, &format!("attribute '{name}' is missing")))
}
