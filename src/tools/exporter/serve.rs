//! The HTTP server. It answers short requests at once and cannot be blocked by slow clients.
//!
//! Each connection serves one request and has a time limit, both for the request's head and in total. The number of
//! connections is limited. A new one above the limit replaces the oldest, so idle connections keep nobody out.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use signal_hook::iterator::Signals;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// Most connections at a time.
const CONNECTIONS: usize = 64;
/// Longest time for the head of a request.
const HEAD: Duration = Duration::from_secs(5);
/// Longest time for a connection.
const WHOLE: Duration = Duration::from_secs(30);
/// Most bytes of a request's head.
const HEAD_SIZE: usize = 16 << 10;
/// Time that open connections have to finish when the program ends.
const FAREWELL: Duration = Duration::from_secs(1);
/// Pause after a connection could not be accepted, for instance because too many files are open.
const TROUBLE: Duration = Duration::from_millis(100);

/// Content type that Prometheus expects.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";
const INDEX: &str = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>htools exporter</title></head>\n\
    <body><p>htools exporter: <a href=\"/metrics\">metrics</a> of Ganeti clusters.</p></body></html>\n";

type HttpAnswer = Response<Full<Bytes>>;

/// Serves what `metrics` returns, until a signal comes.
///
/// # Errors
/// Errors of the system.
pub(super) fn serve(
    listener: TcpListener,
    metrics: impl Fn() -> String + Send + Sync + 'static,
    mut signals: Signals,
) -> io::Result<()> {
    let (sender, end) = oneshot::channel();
    thread::Builder::new().spawn(move || {
        signals.forever().next();
        // The server may have ended already.
        let _ = sender.send(());
    })?;
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    runtime.block_on(async move {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let open = Arc::new(Connections::default());
        let taking = tokio::spawn(take(listener, Arc::new(metrics), Arc::clone(&open)));
        // An error means that the signal thread has ended.
        let _ = end.await;
        taking.abort();
        open.finish().await;
        Ok(())
    })
}

/// The connections, the oldest first.
#[derive(Default)]
struct Connections(Mutex<VecDeque<JoinHandle<()>>>);

impl Connections {
    fn add(&self, connection: JoinHandle<()>) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|connection| !connection.is_finished());
        while open.len() >= CONNECTIONS {
            open.pop_front().iter().for_each(JoinHandle::abort);
        }
        open.push_back(connection);
    }

    /// Waits for open connections, for at most [`FAREWELL`].
    async fn finish(&self) {
        let open = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let all = async {
            for connection in open {
                let _ = connection.await;
            }
        };
        let _ = timeout(FAREWELL, all).await;
    }
}

/// Accepts connections for ever.
async fn take<M>(listener: tokio::net::TcpListener, metrics: Arc<M>, open: Arc<Connections>)
where
    M: Fn() -> String + Send + Sync + 'static,
{
    loop {
        match listener.accept().await {
            Ok((stream, _)) => open.add(tokio::spawn(attend(stream, Arc::clone(&metrics)))),
            Err(_) => sleep(TROUBLE).await,
        }
    }
}

/// Answers one request.
async fn attend<M>(stream: TcpStream, metrics: Arc<M>)
where
    M: Fn() -> String + Send + Sync + 'static,
{
    let service = service_fn(|request| {
        let answer = answer(request.method(), request.uri().path(), &*metrics);
        async { Ok::<HttpAnswer, Infallible>(answer) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(HEAD_SIZE)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    // Malformed requests and dropped connections get no further answer.
    let _ = timeout(WHOLE, connection).await;
}

fn answer(method: &Method, path: &str, metrics: &dyn Fn() -> String) -> HttpAnswer {
    if !matches!(*method, Method::GET | Method::HEAD) {
        let mut answer = reply(StatusCode::METHOD_NOT_ALLOWED, TEXT, "only GET and HEAD\n");
        answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return answer;
    }
    match path {
        "/metrics" => reply(StatusCode::OK, METRICS, metrics()),
        "/" => reply(StatusCode::OK, HTML, INDEX),
        "/-/healthy" => reply(StatusCode::OK, TEXT, "healthy\n"),
        _ => reply(StatusCode::NOT_FOUND, TEXT, "there is only /metrics, /-/healthy and /\n"),
    }
}

fn reply(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> HttpAnswer {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    answer
}
