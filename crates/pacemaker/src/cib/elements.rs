//! Fast reader of elements in the form in which Pacemaker writes them. It builds no tree.
//!
//! All that was read must be checked afterwards by [`ElementReader::is_plain`]: the reader goes from quote to quote and
//! does not see the text between them.

use memchr::{memchr, memchr_iter};

/// Number of bytes that are compared at once.
const HEAD: usize = 16;

/// Layout of the last element of a kind; nearly all others have the same. `N` is the number of wanted attributes.
pub(super) struct ElementShape<const N: usize> {
    tag: &'static str,
    wanted: [&'static str; N],
    delimiters: Vec<Delimiter>,
}

/// Text between two values of an element.
struct Delimiter {
    /// Its first bytes, padded with zeros.
    head: u128,
    /// Mask of the bits that are not padding.
    mask: u128,
    /// The bytes behind the first sixteen.
    tail: Vec<u8>,
    length: usize,
    /// Last length of the value behind it.
    value: usize,
    /// Index of that value among the wanted ones.
    wanted: Option<usize>,
}

/// Wanted values of an element, and whether it is self-closing.
pub(super) struct ElementValues<'t, const N: usize> {
    pub(super) values: [&'t [u8]; N],
    pub(super) is_empty: bool,
}

impl<const N: usize> ElementShape<N> {
    pub(super) fn new(tag: &'static str, wanted: [&'static str; N]) -> ElementShape<N> {
        ElementShape { tag, wanted, delimiters: Vec::new() }
    }
}

impl Delimiter {
    fn new(text: &[u8], value: usize, wanted: Option<usize>) -> Delimiter {
        let (head, tail) = text.split_at(text.len().min(HEAD));
        let (mut padded, mut mask) = ([0; HEAD], [0; HEAD]);
        padded[..head.len()].copy_from_slice(head);
        mask[..head.len()].fill(u8::MAX);
        Delimiter {
            head: u128::from_le_bytes(padded),
            mask: u128::from_le_bytes(mask),
            tail: tail.to_vec(),
            length: text.len(),
            value,
            wanted,
        }
    }

    fn is_at(&self, text: &[u8], at: usize) -> bool {
        let Some((head, rest)) = text.get(at..).and_then(|rest| rest.split_first_chunk::<HEAD>()) else {
            return false;
        };
        (u128::from_le_bytes(*head) ^ self.head) & self.mask == 0
            && (self.tail.is_empty() || rest.starts_with(&self.tail))
    }
}

/// A position in a text, with counts of what was read on the way.
#[derive(Clone, Copy)]
pub(super) struct ElementReader<'t> {
    pub(super) text: &'t [u8],
    pub(super) at: usize,
    begin: usize,
    quotes: usize,
    tags: usize,
}

impl<'t> ElementReader<'t> {
    pub(super) fn new(text: &'t [u8], at: usize) -> ElementReader<'t> {
        ElementReader { text, at, begin: at, quotes: 0, tags: 0 }
    }

    /// Returns true if everything read is as assumed: as many quotes and tags as were counted, no references, and ASCII
    /// characters only.
    pub(super) fn is_plain(&self) -> bool {
        let read = &self.text[self.begin..self.at];
        let count = |byte| memchr_iter(byte, read).count();
        count(b'"') == self.quotes
            && count(b'<') == self.tags
            && memchr(b'&', read).is_none()
            && read.is_ascii()
    }

    /// Reads the next element; `None` if it is of another kind, or not plain.
    pub(super) fn element<const N: usize>(
        &mut self,
        shape: &mut ElementShape<N>,
    ) -> Option<ElementValues<'t, N>> {
        self.like(shape).or_else(|| self.unlike(shape))
    }

    /// Reads an element with the layout of the last one.
    fn like<const N: usize>(&mut self, shape: &mut ElementShape<N>) -> Option<ElementValues<'t, N>> {
        let mut values = [&[][..]; N];
        let (mut at, mut value, mut wanted) = (self.at, self.at, None);
        let mut length = &mut 0;
        for delimiter in &mut shape.delimiters {
            if !delimiter.is_at(self.text, at) {
                at = value + memchr(b'"', &self.text[value..])?;
                if !delimiter.is_at(self.text, at) {
                    return None;
                }
                *length = at - value;
            }
            if let Some(wanted) = wanted {
                values[wanted] = &self.text[value..at];
            }
            value = at + delimiter.length;
            at = value + delimiter.value;
            (length, wanted) = (&mut delimiter.value, delimiter.wanted);
        }
        let last = shape.delimiters.len().checked_sub(1)?;
        self.at = value;
        self.quotes += 2 * last;
        self.tags += 1;
        Some(ElementValues { values, is_empty: self.text[..value].ends_with(b"/>") })
    }

    /// Reads any plain element of the kind, and keeps its layout.
    fn unlike<const N: usize>(&mut self, shape: &mut ElementShape<N>) -> Option<ElementValues<'t, N>> {
        let mut delimiters = std::mem::take(&mut shape.delimiters);
        delimiters.clear();
        let mut values = [&[][..]; N];
        let mut reader = *self;
        let mut delimiter = reader.at;
        if !reader.skip(shape.tag) {
            return None;
        }
        reader.tags += 1;
        loop {
            let blanks = reader.skip_blanks();
            let is_empty = reader.skip("/>");
            if is_empty || reader.skip(">") {
                delimiters.push(Delimiter::new(&reader.text[delimiter..reader.at], 0, None));
                shape.delimiters = delimiters;
                *self = reader;
                return Some(ElementValues { values, is_empty });
            }
            if blanks == 0 {
                return None;
            }
            let (name, value) = reader.attribute()?;
            let wanted = shape.wanted.iter().position(|wanted| wanted.as_bytes() == name);
            if let Some(wanted) = wanted {
                values[wanted] = value;
            }
            let end = reader.at - 1;
            delimiters.push(Delimiter::new(&reader.text[delimiter..end - value.len()], value.len(), wanted));
            delimiter = end;
        }
    }

    /// Reads an attribute in double quotes, without a namespace.
    fn attribute(&mut self) -> Option<(&'t [u8], &'t [u8])> {
        let rest = self.rest();
        let is_name = |byte: &u8| matches!(byte, b'a'..=b'z' | b'-' | b'_' | b'A'..=b'Z' | b'0'..=b'9');
        let (name, rest) = rest.split_at(rest.iter().position(|byte| !is_name(byte))?);
        let value = rest.strip_prefix(b"=\"").filter(|_| name != b"xmlns" && !name.is_empty())?;
        let value = &value[..memchr(b'"', value)?];
        self.at += name.len() + value.len() + 3;
        self.quotes += 2;
        Some((name, value))
    }

    pub(super) fn rest(&self) -> &'t [u8] {
        &self.text[self.at..]
    }

    /// Skips a text, if it comes next.
    fn skip(&mut self, text: &str) -> bool {
        let is_next = self.rest().starts_with(text.as_bytes());
        self.at += if is_next { text.len() } else { 0 };
        is_next
    }

    /// Skips a closing tag, if it comes next.
    pub(super) fn close(&mut self, tag: &str) -> bool {
        let is_next = self.skip(tag);
        self.tags += usize::from(is_next);
        is_next
    }

    /// Skips blanks, and returns their number.
    pub(super) fn skip_blanks(&mut self) -> usize {
        let blanks =
            self.rest().iter().take_while(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t')).count();
        self.at += blanks;
        blanks
    }
}
