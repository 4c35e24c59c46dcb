//! The exporter: a server that is polled until it has read its cluster once.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

/// Pause between two requests.
const PAUSE: Duration = Duration::from_millis(10);
/// A figure that the exporter shows only after it has read a cluster.
const READ: &str = "\nhtools_cluster_score";

/// A server that is killed when it is dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // it may have ended already
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Time in seconds from the start to the first figures of a cluster in a text file, if within the limit.
pub fn time(program: &Path, input: &Path, limit: Duration) -> anyhow::Result<Option<f64>> {
    let start = Instant::now();
    let mut command = Command::new(program);
    command.env_remove("HTOOLS").env("HTOOLS_CONFIG", "");
    command
        .args(["exporter", "--listen", "127.0.0.1:0", "--every", "3600", "--timeout", "3600", "-t"])
        .arg(input);
    command.args(["--time-limit", "1"]);
    let mut server = Server(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?);
    let mut lines = BufReader::new(server.0.stderr.take().context("standard error is a pipe")?);
    let mut first = String::new();
    lines.read_line(&mut first)?;
    let address = first.strip_prefix("Listening on http://").and_then(|rest| rest.split('/').next());
    let address = address.with_context(|| format!("the exporter said: {first}"))?.to_owned();
    while start.elapsed() < limit {
        ensure!(server.0.try_wait()?.is_none(), "the exporter has ended");
        if scrape(&address)?.contains(READ) {
            return Ok(Some(start.elapsed().as_secs_f64()));
        }
        sleep(PAUSE.max(start.elapsed() / 50));
    }
    Ok(None)
}

fn scrape(address: &str) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
