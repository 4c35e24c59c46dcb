//! Texts that may be compressed.

use std::io::Read;

use super::encoding::decode;
use super::error::{LoadError, Result};
use super::local::read_limited;
use crate::model::shown::shown_source;

/// The text of bytes that are gzip's, bzip2's, or the text itself: what they are, their first bytes say.
///
/// # Errors
/// They cannot be unpacked, are no UTF-8, or come to more than `most` bytes.
pub(crate) fn unpack(bytes: Vec<u8>, source: &str, most: u64) -> Result<String> {
    let unpacked = |from: &mut dyn Read| {
        let problem = |e: std::io::Error| format!("cannot be unpacked: {e}");
        read_limited(from, most).map_err(|e| LoadError::one_line(&shown_source(source), &problem(e)))
    };
    let bytes = match &bytes[..] {
        [0x1f, 0x8b, ..] => unpacked(&mut flate2::read::MultiGzDecoder::new(&bytes[..]))?,
        [b'B', b'Z', b'h', ..] => unpacked(&mut bzip2::read::MultiBzDecoder::new(&bytes[..]))?,
        _ => bytes,
    };
    let wrong = |error: std::string::FromUtf8Error| match decode(error.as_bytes(), source) {
        Err(problem) => problem,
        Ok(_) => LoadError::one_line(&shown_source(source), "not UTF-8 text"),
    };
    String::from_utf8(bytes).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(text).unwrap();
        packed.finish().unwrap()
    }

    fn bzip(text: &[u8]) -> Vec<u8> {
        let mut packed = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        packed.write_all(text).unwrap();
        packed.finish().unwrap()
    }

    #[test]
    fn three_ways_to_say_the_same() {
        for bytes in [b"<cib/>".to_vec(), gzip(b"<cib/>"), bzip(b"<cib/>")] {
            assert_eq!(unpack(bytes, "x", 6).unwrap(), "<cib/>");
        }
    }

    #[test]
    fn bombs_and_ruins_are_errors() {
        let zeros = vec![0; 1 << 20];
        for bytes in [gzip(&zeros), bzip(&zeros)] {
            let error = unpack(bytes, "bomb", 1000).unwrap_err().to_string();
            assert_eq!(error, "bomb: cannot be unpacked: more than 1000 bytes");
        }
        for mut bytes in [gzip(b"<cib/>"), bzip(b"<cib/>")] {
            bytes.truncate(bytes.len() / 2);
            assert!(unpack(bytes, "x", 1000).unwrap_err().to_string().starts_with("x: cannot be unpacked: "));
        }
        assert!(unpack(vec![b'<', 0xff], "x", 1000).unwrap_err().to_string().contains("not UTF-8"));
    }
}
