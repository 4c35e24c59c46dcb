//! The part of LUXI that the suite needs: JSON texts, each ended by a special byte.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::{Value, json};

/// The end of a message.
pub const END: u8 = 3;

/// Longest wait for an answer.
const LIMIT: Duration = Duration::from_secs(300);

/// Sends a message.
pub fn send(stream: &mut impl Write, message: &str) -> std::io::Result<()> {
    stream.write_all(&[message.as_bytes(), &[END]].concat())
}

/// Splits a stream into messages.
#[derive(Debug, Default)]
pub struct Messages {
    rest: Vec<u8>,
}

impl Messages {
    /// The next message; none at the end.
    pub fn next(&mut self, stream: &mut impl Read) -> std::io::Result<Option<String>> {
        let mut chunk = [0; 65536];
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == END) {
                let message = self.rest.drain(..=end).collect::<Vec<u8>>();
                return Ok(Some(String::from_utf8_lossy(&message[..end]).into_owned()));
            }
            match stream.read(&mut chunk)? {
                0 => return Ok(None),
                count => self.rest.extend_from_slice(&chunk[..count]),
            }
        }
    }
}

/// Calls a method of the daemon at the socket.
pub fn call(socket: &str, method: &str, args: Value) -> anyhow::Result<Value> {
    let mut stream = UnixStream::connect(socket).with_context(|| format!("no daemon at {socket}"))?;
    stream.set_read_timeout(Some(LIMIT))?;
    send(&mut stream, &json!({"method": method, "args": args}).to_string())?;
    let answer = Messages::default().next(&mut stream)?.context("the daemon hung up")?;
    let mut answer: Value = serde_json::from_str(&answer)?;
    if answer["success"] != true {
        bail!("{method}: {}", answer["result"]);
    }
    Ok(answer["result"].take())
}

/// A job in Ganeti's queue.
#[derive(Debug, Clone)]
pub struct QueuedJob {
    pub id: u64,
    pub status: String,
    pub opcodes: Vec<Value>,
}

impl QueuedJob {
    /// Tells if the job has not ended yet.
    pub fn is_pending(&self) -> bool {
        !["success", "error", "canceled"].contains(&&*self.status)
    }

    /// Comment of the first opcode.
    pub fn comment(&self) -> &str {
        self.opcodes.first().map_or("", |opcode| opcode["comment"].as_str().unwrap_or_default())
    }
}

/// The jobs after `after`, archived ones included, oldest first.
pub fn jobs(socket: &str, after: u64) -> anyhow::Result<Vec<QueuedJob>> {
    let fields = json!(["id", "status", "ops", "archived"]);
    let answer = call(socket, "Query", json!(["job", fields, [">", "id", after]]))?;
    let row = |row: &Value| {
        let opcodes = row[2][1].as_array()?.clone();
        Some(QueuedJob { id: row[0][1].as_u64()?, status: row[1][1].as_str()?.to_owned(), opcodes })
    };
    let rows = answer["data"].as_array().context("no rows")?;
    let mut jobs: Vec<QueuedJob> = rows.iter().map(row).collect::<Option<_>>().context("odd jobs")?;
    jobs.sort_by_key(|job| job.id);
    Ok(jobs)
}

/// The number of the newest job.
pub fn newest(socket: &str) -> anyhow::Result<u64> {
    Ok(jobs(socket, 0)?.last().map_or(0, |job| job.id))
}
