//! Histories in the form in which Pacemaker writes them, read without a tree of their elements: on a hundred
//! nodes with a thousand resources they are 98 % of a document.
//!
//! Only what is certain is taken out of the document: nothing but the elements and attributes of a history, values without
//! references. All else, and every document with a comment, is left to the XML parser as a whole.

use std::borrow::Cow;
use std::collections::HashMap;

use memchr::{memchr_iter, memchr3, memmem};

use super::history::{PastOperation, Trace, trace};

const OPEN: &str = "<lrm_resources>";
const CLOSE: &str = "</lrm_resources>";

/// A document and what was taken out of it.
pub(super) struct PlainHistories<'t> {
    /// The document with empty histories; its lines are where they were.
    pub(super) rest: Cow<'t, str>,
    /// What histories say, by where their elements begin in the rest. What does not run there is left out.
    pub(super) taken: HashMap<usize, Vec<(&'t str, Trace)>>,
}

impl<'t> PlainHistories<'t> {
    /// Takes the histories out of a document.
    pub(super) fn of(text: &'t str) -> PlainHistories<'t> {
        let mut rest = String::new();
        let mut taken = HashMap::new();
        let mut done = 0;
        while let Some(begin) = memmem::find(&text.as_bytes()[done..], OPEN.as_bytes()) {
            let start = done + begin + OPEN.len();
            let mut scanner = Scanner { text, at: start };
            rest.push_str(&text[done..start]);
            done = start;
            if let Some(traces) = scanner.history() {
                taken.insert(rest.len() - OPEN.len(), traces);
                let lines = memchr_iter(b'\n', &text.as_bytes()[start..scanner.at]).count();
                rest.extend(std::iter::repeat_n('\n', lines));
                done = scanner.at;
            }
        }
        rest.push_str(&text[done..]);
        // in comments and the like, what looks like an element is none
        let head = rest.find("?>").filter(|_| rest.starts_with("<?xml")).unwrap_or(0);
        let is_plain = |mark: &str| memmem::find(&rest.as_bytes()[head..], mark.as_bytes()).is_none();
        if taken.is_empty() || !is_plain("<!") || !is_plain("<?") {
            return PlainHistories { rest: Cow::Borrowed(text), taken: HashMap::new() };
        }
        PlainHistories { rest: Cow::Owned(rest), taken }
    }
}

/// A place in a text.
struct Scanner<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Scanner<'t> {
    /// The resources of a history, up to where it is closed.
    fn history(&mut self) -> Option<Vec<(&'t str, Trace)>> {
        let mut traces = Vec::new();
        let mut operations = Vec::new();
        loop {
            self.skip_blanks();
            if self.rest().starts_with(CLOSE.as_bytes()) {
                return Some(traces);
            }
            let id = self.resource(&mut operations)?;
            match trace(&mut operations) {
                Trace::Inactive => {}
                trace => traces.push((id, trace)),
            }
        }
    }

    /// A resource's id, and its operations.
    fn resource(&mut self, operations: &mut Vec<PastOperation<'t>>) -> Option<&'t str> {
        let mut id = "";
        operations.clear();
        let is_empty = self.element("<lrm_resource", |name, value| {
            if name == "id" {
                id = value;
            }
        })?;
        loop {
            if is_empty {
                return Some(id);
            }
            self.skip_blanks();
            if self.skip("</lrm_resource>") {
                return Some(id);
            }
            let mut operation = PastOperation::UNKNOWN;
            if !self.element("<lrm_rsc_op", |name, value| operation.note(name, value))? {
                return None;
            }
            operations.push(operation);
        }
    }

    /// The attributes of an element, and whether it is closed at once.
    fn element(&mut self, tag: &str, mut note: impl FnMut(&'t str, &'t str)) -> Option<bool> {
        if !self.skip(tag) {
            return None;
        }
        loop {
            let blanks = self.skip_blanks();
            match self.rest() {
                [b'>', ..] => {
                    self.at += 1;
                    return Some(false);
                }
                [b'/', b'>', ..] => {
                    self.at += 2;
                    return Some(true);
                }
                _ if blanks == 0 => return None,
                _ => {
                    let (name, value) = self.attribute()?;
                    note(name, value);
                }
            }
        }
    }

    /// An attribute in double quotes, without references in its value and without a namespace.
    fn attribute(&mut self) -> Option<(&'t str, &'t str)> {
        let rest = self.rest();
        let is_name = |byte: &u8| matches!(byte, b'a'..=b'z' | b'-' | b'_' | b'A'..=b'Z' | b'0'..=b'9');
        let length = rest.iter().position(|byte| !is_name(byte))?;
        let name = &self.text[self.at..self.at + length];
        if name == "xmlns" || length == 0 || !rest[length..].starts_with(b"=\"") {
            return None;
        }
        let start = self.at + length + 2;
        let end = start + memchr3(b'"', b'<', b'&', &self.text.as_bytes()[start..])?;
        self.at = end;
        let value = &self.text[start..end];
        self.skip("\"").then_some((name, value))
    }

    fn rest(&self) -> &'t [u8] {
        &self.text.as_bytes()[self.at..]
    }

    fn skip(&mut self, text: &str) -> bool {
        let is_next = self.rest().starts_with(text.as_bytes());
        self.at += if is_next { text.len() } else { 0 };
        is_next
    }

    fn skip_blanks(&mut self) -> usize {
        let blanks =
            self.rest().iter().take_while(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t')).count();
        self.at += blanks;
        blanks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATE: &str = r#"<cib><status><node_state id="1"><lrm id="1"><lrm_resources>
        <lrm_resource id="a" type="x"><lrm_rsc_op id="a0" operation="start" call-id="3" rc-code="0" op-status="0"/></lrm_resource>
        <lrm_resource id="b"/><lrm_resource id="c"><lrm_rsc_op id="c0" operation="stop" rc-code="1"/>
        </lrm_resource></lrm_resources></lrm></node_state></status></cib>"#;

    #[test]
    fn what_is_plain_is_taken_out() {
        let plain = PlainHistories::of(STATE);
        let (at, traces) = plain.taken.iter().next().unwrap();
        assert!(plain.rest[*at..].starts_with("<lrm_resources>\n\n\n</lrm_resources>"));
        assert_eq!(traces[..], [("a", Trace::Active), ("c", Trace::Unclear("a failed operation", false))]);
    }

    #[test]
    fn what_is_not_stays() {
        for (from, to) in [
            ("<lrm_resource id=\"b\"/>", "<other/>"),
            ("<lrm_resource id=\"b\"/>", "<lrm_resource id='b'/>"),
            ("<lrm_resource id=\"b\"/>", "<lrm_resource id=\"b\"exit=\"\"/>"),
            ("<lrm_resource id=\"b\"/>", "<lrm_resource id=\"b&amp;\"/>"),
            ("<lrm_resource id=\"b\"/>", "<lrm_resource xmlns=\"b\"/>"),
            ("<lrm_resource id=\"b\"/>", "<!-- -->"),
            ("<lrm_resource id=\"b\"/>", "text"),
            ("</lrm_resources>", ""),
            ("<status>", "<status><!-- <lrm_resources> -->"),
            ("<status>", "<status><?x <lrm_resources>?>"),
        ] {
            let text = STATE.replacen(from, to, 1);
            let plain = PlainHistories::of(&text);
            assert_eq!((&*plain.rest, plain.taken.len()), (&*text, 0), "{to}");
        }
    }
}
