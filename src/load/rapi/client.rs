//! HTTP clients, and whom they believe.
//!
//! Without trusted certificates a client believes any server, as the reference does:
//! Ganeti's own certificates are made for no host in particular.
//!
//! With them, a server has to show one that is trusted itself, whatever host it names
//! (*pinned*), or one for its host that is signed by one that is trusted. Which of the two
//! it is has to be known before a password is sent, and TLS gives us the certificate only
//! together with an answer. So the first request is one for `/version` without user and
//! password, to a client that believes everybody, just to see the certificate. It
//! decides nothing but by which rule the server is checked from then on:
//!
//! * if it is one of the trusted ones, the real client trusts this one only, and does
//!   not compare host names. Then only who holds its private key can finish a
//!   handshake, because nobody else can sign what leads to it; and the certificate of
//!   each answer is compared once more;
//! * if it is not, the real client trusts all of the file and compares host names.
//!
//! Either way the real client checks each of its connections before it sends
//! anything: whoever stands between only when it matters gains nothing.

use reqwest::blocking::{Client, ClientBuilder, Response};
use reqwest::redirect::Policy;
use reqwest::tls::TlsInfo;
use reqwest::{Certificate, Url, retry};

use super::Manner;
use super::certificates::Trusted;

/// A client, and the only certificate that it believes if there is just one.
#[derive(Clone)]
pub(super) struct Checked {
    pub(super) client: Client,
    pinned: Option<Vec<u8>>,
}

impl Checked {
    /// A client for a server.
    pub(super) fn new(url: &Url, trusted: Option<&Trusted>, manner: Manner) -> reqwest::Result<Checked> {
        let Some(trusted) = trusted.filter(|_| url.scheme() == "https") else {
            return Ok(Checked { client: believing_all(manner).build()?, pinned: None });
        };
        let shown = certificate_of(url, manner)?;
        let pinned = shown.filter(|certificate| trusted.contains(certificate));
        let roots = pinned.as_ref().map_or(trusted.certificates.as_slice(), std::slice::from_ref);
        let mut builder = common(manner)
            .tls_built_in_root_certs(false)
            .tls_info(true)
            .danger_accept_invalid_hostnames(pinned.is_some());
        for root in roots {
            builder = builder.add_root_certificate(Certificate::from_der(root)?);
        }
        Ok(Checked { client: builder.build()?, pinned })
    }

    /// Whether an answer is from the server that is meant.
    pub(super) fn is_from(&self, response: &Response) -> bool {
        self.pinned.is_none() || peer_certificate(response) == self.pinned
    }
}

fn common(manner: Manner) -> ClientBuilder {
    let builder = if manner.proxies { Client::builder() } else { Client::builder().no_proxy() };
    builder
        .connect_timeout(manner.connect)
        .timeout(manner.transfer)
        .redirect(Policy::none())
        // a call is one request on one connection: nothing is sent again behind our back
        .retry(retry::never())
        .pool_max_idle_per_host(0)
}

fn believing_all(manner: Manner) -> ClientBuilder {
    common(manner).danger_accept_invalid_certs(true).danger_accept_invalid_hostnames(true)
}

/// The certificate that a server shows.
fn certificate_of(url: &Url, manner: Manner) -> reqwest::Result<Option<Vec<u8>>> {
    let mut url = url.clone();
    // of a URL that is not one for everything these do nothing, and nothing is lost
    let _ = (url.set_username(""), url.set_password(None));
    url.set_path("/version");
    url.set_query(None);
    let client = believing_all(manner).tls_info(true).build()?;
    Ok(peer_certificate(&client.get(url).send()?))
}

fn peer_certificate(response: &Response) -> Option<Vec<u8>> {
    response.extensions().get::<TlsInfo>()?.peer_certificate().map(<[u8]>::to_vec)
}
