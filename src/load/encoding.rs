//! Bytes to text.

use super::error::{LoadError, Result, shown_source};

/// Checks that a source is UTF-8. A byte order mark is not removed: no format
/// knows one, and the reference takes it as the first character.
pub fn decode<'a>(bytes: &'a [u8], source: &str) -> Result<&'a str> {
    std::str::from_utf8(bytes).map_err(|error| {
        let good = &bytes[..error.valid_up_to()];
        let line = 1 + good.iter().filter(|b| **b == b'\n').count();
        let byte = bytes.get(error.valid_up_to()).copied().unwrap_or_default();
        LoadError::one_line(
            &format!("{}, line {line}", shown_source(source)),
            &format!("not UTF-8 text (byte 0x{byte:02x})"),
        )
    })
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
}
