//! Which servers are believed (`--rapi-cacert`).

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

/// Most bytes of a file.
const SIZE: u64 = 1 << 20;

/// A certificate that is trusted as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pinned {
    /// As DER, the form in which a server sends its own.
    der: CertificateDer<'static>,
    /// The first second in which it is valid, since 1970.
    pub(super) begin: u64,
    /// The last one.
    pub(super) end: u64,
}

/// Certificates that are trusted.
#[derive(Debug, Clone)]
pub(super) struct Trusted {
    /// The file that they are from.
    pub(super) source: String,
    certificates: Vec<Pinned>,
    /// Those that may sign others.
    authorities: RootCertStore,
}

impl Trusted {
    /// Reads a file of certificates in PEM form.
    ///
    /// # Errors
    /// A file that cannot be read, or that holds anything else.
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

    /// Trusts one more; nothing if it is no certificate.
    fn add(&mut self, der: CertificateDer<'static>) -> Option<()> {
        let read = Certificate::from_der(&der).ok()?.tbs_certificate;
        let anchor = anchor_from_trusted_cert(&der).ok()?.to_owned();
        // those of version 1 cannot say so
        if read.get::<BasicConstraints>().ok()?.is_some_and(|(_, limits)| limits.ca) {
            self.authorities.roots.push(anchor);
        }
        let [begin, end] =
            [read.validity.not_before, read.validity.not_after].map(|time| time.to_unix_duration().as_secs());
        self.certificates.push(Pinned { der, begin, end });
        Some(())
    }

    /// The certificate that is exactly this one.
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
