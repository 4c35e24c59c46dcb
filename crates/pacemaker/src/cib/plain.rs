//! Reads histories in the form in which Pacemaker writes them, while the document arrives, and without a tree of their
//! elements. On a hundred nodes with a thousand resources, they are 98 % of the document.
//!
//! Only certain cases are taken out of the document: nothing but the elements and attributes of a history, in ASCII,
//! and values without references. Everything else, and all that follows the first comment, is left to the XML parser.

use std::collections::HashMap;
use std::io::{self, Read};

use memchr::{memchr_iter, memmem};

use super::elements::{ElementReader, ElementShape};
use super::history::{
    IdleMarks, NameMark, OPERATION, PastDevice, PastOperation, PastResource, RESOURCE, RecordedState,
    ResourceHistory,
};

const OPEN: &[u8] = b"<lrm_resources>";
const CLOSE: &[u8] = b"</lrm_resources>";
/// Number of bytes examined at once; they fit into the processor's cache.
const WINDOW: usize = 256 << 10;

/// A document, and the histories taken out of it.
#[derive(Default)]
pub(super) struct PlainHistories {
    /// The document with shorter histories and unchanged line numbers.
    pub(super) rest: Vec<u8>,
    /// Content taken out of histories, by the position of their elements in the rest.
    pub(super) taken: HashMap<usize, TakenHistory>,
}

/// Content taken out of one history.
#[derive(Default)]
pub(super) struct TakenHistory {
    /// Resources that run there, or may.
    pub(super) histories: Vec<(String, ResourceHistory)>,
    /// Resources that are known not to run there.
    pub(super) idle: IdleMarks,
    /// Those of all these resources that fence hosts.
    pub(super) fencing: Vec<PastDevice>,
    /// All resources in order, if this is the first history of the document.
    pub(super) order: Vec<NameMark>,
}

impl PlainHistories {
    /// Takes the histories out of a document.
    ///
    /// # Errors
    /// Fails if it cannot be read.
    pub(super) fn of(from: impl Read) -> io::Result<PlainHistories> {
        let mut sieve = Sieve {
            from,
            window: vec![0; WINDOW],
            begin: 0,
            end: 0,
            over: false,
            checked: 0,
            is_certain: true,
            resources: ElementShape::new("<lrm_resource", RESOURCE),
            operations: ElementShape::new("<lrm_rsc_op", OPERATION),
            histories: PlainHistories::default(),
        };
        let mut within = None;
        while sieve.fill()? {
            within = sieve.work_off(within);
        }
        Ok(sieve.histories)
    }
}

/// A document while it is read.
struct Sieve<R> {
    from: R,
    /// The part of the document in view. From `begin` to `end`, it is not processed yet.
    window: Vec<u8>,
    begin: usize,
    end: usize,
    /// True if nothing more comes.
    over: bool,
    /// Length of the part of the rest that is known to have no comments and the like.
    checked: usize,
    /// True if there were none so far. Text in them can look like an element.
    is_certain: bool,
    resources: ElementShape<{ RESOURCE.len() }>,
    operations: ElementShape<{ OPERATION.len() }>,
    histories: PlainHistories,
}

impl<R: Read> Sieve<R> {
    /// Reads on. Returns true if there is something to process.
    fn fill(&mut self) -> io::Result<bool> {
        self.window.copy_within(self.begin..self.end, 0);
        (self.begin, self.end) = (0, self.end - self.begin);
        while !self.over && self.end < self.window.len() {
            match self.from.read(&mut self.window[self.end..]) {
                Ok(0) => self.over = true,
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.begin < self.end)
    }

    /// Processes the part in view, which may begin in a history. Returns the history in which it ends.
    fn work_off(&mut self, mut within: Option<usize>) -> Option<usize> {
        loop {
            match within {
                Some(history) if self.take(history) => return within,
                Some(_) => within = None,
                None => within = Some(self.pass()?),
            }
        }
    }

    /// Passes on the part in view up to the beginning of a history. Returns the position of that in the rest, if it may
    /// be taken out.
    fn pass(&mut self) -> Option<usize> {
        let view = &self.window[self.begin..self.end];
        let found = memmem::find(view, OPEN).filter(|_| self.is_certain);
        let length = match found {
            Some(at) => at + OPEN.len(),
            // The end of the view may be the beginning of a history.
            None if self.over || !self.is_certain => view.len(),
            None => view.len().saturating_sub(OPEN.len() - 1),
        };
        let rest = &mut self.histories.rest;
        rest.extend_from_slice(&view[..length]);
        self.begin += length;
        let history = found.map(|_| rest.len() - OPEN.len());
        let head = if self.checked == 0 && rest.starts_with(b"<?xml ") { 1 } else { 0 };
        let unchecked = &rest[self.checked.max(1) - 1 + head..];
        self.is_certain &= [&b"<!"[..], b"<?"].iter().all(|mark| memmem::find(unchecked, mark).is_none());
        self.checked = rest.len();
        history.filter(|_| self.is_certain)
    }

    /// Takes the plain part of a history out of the view. Returns true if more of it may come.
    fn take(&mut self, history: usize) -> bool {
        let mut reader = ElementReader::new(&self.window[..self.end], self.begin);
        let (mut found, mut fencing, mut order) = (Vec::new(), Vec::new(), Vec::new());
        let is_first = self.histories.taken.keys().all(|known| *known == history);
        let mut idle = IdleMarks::default();
        let mut operations = Vec::new();
        let mut done = reader;
        loop {
            reader.skip_blanks();
            if reader.rest().starts_with(CLOSE) {
                break;
            }
            let Some(past) =
                resource(&mut reader, &mut self.resources, &mut self.operations, &mut operations)
            else {
                break;
            };
            fencing.extend(past.fencing().filter(|_| !operations.is_empty()));
            order.extend(Some(NameMark::of(past.id())).filter(|_| is_first && !operations.is_empty()));
            match ResourceHistory::of(&past, &mut operations) {
                ResourceHistory { recorded_state: RecordedState::Inactive(_), .. }
                    if operations.is_empty() => {}
                ResourceHistory { recorded_state: RecordedState::Inactive(when), ran, .. } => {
                    idle.add(past.id(), when, ran)
                }
                history => found.push((past.id(), history)),
            }
            done = reader;
        }
        let is_closed = reader.rest().starts_with(CLOSE);
        // An element that is complete in view, but cannot be read, is not plain.
        let is_whole = self.over || self.begin == 0;
        let nothing_more = is_closed || (is_whole && done.at == self.begin);
        if !done.is_plain() {
            return false;
        }
        let lines = memchr_iter(b'\n', &self.window[self.begin..done.at]).count();
        self.histories.rest.extend(std::iter::repeat_n(b'\n', lines));
        self.begin = done.at;
        let named =
            |(id, history): (&[u8], ResourceHistory)| (String::from_utf8_lossy(id).into_owned(), history);
        let taken = self.histories.taken.entry(history).or_default();
        taken.histories.extend(found.into_iter().map(named));
        taken.fencing.append(&mut fencing);
        taken.order.append(&mut order);
        taken.idle.append(idle);
        !nothing_more
    }
}

/// Reads a resource and its operations; `None` if it is not plain, or has no end.
fn resource<'t>(
    reader: &mut ElementReader<'t>,
    resources: &mut ElementShape<{ RESOURCE.len() }>,
    shape: &mut ElementShape<{ OPERATION.len() }>,
    operations: &mut Vec<PastOperation<'t>>,
) -> Option<PastResource<'t>> {
    operations.clear();
    let element = reader.element(resources)?;
    let past = PastResource(element.values);
    if past.is_locked() {
        return None;
    }
    if element.is_empty {
        return Some(past);
    }
    loop {
        reader.skip_blanks();
        if reader.close("</lrm_resource>") {
            return Some(past);
        }
        let begin = reader.at;
        let operation = reader.element(shape)?;
        if !operation.is_empty {
            return None;
        }
        operations.push(PastOperation::of(operation.values, &reader.text[begin..reader.at]));
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    const STATE: &str = r#"<cib><status><node_state id="1"><lrm id="1"><lrm_resources>
        <lrm_resource id="a" type="x"><lrm_rsc_op id="a0" operation="start" call-id="3" rc-code="0" op-status="0" transition-key="1:1:0:x"/></lrm_resource>
        <lrm_resource id="b"/><lrm_resource id="c"><lrm_rsc_op id="c0" operation="stop" rc-code="1" op-status="0"/>
        </lrm_resource></lrm_resources></lrm></node_state></status></cib>"#;

    /// Yields a given number of bytes at a time.
    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(into.len()).min(self.0.len());
            self.0.read(&mut into[..count])
        }
    }

    fn sieved(text: &str) -> (String, Vec<(String, RecordedState)>) {
        let plain = PlainHistories::of(Pieces(text.as_bytes(), 7)).unwrap();
        let rest = String::from_utf8(plain.rest).unwrap();
        assert!(plain.taken.keys().all(|at| rest[*at..].starts_with("<lrm_resources>")));
        (
            rest,
            plain
                .taken
                .into_values()
                .flat_map(|taken| taken.histories)
                .map(|(name, history)| (name, history.recorded_state))
                .collect(),
        )
    }

    #[test]
    fn what_is_plain_is_taken_out() {
        let (rest, recorded_states) = sieved(STATE);
        let (head, tail) = STATE.split_once("\n").unwrap();
        let end = &tail[tail.find("</lrm_resources>").unwrap()..];
        assert_eq!(rest, format!("{head}\n\n\n{end}"));
        assert_eq!(rest.lines().count(), STATE.lines().count());
        assert_eq!(recorded_states[0], ("a".to_owned(), RecordedState::Active(None)));
        assert!(
            matches!(&recorded_states[1], (name, RecordedState::Unsettled(operations)) if name == "c" && operations[0].code == 1)
        );
    }

    #[test]
    fn what_is_not_stays() {
        let b = "<lrm_resource id=\"b\"/>";
        for (from, to) in [
            (b, "<other/>"),
            (b, "<lrm_resource id='b'/>"),
            (b, "<lrm_resource id=\"b\"exit=\"\"/>"),
            (b, "<lrm_resource id=\"b&amp;\"/>"),
            (b, "<lrm_resource id=\"b<\"/>"),
            (b, "<lrm_resource id=\"é\"/>"),
            (b, "<lrm_resource xmlns=\"b\"/>"),
            (b, "<!-- -->"),
            (b, "text"),
            ("<lrm_resource id=\"c\">", "<lrm_resource id=\"c\"><lrm_rsc_op></lrm_rsc_op>"),
            ("<status>", "<status><!-- <lrm_resources> -->"),
            ("<status>", "<status><?x <lrm_resources>?>"),
        ] {
            let text = STATE.replacen(from, to, 1);
            let (rest, _) = sieved(&text);
            assert!(rest.contains(to), "{to}: {rest}");
            assert_eq!(rest.lines().count(), text.lines().count());
        }
    }

    /// A history that is larger than the window is taken out as well.
    #[test]
    fn histories_of_any_size_are_taken() {
        let resource = |at: usize| {
            let code = if at.is_multiple_of(3) { 0 } else { 7 };
            format!(
                r#"<lrm_resource id="vm{at}"><lrm_rsc_op operation="monitor" call-id="{at}" rc-code="{code}" op-status="0" interval="0" transition-key="1:1:7:x" exit-reason="{}"/></lrm_resource>"#,
                "x".repeat(at % 500),
            )
        };
        let history: String = (0..3000).map(resource).collect();
        let text = format!("<cib><lrm_resources>{history}</lrm_resources></cib>");
        let (rest, recorded_states) = sieved(&text);
        assert_eq!(rest, "<cib><lrm_resources></lrm_resources></cib>");
        let expected = (0..3000).step_by(3).map(|at| (format!("vm{at}"), RecordedState::Active(None)));
        assert_eq!(recorded_states, expected.collect::<Vec<_>>());
        // An element that does not fit into the window, and everything behind it, is left to the parser.
        let large = format!(r#"<lrm_resource id="{}"/>"#, "y".repeat(WINDOW));
        let text = text.replacen(&resource(9), &(large + &resource(9)), 1);
        let (rest, recorded_states) = sieved(&text);
        assert!(rest.contains("yyy") && rest.contains(r#"<lrm_resource id="vm9">"#));
        assert_eq!(recorded_states.len(), 3);
    }
}
