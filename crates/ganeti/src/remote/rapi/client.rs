//! HTTP clients; [`verifier`](super::verifier) decides which servers they trust.

use std::sync::Arc;

use reqwest::blocking::Client;
use reqwest::redirect::Policy;
use reqwest::retry;
use rustls::crypto::ring;
use rustls::{ClientConfig, DEFAULT_VERSIONS};

use super::FetchLimits;
use super::certificates::Trusted;
use super::verifier::Verifier;

/// A client that trusts servers with these certificates, or any server if there are none.
///
/// # Errors
/// If it cannot be built.
pub(super) fn client(trusted: Option<&Trusted>, manner: FetchLimits) -> reqwest::Result<Client> {
    let builder = if manner.proxies { Client::builder() } else { Client::builder().no_proxy() };
    builder
        .use_preconfigured_tls(tls(trusted))
        .connect_timeout(manner.connect)
        .timeout(manner.transfer)
        .redirect(Policy::none())
        // A call is one request on one connection: nothing is sent again automatically.
        .retry(retry::never())
        .pool_max_idle_per_host(0)
        .build()
}

fn tls(trusted: Option<&Trusted>) -> ClientConfig {
    let library = Arc::new(ring::default_provider());
    let verifier = Verifier::new(trusted.cloned(), library.signature_verification_algorithms);
    ClientConfig::builder_with_provider(library)
        .with_protocol_versions(DEFAULT_VERSIONS)
        .expect("ring has the suites of both versions")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth()
}
