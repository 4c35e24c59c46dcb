//! Bytes to text.

use std::io::{self, Read};

use super::error::{LoadError, Result};
use htools_model::shown::shown_source;

/// Checks that a source is UTF-8. A byte order mark is not removed: no format allows one, and the reference takes it as
/// the first character.
pub fn decode<'a>(bytes: &'a [u8], source: &str) -> Result<&'a str> {
    std::str::from_utf8(bytes).map_err(|error| {
        let (good, bad) = bytes.split_at(error.valid_up_to());
        no_text(source, 1 + line_ends(good), bad)
    })
}

fn no_text(source: &str, line: usize, bad: &[u8]) -> LoadError {
    let byte = bad.first().copied().unwrap_or_default();
    LoadError::one_line(
        &format!("{}, line {line}", shown_source(source)),
        &format!("not UTF-8 text (byte 0x{byte:02x})"),
    )
}

fn line_ends(bytes: &[u8]) -> usize {
    bytes.iter().filter(|b| **b == b'\n').count()
}

/// A reader that checks bytes as [`decode`] does. Invalid UTF-8 is an error of reading, with a [`LoadError`] inside.
pub(crate) struct Utf8<R> {
    from: R,
    source: String,
    line: usize,
    /// The beginning of a character that is not complete yet.
    begun: Vec<u8>,
    /// The first bytes of the source.
    first: Vec<u8>,
}

impl<R: Read> Utf8<R> {
    /// The bytes of a source.
    pub(crate) fn new(from: R, source: &str) -> Utf8<R> {
        Utf8 { from, source: source.to_owned(), line: 1, begun: Vec::new(), first: Vec::new() }
    }

    /// Tells if the text begins with a byte order mark.
    pub(crate) fn has_mark(&self) -> bool {
        self.first == "\u{feff}".as_bytes()
    }

    fn check(&mut self, mut bytes: &[u8]) -> Result<()> {
        let missing = 3 - self.first.len();
        self.first.extend(bytes.iter().take(missing));
        while let (false, [next, rest @ ..]) = (self.begun.is_empty(), bytes) {
            self.begun.push(*next);
            bytes = rest;
            match std::str::from_utf8(&self.begun) {
                Ok(_) => self.begun.clear(),
                Err(error) if error.error_len().is_none() => {}
                Err(_) => return Err(no_text(&self.source, self.line, &self.begun)),
            }
        }
        let (good, bad) = match std::str::from_utf8(bytes) {
            Ok(_) => (bytes, &[][..]),
            Err(error) if error.error_len().is_none() => bytes.split_at(error.valid_up_to()),
            Err(error) => {
                let (good, bad) = bytes.split_at(error.valid_up_to());
                return Err(no_text(&self.source, self.line + line_ends(good), bad));
            }
        };
        self.line += line_ends(good);
        self.begun.extend(bad);
        Ok(())
    }
}

impl<R: Read> Read for Utf8<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(into)?;
        if count == 0 && !into.is_empty() && !self.begun.is_empty() {
            return Err(io::Error::other(no_text(&self.source, self.line, &self.begun)));
        }
        self.check(&into[..count]).map_err(io::Error::other)?;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_the_first_bad_byte_is_named() {
        let error = decode(b"one\ntwo\xe9\n", "x.data").unwrap_err();
        assert_eq!(error.to_string(), "x.data, line 2: not UTF-8 text (byte 0xe9)");
        assert_eq!(decode("é".as_bytes(), "x"), Ok("é"));
    }

    /// Returns at most this many bytes at a time.
    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(into.len()).min(self.0.len());
            self.0.read(&mut into[..count])
        }
    }

    #[test]
    fn bytes_on_their_way_are_checked_in_the_same_way() {
        let texts: [&[u8]; 8] = [
            "aé\n\u{1f600}b".as_bytes(),
            b"",
            b"one\ntwo\xe9\n",
            b"\xff",
            b"\n\n\xf0\x9f\x98",
            b"\n\xf0\x9f\n\x98",
            b"\xed\xa0\x80",
            b"\xc3\xa9\n\xc3",
        ];
        for text in texts {
            for size in 1..6 {
                let mut reader = Utf8::new(Pieces(text, size), "x");
                let mut bytes = Vec::new();
                let read = reader.read_to_end(&mut bytes).map_err(|error| error.to_string());
                let whole = decode(text, "x").map_err(|error| error.to_string());
                assert_eq!(read.map(|_| bytes.as_slice()), whole.map(str::as_bytes), "{text:?} {size}");
                assert!(!reader.has_mark());
            }
        }
        let mut reader = Utf8::new("\u{feff}[]".as_bytes(), "x");
        assert!(reader.read_to_end(&mut Vec::new()).is_ok() && reader.has_mark());
    }
}
