//! Certificates of trusted servers (`--rapi-cacert`).

use std::path::Path;

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use webpki::anchor_from_trusted_cert;
use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::ext::pkix::BasicConstraints;

use crate::input::error::{LoadError, Result};
use crate::input::local::{Readers, read_regular};
use htools_model::shown::shown_source;

/// Maximum size of a file in bytes.
const SIZE: u64 = 1 << 20;

/// A certificate that is trusted as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pinned {
    /// DER encoding, in which a server sends its own.
    der: CertificateDer<'static>,
    /// Start of its validity, in seconds since 1970.
    pub(super) begin: u64,
    /// Last second of its validity.
    pub(super) end: u64,
}

/// Trusted certificates.
#[derive(Debug, Clone)]
pub(super) struct Trusted {
    /// The file that they were read from.
    pub(super) source: String,
    certificates: Vec<Pinned>,
    /// Certificates that may sign others.
    authorities: RootCertStore,
}

impl Trusted {
    /// Reads a file of certificates in PEM format.
    ///
    /// # Errors
    /// If the file cannot be read, or contains anything else.
    pub(super) fn read(path: &Path) -> Result<Trusted> {
        let source = path.to_string_lossy().into_owned();
        let wrong = |problem: &str| LoadError::one_line(&shown_source(&source), problem);
        let bytes = read_regular(path, SIZE, Readers::Anyone)?;
        Trusted::parse(&bytes, source.clone()).map_err(wrong)
    }

    fn parse(pem: &[u8], source: String) -> std::result::Result<Trusted, &'static str> {
        const BROKEN: &str = "not a file of certificates in PEM form";
        let mut trusted = Trusted { source, certificates: Vec::new(), authorities: RootCertStore::empty() };
        for der in CertificateDer::pem_slice_iter(pem) {
            trusted.add(der.map_err(|_| BROKEN)?).ok_or(BROKEN)?;
        }
        if trusted.certificates.is_empty() {
            return Err("no certificate in PEM form");
        }
        Ok(trusted)
    }

    /// Adds a certificate; returns `None` if it is not valid.
    fn add(&mut self, der: CertificateDer<'static>) -> Option<()> {
        let read = Certificate::from_der(&der).ok()?.tbs_certificate;
        let anchor = anchor_from_trusted_cert(&der).ok()?.to_owned();
        // Certificates of version 1 cannot state whether they may sign others.
        if read.get::<BasicConstraints>().ok()?.is_some_and(|(_, limits)| limits.ca) {
            self.authorities.roots.push(anchor);
        }
        let [begin, end] =
            [read.validity.not_before, read.validity.not_after].map(|time| time.to_unix_duration().as_secs());
        self.certificates.push(Pinned { der, begin, end });
        Some(())
    }

    /// The trusted certificate that equals this one.
    pub(super) fn pinned(&self, shown: &CertificateDer<'_>) -> Option<&Pinned> {
        self.certificates.iter().find(|trusted| trusted.der == *shown)
    }

    /// The certificates whose signatures on others are trusted.
    pub(super) fn authorities(&self) -> &RootCertStore {
        &self.authorities
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

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
        assert_eq!(problem(&vec![b'x'; (1 << 20) + 1]), "more than 1048576 bytes");
        assert_eq!(Trusted::read(dir.path()).unwrap_err().problem, "not a regular file");
        assert!(Trusted::read(&dir.path().join("n")).unwrap_err().problem.starts_with("cannot be read: "));
    }
}
