//! Input that may be compressed.

use std::io::{self, Read};

use super::local::Limited;

/// Unpacks gzip and bzip2, recognised by their first bytes; other input is passed on as it is. More than `most` bytes,
/// packed or unpacked, are an error of reading.
///
/// # Errors
/// If the input cannot be read.
pub fn unpacked<'a>(from: impl Read + 'a, most: u64) -> io::Result<Box<dyn Read + 'a>> {
    let mut from = Limited::new(from, most);
    let mut first = Vec::new();
    from.by_ref().take(3).read_to_end(&mut first)?;
    let is = |mark: &[u8]| first.starts_with(mark);
    let (gzip, bzip) = (is(&[0x1f, 0x8b]), is(b"BZh"));
    let whole = io::Cursor::new(first).chain(from);
    Ok(match (gzip, bzip) {
        (true, _) => Box::new(Unpacking(Limited::new(flate2::read::MultiGzDecoder::new(whole), most))),
        (_, true) => Box::new(Unpacking(Limited::new(bzip2::read::MultiBzDecoder::new(whole), most))),
        _ => Box::new(whole),
    })
}

/// Bytes that are being unpacked.
struct Unpacking<R>(R);

impl<R: Read> Read for Unpacking<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into).map_err(|e| io::Error::new(e.kind(), format!("not unpacked: {e}")))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn all(bytes: &[u8], most: u64) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        unpacked(bytes, most)?.read_to_end(&mut all)?;
        Ok(all)
    }

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
            assert_eq!(all(&bytes, 60).unwrap(), b"<cib/>");
        }
    }

    #[test]
    fn bombs_and_ruins_are_errors() {
        let zeros = vec![0; 1 << 20];
        for bytes in [gzip(&zeros), bzip(&zeros)] {
            assert!(bytes.len() < 10_000);
            let error = all(&bytes, 10_000).unwrap_err().to_string();
            assert_eq!(error, "not unpacked: more than 10000 bytes");
        }
        for mut bytes in [gzip(b"<cib/>"), bzip(b"<cib/>")] {
            bytes.truncate(bytes.len() / 2);
            assert!(all(&bytes, 1000).unwrap_err().to_string().starts_with("not unpacked: "));
        }
        assert_eq!(all(b"<cib/>", 5).unwrap_err().to_string(), "more than 5 bytes");
    }
}
