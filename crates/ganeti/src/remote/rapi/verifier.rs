//! Trust in servers, decided in the TLS handshake, before anything is sent.
//!
//! * Without trusted certificates any server is accepted, as in the reference: Ganeti's own certificates do not name a
//!   certain host.
//! * A server that presents one of the trusted certificates is accepted whatever host it names (*pinned*), during the
//!   certificate's validity. Only the owner of its private key can finish the handshake.
//! * Any other server must present a certificate for its host, with a chain of signatures to a trusted certificate of
//!   an authority.
//!
//! All cryptography is the library's. But the library does not extract the key from a certificate of version 1, such as
//! Ganeti's, to verify the signature of a handshake. For TLS 1.3 it verifies the signature with a bare key, and for TLS
//! 1.2 this module does the same.

use std::fmt;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, PeerMisbehaved, SignatureScheme};
use webpki::{RawPublicKeyEntity, anchor_from_trusted_cert, spki_for_anchor};

use super::certificates::Trusted;

/// Reason that a server is not trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Distrust {
    /// The certificate is not pinned, and has no chain to an authority.
    #[error("it is not in the file, and no certificate in the file signed it")]
    Unknown,
    /// The certificate is for another host.
    #[error("it is not for this host")]
    OtherHost,
    /// The certificate has expired.
    #[error("it has expired")]
    Expired,
    /// The certificate is not valid yet.
    #[error("it is not valid yet")]
    Early,
    /// The signature was not made with the key of the certificate.
    #[error("the server does not have the key of the certificate")]
    WrongKey,
    /// Any other fault that the verification found.
    #[error("it is not a server certificate that can be checked")]
    Unusable,
}

impl From<Distrust> for Error {
    fn from(reason: Distrust) -> Error {
        Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(reason))))
    }
}

impl Distrust {
    /// Reason from the library's error.
    pub(super) fn of(error: &CertificateError) -> Distrust {
        match error {
            CertificateError::Other(OtherError(inner)) => {
                inner.downcast_ref().copied().unwrap_or(Distrust::Unusable)
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => Distrust::Expired,
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => Distrust::Early,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                Distrust::OtherHost
            }
            // It may have been signed by another authority of the same name.
            CertificateError::UnknownIssuer | CertificateError::BadSignature => Distrust::Unknown,
            _ => Distrust::Unusable,
        }
    }
}

/// Verifier of servers' certificates.
pub(super) struct Verifier {
    trusted: Option<Trusted>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier").field("trusted", &self.trusted).finish_non_exhaustive()
    }
}

impl Verifier {
    /// Trusts servers with these certificates, or any server if there are none.
    pub(super) fn new(trusted: Option<Trusted>, algorithms: WebPkiSupportedAlgorithms) -> Verifier {
        Verifier { trusted, algorithms }
    }

    fn has_chain(
        &self,
        trusted: &Trusted,
        shown: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        host: &ServerName<'_>,
        now: UnixTime,
    ) -> Result<(), Error> {
        // A certificate of version 1 cannot be parsed as a server's; it would have to be pinned.
        let shown = ParsedCertificate::try_from(shown).map_err(|_| Distrust::Unknown)?;
        let roots = trusted.authorities();
        verify_server_cert_signed_by_trust_anchor(&shown, roots, between, now, self.algorithms.all)?;
        verify_server_name(&shown, host)
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        host: &ServerName<'_>,
        _ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if let Some(trusted) = &self.trusted {
            match trusted.pinned(shown) {
                Some(pinned) if now.as_secs() < pinned.begin => return Err(Distrust::Early.into()),
                Some(pinned) if now.as_secs() > pinned.end => return Err(Distrust::Expired.into()),
                Some(_) => {}
                None => self.has_chain(trusted, shown, between, host, now)?,
            }
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        if self.trusted.is_none() {
            // Without trusted certificates, the owner of the key does not matter.
            return Ok(HandshakeSignatureValid::assertion());
        }
        let key = key_of(shown)?;
        let key = RawPublicKeyEntity::try_from(&key).map_err(|_| Distrust::Unusable)?;
        let known = self.algorithms.mapping.iter().find(|(scheme, _)| *scheme == signed.scheme);
        // TLS 1.2 names an algorithm without the curve, so there are several candidates.
        let (_, choice) = known.ok_or(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme)?;
        let fits = |algorithm| key.verify_signature(algorithm, message, signed.signature()).is_ok();
        if choice.iter().any(|algorithm| fits(*algorithm)) {
            Ok(HandshakeSignatureValid::assertion())
        } else {
            Err(Distrust::WrongKey.into())
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        if self.trusted.is_none() {
            return Ok(HandshakeSignatureValid::assertion());
        }
        verify_tls13_signature_with_raw_key(message, &key_of(shown)?, signed, &self.algorithms)
            .map_err(|_| Distrust::WrongKey.into())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// The public key in a certificate of any version.
fn key_of(certificate: &CertificateDer<'_>) -> Result<SubjectPublicKeyInfoDer<'static>, Error> {
    let parts = anchor_from_trusted_cert(certificate).map_err(|_| Distrust::Unusable)?;
    Ok(spki_for_anchor(&parts))
}
