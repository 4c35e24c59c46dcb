//! Which servers are believed (`--rapi-cacert`).

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use native_tls::Certificate;

use crate::load::error::{LoadError, Result, shown_source};

/// Most bytes of a file.
const SIZE: u64 = 1 << 20;

/// Certificates that are trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trusted {
    /// The file that they are from.
    pub(super) source: String,
    /// Each as DER, the form in which a server sends its own.
    pub(super) certificates: Vec<Vec<u8>>,
}

impl Trusted {
    /// Reads a file of certificates in PEM form.
    ///
    /// # Errors
    /// A file that cannot be read, or that holds anything else.
    pub(super) fn read(path: &Path) -> Result<Trusted> {
        let source = path.to_string_lossy().into_owned();
        let wrong = |problem: &str| LoadError::one_line(&shown_source(&source), problem);
        let unreadable = |e: std::io::Error| wrong(&format!("cannot be read: {e}"));
        // a pipe without a writer would wait for ever when it is opened
        if !fs::metadata(path).map_err(unreadable)?.is_file() {
            return Err(wrong("not a regular file"));
        }
        let mut bytes = Vec::new();
        File::open(path).and_then(|file| file.take(SIZE + 1).read_to_end(&mut bytes)).map_err(unreadable)?;
        if bytes.len() as u64 > SIZE {
            return Err(wrong(&format!("more than {SIZE} bytes")));
        }
        let broken = || wrong("not a file of certificates in PEM form");
        let certificates = Certificate::stack_from_pem(&bytes).map_err(|_| broken())?;
        let certificates: std::result::Result<Vec<_>, _> =
            certificates.iter().map(Certificate::to_der).collect();
        let certificates = certificates.map_err(|_| broken())?;
        if certificates.is_empty() {
            return Err(wrong("no certificate in PEM form"));
        }
        Ok(Trusted { source, certificates })
    }

    /// Whether exactly this certificate is one of them.
    pub(super) fn contains(&self, certificate: &[u8]) -> bool {
        self.certificates.iter().any(|trusted| trusted == certificate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_certificates() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("c.pem");
        let problem = |content: &[u8]| {
            fs::write(&path, content).unwrap();
            Trusted::read(&path).unwrap_err().problem
        };
        assert_eq!(problem(b""), "no certificate in PEM form");
        assert_eq!(problem(b"\xff\0"), "no certificate in PEM form");
        let broken = b"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
        assert_eq!(problem(broken), "not a file of certificates in PEM form");
        assert_eq!(problem(&vec![b'x'; SIZE as usize + 1]), "more than 1048576 bytes");
        assert_eq!(Trusted::read(dir.path()).unwrap_err().problem, "not a regular file");
        assert!(Trusted::read(&dir.path().join("n")).unwrap_err().problem.starts_with("cannot be read: "));
    }
}
