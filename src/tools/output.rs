//! Writing to standard output and standard error without panicking.
//!
//! Errors of these two streams are marked as such, so that a reader who has
//! seen enough (`hbal ... | head`) ends the program quietly, while a broken
//! connection to a cluster stays an error.

use std::io::{self, BufWriter, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// An error of standard output or standard error.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to {stream}")]
pub struct OutputError {
    /// Which of the two.
    stream: &'static str,
    source: io::Error,
}

/// A stream whose errors are marked.
struct Stream {
    name: &'static str,
    inner: Box<dyn Write>,
}

impl Stream {
    fn mark<T>(&self, result: io::Result<T>) -> io::Result<T> {
        // an interrupted write is tried again by the caller, so it stays as it is
        result.map_err(|source| match source.kind() {
            io::ErrorKind::Interrupted => source,
            kind => io::Error::new(kind, OutputError { stream: self.name, source }),
        })
    }
}

impl Write for Stream {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let result = self.inner.write(buf);
        self.mark(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.inner.flush();
        self.mark(result)
    }
}

/// Where a program writes. Standard output is locked and buffered: call
/// [`flush`](Output::flush) at the end, or errors go unnoticed. Standard error
/// is written at once, after what standard output holds, so that the two keep
/// their order on a terminal.
pub struct Output {
    out: Stream,
    err: Stream,
}

impl Output {
    /// The streams of the process.
    pub fn standard() -> Self {
        // standard error is not locked: a panic on another thread must be able to report itself
        Output::to(Box::new(BufWriter::new(io::stdout().lock())), Box::new(io::stderr()))
    }

    /// Any two streams.
    pub fn to(out: Box<dyn Write>, err: Box<dyn Write>) -> Self {
        Output {
            out: Stream { name: "standard output", inner: out },
            err: Stream { name: "standard error", inner: err },
        }
    }

    /// Standard output, for code that writes to any stream.
    pub fn stdout(&mut self) -> &mut dyn Write {
        &mut self.out
    }

    /// Writes text.
    pub fn write(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())
    }

    /// Writes a line.
    pub fn line(&mut self, text: &str) -> io::Result<()> {
        self.write(text)?;
        self.write("\n")
    }

    /// Writes text to standard error.
    pub fn error_write(&mut self, text: &str) -> io::Result<()> {
        self.out.flush()?;
        self.err.write_all(text.as_bytes())?;
        self.err.flush()
    }

    /// Writes a line to standard error.
    pub fn error_line(&mut self, text: &str) -> io::Result<()> {
        self.error_write(&format!("{text}\n"))
    }

    /// Hands everything written so far to the system.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The two streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Channel {
    Out,
    Err,
}

/// What was written, stream by stream, in order.
type Written = Vec<(Channel, Vec<u8>)>;

/// Text that waits for its turn, as work that is done side by side produces it.
#[derive(Debug, Clone, Default)]
pub struct Recording {
    written: Arc<Mutex<Written>>,
}

/// One of the streams of a recording.
struct Recorder {
    channel: Channel,
    written: Arc<Mutex<Written>>,
}

impl Write for Recorder {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        match written.last_mut() {
            Some((channel, last)) if *channel == self.channel => last.extend_from_slice(text),
            _ => written.push((self.channel, text.to_vec())),
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Recording {
    /// An output that goes here.
    pub fn output(&self) -> Output {
        let stream = |channel| Box::new(Recorder { channel, written: Arc::clone(&self.written) });
        Output::to(stream(Channel::Out), stream(Channel::Err))
    }

    /// Writes what was recorded.
    pub fn replay(&self, output: &mut Output) -> io::Result<()> {
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.iter().try_for_each(|(channel, text)| match channel {
            Channel::Out => output.out.write_all(text),
            Channel::Err => {
                output.out.flush()?;
                output.err.write_all(text)
            }
        })
    }
}

/// Whether an error means that nobody reads the output any more.
pub fn reader_is_gone(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|e| {
            e.kind() == io::ErrorKind::BrokenPipe
                && e.get_ref().is_some_and(|inner| inner.is::<OutputError>())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    struct Failing(io::ErrorKind);

    impl Write for Failing {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn failing(kind: io::ErrorKind) -> anyhow::Error {
        let mut output = Output::to(Box::new(Failing(kind)), Box::new(io::sink()));
        output.line("text").context("while printing").unwrap_err()
    }

    #[test]
    fn a_recording_keeps_both_streams_in_order() {
        let first = Recording::default();
        let mut output = first.output();
        output.line("one").unwrap();
        output.write("two").unwrap();
        output.error_line("three").unwrap();
        output.line("four").unwrap();
        let second = Recording::default();
        first.replay(&mut second.output()).unwrap();
        let written = second.written.lock().unwrap().clone();
        let wanted = [(Channel::Out, "one\ntwo"), (Channel::Err, "three\n"), (Channel::Out, "four\n")];
        assert_eq!(written, wanted.map(|(channel, text)| (channel, text.as_bytes().to_vec())));
    }

    #[test]
    fn a_closed_pipe_is_recognised_below_context() {
        assert!(reader_is_gone(&failing(io::ErrorKind::BrokenPipe)));
    }

    #[test]
    fn a_full_disk_is_an_error_that_names_the_stream() {
        let error = failing(io::ErrorKind::StorageFull);
        assert!(!reader_is_gone(&error));
        assert!(format!("{error:#}").contains("cannot write to standard output"), "{error:#}");
    }

    #[test]
    fn a_broken_connection_elsewhere_is_an_error() {
        assert!(!reader_is_gone(&io::Error::from(io::ErrorKind::BrokenPipe).into()));
    }
}
