//! Output to standard output and standard error, without panics.
//!
//! All output of the programs passes through here. Control characters and characters that change the writing
//! direction are escaped: always on standard error, and on standard output if it is a terminal. Names may contain
//! such characters, and their authors must not control the terminal of the reader. Otherwise standard output stays
//! unchanged, byte for byte, for programs.
//!
//! Errors of these two streams are marked. A closed pipe (`hbal ... | head`) can then end the program quietly, while
//! a broken connection to a cluster remains an error.

use std::cell::Cell;
use std::env;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::rc::Rc;
use std::str;
use std::sync::{Arc, Mutex, PoisonError};

use crate::model::shown::{printable, printable_lines};
use crate::report::form::metrics::Sheet;
use crate::report::form::tone::Tone;
use htools_model::words;

words!(
    /// Use of colours in lines.
    #[derive(Default)]
    pub ColourUse, "use of colours" {
        Always = "always",
        Never = "never",
        /// On terminals, unless the environment forbids colours.
        #[default]
        Auto = "auto",
    }
);

impl ColourUse {
    fn is_on(self, is_shown: bool) -> bool {
        match self {
            ColourUse::Always => true,
            ColourUse::Never => false,
            // https://no-color.org
            ColourUse::Auto => {
                is_shown
                    && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
                    && env::var_os("TERM").is_some_and(|term| term != "dumb")
            }
        }
    }
}

/// An error of standard output or standard error.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to {stream}")]
pub(crate) struct OutputError {
    /// Name of the stream.
    stream: &'static str,
    source: io::Error,
}

/// A stream whose errors are marked.
struct MarkedStream {
    name: &'static str,
    inner: Box<dyn Write>,
}

impl MarkedStream {
    fn mark<T>(&self, result: io::Result<T>) -> io::Result<T> {
        // The caller retries an interrupted write, so the error stays unmarked.
        result.map_err(|source| match source.kind() {
            io::ErrorKind::Interrupted => source,
            kind => io::Error::new(kind, OutputError { stream: self.name, source }),
        })
    }
}

impl Write for MarkedStream {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let result = self.inner.write(buf);
        self.mark(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.inner.flush();
        self.mark(result)
    }
}

/// Escapes control characters; line breaks and tabs pass.
struct Escaping<W> {
    inner: W,
    /// Start of a character whose remaining bytes have not been written yet.
    begun: Vec<u8>,
    /// True while the program writes its own sequences, which are not escaped.
    is_own: Rc<Cell<bool>>,
}

impl<W: Write> Escaping<W> {
    fn new(inner: W, is_own: Rc<Cell<bool>>) -> Self {
        Escaping { inner, begun: Vec::new(), is_own }
    }
}

impl<W: Write> Write for Escaping<W> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        if self.is_own.get() {
            return self.inner.write(text);
        }
        let all = [&std::mem::take(&mut self.begun), text].concat();
        let mut rest = &all[..];
        loop {
            match str::from_utf8(rest) {
                Ok(good) => {
                    self.inner.write_all(printable_lines(good).as_bytes())?;
                    return Ok(text.len());
                }
                Err(error) => {
                    let (good, bad) = rest.split_at(error.valid_up_to());
                    let good = str::from_utf8(good).unwrap_or_default();
                    self.inner.write_all(printable_lines(good).as_bytes())?;
                    match error.error_len() {
                        Some(length) => {
                            self.inner.write_all("\u{fffd}".as_bytes())?;
                            rest = &bad[length..];
                        }
                        None => {
                            self.begun = bad.to_vec();
                            return Ok(text.len());
                        }
                    }
                }
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Size of the buffer for standard output, in bytes. Some tools write hundreds of megabytes.
const BUFFER: usize = 64 << 10;

/// The output streams of a program. Standard output is locked and buffered: call [`flush`](Output::flush) at the end,
/// or errors go unnoticed. Standard error is written at once, after the buffered standard output, so that both keep
/// their order on a terminal.
pub struct Output {
    out: MarkedStream,
    err: MarkedStream,
    /// True if standard output is a terminal.
    is_shown: bool,
    has_colours: bool,
    /// True while the program's own control sequences pass unescaped.
    is_own: Rc<Cell<bool>>,
    /// Figures of the last result, if they are collected.
    figures: Option<Sheet>,
    /// Label of the cluster in the figures.
    figures_of: String,
}

impl Output {
    /// The streams of the process.
    pub fn standard() -> Self {
        let is_shown = io::stdout().is_terminal();
        let out = BufWriter::with_capacity(BUFFER, io::stdout().lock());
        let is_own = Rc::new(Cell::new(false));
        let out: Box<dyn Write> =
            if is_shown { Box::new(Escaping::new(out, Rc::clone(&is_own))) } else { Box::new(out) };
        // Standard error is not locked, so that a panic in another thread can report itself.
        let err = Escaping::new(io::stderr(), Rc::default());
        Output { is_shown, is_own, ..Output::to(out, Box::new(err)) }
    }

    /// Any two streams; nothing is escaped.
    pub fn to(out: Box<dyn Write>, err: Box<dyn Write>) -> Self {
        Output {
            out: MarkedStream { name: "standard output", inner: out },
            err: MarkedStream { name: "standard error", inner: err },
            is_shown: false,
            has_colours: false,
            is_own: Rc::default(),
            figures: None,
            figures_of: String::new(),
        }
    }

    /// The same output with or without colours.
    pub fn with_colours(mut self, wanted: ColourUse) -> Output {
        self.set_colours(wanted);
        self
    }

    /// Uses colours from now on, or none.
    pub fn set_colours(&mut self, wanted: ColourUse) {
        self.has_colours = wanted.is_on(self.is_shown);
    }

    /// Tells if standard output is a terminal.
    pub fn is_shown(&self) -> bool {
        self.is_shown
    }

    /// Starts to collect figures, with `cluster` as their label.
    pub fn collect_figures(&mut self, cluster: String) {
        self.figures = Some(Sheet::of(cluster.clone()));
        self.figures_of = cluster;
    }

    /// Tells if figures are collected.
    pub fn wants_figures(&self) -> bool {
        self.figures.is_some()
    }

    /// Collects the figures of a result, replacing those of an earlier one.
    pub fn figures(&mut self, tell: impl FnOnce(&mut Sheet)) {
        if let Some(figures) = &mut self.figures {
            *figures = Sheet::of(self.figures_of.clone());
            tell(figures);
        }
    }

    /// Takes the collected figures.
    pub fn take_figures(&mut self) -> Option<Sheet> {
        self.figures.take()
    }

    /// Standard output, for code that writes to any stream.
    pub fn stdout(&mut self) -> &mut dyn Write {
        &mut self.out
    }

    pub fn write(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())
    }

    /// Writes a line. On a terminal, line breaks in the text are escaped.
    pub fn line(&mut self, text: &str) -> io::Result<()> {
        if self.is_shown {
            self.write(&one_line(text))?
        } else {
            self.write(text)?
        }
        self.write("\n")
    }

    /// Writes a line in the colour of its tone, if colours are on.
    pub fn toned_line(&mut self, tone: Tone, text: &str) -> io::Result<()> {
        if tone == Tone::Plain || !self.has_colours {
            return self.line(text);
        }
        let (begin, end) = tone.sequences();
        self.write_own(begin)?;
        self.write(&one_line(text))?;
        self.write_own(end)?;
        self.write("\n")
    }

    fn write_own(&mut self, sequence: &str) -> io::Result<()> {
        self.is_own.set(true);
        let result = self.write(sequence);
        self.is_own.set(false);
        result
    }

    /// Writes text to standard error.
    pub fn error_write(&mut self, text: &str) -> io::Result<()> {
        self.out.flush()?;
        self.err.write_all(text.as_bytes())?;
        self.err.flush()
    }

    /// Writes a line to standard error; line breaks in the text are escaped.
    pub fn error_line(&mut self, text: &str) -> io::Result<()> {
        self.error_lines([text])
    }

    /// Writes lines to standard error, all at once; line breaks within a line are escaped.
    pub fn error_lines(&mut self, lines: impl IntoIterator<Item = impl AsRef<str>>) -> io::Result<()> {
        let lines: String = lines.into_iter().map(|line| one_line(line.as_ref()) + "\n").collect();
        self.error_write(&lines)
    }

    /// Hands everything written so far to the system.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Escapes all control characters of a text, line breaks included.
fn one_line(text: &str) -> String {
    printable(text, usize::MAX)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Channel {
    Out,
    Err,
}

/// Recorded output of both streams, in order.
type Written = Vec<(Channel, Vec<u8>)>;

/// Output of parallel work, kept until its turn comes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recording {
    written: Arc<Mutex<Written>>,
    /// True if it will be shown on a terminal.
    is_shown: bool,
}

/// One stream of a recording.
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
    /// A recording that is replayed to an output later. `is_shown` is that of [`Output::is_shown`].
    pub(crate) fn shown(is_shown: bool) -> Recording {
        Recording { is_shown, ..Recording::default() }
    }

    /// An output that writes to this recording.
    pub(crate) fn output(&self) -> Output {
        let stream = |channel| Box::new(Recorder { channel, written: Arc::clone(&self.written) });
        Output { is_shown: self.is_shown, ..Output::to(stream(Channel::Out), stream(Channel::Err)) }
    }

    /// The recorded text of both streams.
    pub(crate) fn text(&self) -> String {
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = written.iter().flat_map(|(_, text)| text).copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Writes the recorded output to `output`.
    pub(crate) fn replay(&self, output: &mut Output) -> io::Result<()> {
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

/// Tells if an error means that the output's reader is gone.
pub(crate) fn reader_is_gone(error: &anyhow::Error) -> bool {
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
    fn what_a_terminal_would_obey_is_escaped() {
        let text = "a\u{1b}[2Jé\u{9b}31m\r\tb\u{202e}\n";
        for size in 1..text.len() {
            let mut shown = Vec::new();
            let mut stream = Escaping::new(&mut shown, Rc::default());
            text.as_bytes().chunks(size).try_for_each(|part| stream.write_all(part)).unwrap();
            assert_eq!(String::from_utf8(shown).unwrap(), "a\\u{1b}[2Jé\\u{9b}31m\\r\tb\\u{202e}\n");
        }
        let mut shown = Vec::new();
        Escaping::new(&mut shown, Rc::default()).write_all(b"a\xffb\x9bc").unwrap();
        assert_eq!(String::from_utf8(shown).unwrap(), "a\u{fffd}b\u{fffd}c");
    }

    #[test]
    fn a_line_is_one_line_on_a_terminal() {
        let written = |is_shown: bool| {
            let recording = Recording::shown(is_shown);
            let mut output = recording.output();
            output.line("a\nb").unwrap();
            output.error_line("c\rd").unwrap();
            let written = recording.written.lock().unwrap().clone();
            let texts = written.into_iter().map(|(_, text)| String::from_utf8(text).unwrap());
            texts.collect::<Vec<_>>()
        };
        assert_eq!(written(true), ["a\\nb\n", "c\\rd\n"]);
        assert_eq!(written(false), ["a\nb\n", "c\\rd\n"]);
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

    /// A stream whose bytes can be inspected afterwards.
    #[derive(Clone, Default)]
    struct SharedBytes(Rc<std::cell::RefCell<Vec<u8>>>);

    impl Write for SharedBytes {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().write(text)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn colours_are_the_programs_own() {
        let evil = "\u{1b}[31mred\n";
        for (wanted, begin, end) in
            [(ColourUse::Always, "\u{1b}[32m", "\u{1b}[0m"), (ColourUse::Never, "", "")]
        {
            let (shown, is_own) = (SharedBytes::default(), Rc::new(Cell::new(false)));
            let out = Escaping::new(shown.clone(), Rc::clone(&is_own));
            let output = Output { is_shown: true, is_own, ..Output::to(Box::new(out), Box::new(io::sink())) };
            let mut output = output.with_colours(wanted);
            output.toned_line(Tone::Good, evil).unwrap();
            output.toned_line(Tone::Plain, evil).unwrap();
            let text = String::from_utf8(shown.0.borrow().clone()).unwrap();
            let name = one_line(evil);
            assert!(!name.contains('\u{1b}'));
            assert_eq!(text, format!("{begin}{name}{end}\n{name}\n"));
        }
    }
}
