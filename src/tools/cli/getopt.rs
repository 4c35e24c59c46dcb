//! Sorts the words of a command line into options and positional arguments, without interpreting values.
//!
//! The rules are those of `getopt_long` as Ganeti's tools apply them. This includes one oddity: a dash inside a bundle
//! of letters starts a long option, so `-v-help` is `-v --help`.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use super::option::{Argument, OptionRow, OptionShape, Origin};

/// An option on the command line, with its argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    pub option: &'static dyn OptionRow,
    /// Argument; none for a flag and for an omitted optional argument.
    pub value: Option<OsString>,
    /// True if the short form was typed.
    pub by_letter: bool,
}

impl Given {
    pub fn named(option: &'static dyn OptionRow, value: Option<OsString>) -> Given {
        Given { option, value, by_letter: false }
    }
}

/// Incorrect use of an option on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SyntaxError {
    /// An abbreviation of several options.
    Ambiguous {
        /// As typed, with the dashes.
        typed: String,
        /// The options that it could be.
        candidates: Vec<&'static dyn OptionRow>,
    },
    /// The argument is missing.
    Missing {
        /// As typed, with the dashes.
        typed: String,
        /// Name of the argument.
        argument: &'static str,
    },
    /// An argument for a flag.
    Forbidden {
        /// As typed, with the dashes, without the argument.
        typed: String,
    },
    /// No such option.
    Unknown {
        /// As typed, with the dashes and the argument.
        typed: String,
    },
}

/// A command line in canonical form.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Canonical {
    /// The options, in order.
    pub options: Vec<Given>,
    /// The other words, in order.
    pub positional: Vec<OsString>,
    /// The first positional word, joined to the option before it, if that option takes an optional argument. This is
    /// probably the intended form.
    pub joined: Option<OsString>,
    /// Errors in the order of the report: unknown options come last.
    pub errors: Vec<SyntaxError>,
}

/// Sorts the arguments after the program's name.
pub(crate) fn canonicalise(options: &[&'static dyn OptionRow], args: &[OsString]) -> Canonical {
    let mut scan = Scan { options, words: Canonical::default(), unknown: Vec::new(), open: None };
    let mut rest = args.iter();
    while let Some(word) = rest.next() {
        if !scan.word(word.as_bytes(), &mut rest) {
            scan.words.positional.extend(rest.cloned());
            break;
        }
    }
    let Scan { mut words, unknown, .. } = scan;
    words.errors.extend(unknown);
    words
}

/// A long name, resolved.
enum Resolved {
    One(&'static dyn OptionRow),
    Several(Vec<&'static dyn OptionRow>),
    Nothing,
}

/// Finds the option that `name` is or abbreviates. Options that Ganeti's tool
/// does not have are considered only if nothing else fits, and former names after them.
fn resolve(options: &[&'static dyn OptionRow], name: &[u8]) -> Resolved {
    let text = str::from_utf8(name).unwrap_or_default();
    if let Some(exact) = options.iter().find(|option| option.is_called(text)) {
        return Resolved::One(*exact);
    }
    let begins = |long: &str| long.as_bytes().starts_with(name);
    let ganeti = |o: &OptionShape| o.origin == Origin::Ganeti && begins(o.long);
    let added = |o: &OptionShape| o.origin == Origin::Added && begins(o.long);
    let former = |o: &OptionShape| !o.formerly.is_empty() && begins(o.formerly);
    let stages: [&dyn Fn(&OptionShape) -> bool; 3] = [&ganeti, &added, &former];
    for fits in stages {
        let candidates: Vec<_> = options.iter().copied().filter(|option| fits(option)).collect();
        match candidates[..] {
            [] => continue,
            [one] => return Resolved::One(one),
            _ => return Resolved::Several(candidates),
        }
    }
    Resolved::Nothing
}

struct Scan<'o> {
    options: &'o [&'static dyn OptionRow],
    words: Canonical,
    unknown: Vec<SyntaxError>,
    /// The last word in the form to which an argument can be joined, if it ends with an option without its optional
    /// argument.
    open: Option<OsString>,
}

type Rest<'a> = std::slice::Iter<'a, OsString>;

impl Scan<'_> {
    /// Processes one word. Returns false if no options can follow it.
    fn word(&mut self, word: &[u8], rest: &mut Rest<'_>) -> bool {
        let open = self.open.take();
        match word {
            b"--" => return false,
            [b'-', b'-', long @ ..] => self.long(long, rest),
            [b'-', letters @ ..] if !letters.is_empty() => return self.bundle(letters, rest),
            _ => self.positional(os_string(word), open),
        }
        true
    }

    fn positional(&mut self, word: OsString, open: Option<OsString>) {
        if self.words.positional.is_empty() {
            self.words.joined = open.map(|mut open| {
                open.push(&word);
                open
            });
        }
        self.words.positional.push(word);
    }

    fn long(&mut self, text: &[u8], rest: &mut Rest<'_>) {
        let equals = text.iter().position(|b| *b == b'=');
        let (name, attached) = match equals {
            Some(at) => (&text[..at], Some(os_string(&text[at + 1..]))),
            None => (text, None),
        };
        let typed = || format!("--{}", String::from_utf8_lossy(name));
        let option = match resolve(self.options, name) {
            Resolved::One(option) => option,
            Resolved::Several(candidates) => {
                self.words.errors.push(SyntaxError::Ambiguous { typed: typed(), candidates });
                return;
            }
            Resolved::Nothing => {
                let typed = format!("--{}", String::from_utf8_lossy(text));
                self.unknown.push(SyntaxError::Unknown { typed });
                return;
            }
        };
        let value = match (option.argument, attached) {
            (Argument::None, Some(_)) => {
                self.words.errors.push(SyntaxError::Forbidden { typed: typed() });
                return;
            }
            (Argument::Required(argument), None) => match rest.next() {
                Some(next) => Some(next.clone()),
                None => {
                    self.words.errors.push(SyntaxError::Missing { typed: typed(), argument });
                    return;
                }
            },
            (_, attached) => attached,
        };
        if let (Argument::Optional(_), None) = (option.argument, &value) {
            self.open = Some(format!("--{}=", option.long).into());
        }
        self.words.options.push(Given::named(option, value));
    }

    fn bundle(&mut self, mut letters: &[u8], rest: &mut Rest<'_>) -> bool {
        while let Some((letter, tail)) = split_letter(letters) {
            let short = letter.parse().ok();
            let option = self.options.iter().copied().find(|o| short.is_some() && o.short == short);
            match option {
                None => self.unknown.push(SyntaxError::Unknown { typed: format!("-{letter}") }),
                Some(option) => {
                    let value = match option.argument {
                        Argument::None => None,
                        Argument::Optional(_) => Some(tail).filter(|t| !t.is_empty()).map(os_string),
                        Argument::Required(_) if !tail.is_empty() => Some(os_string(tail)),
                        Argument::Required(argument) => match rest.next() {
                            Some(next) => Some(next.clone()),
                            None => {
                                let typed = format!("-{letter}");
                                self.words.errors.push(SyntaxError::Missing { typed, argument });
                                return true;
                            }
                        },
                    };
                    if let (Argument::Optional(_), None) = (option.argument, &value) {
                        self.open = Some(format!("-{letter}").into());
                    }
                    self.words.options.push(Given { option, value, by_letter: true });
                    if option.argument != Argument::None {
                        return true;
                    }
                }
            }
            if tail.starts_with(b"-") {
                return self.word(&[b"-", tail].concat(), rest);
            }
            letters = tail;
        }
        true
    }
}

/// Splits off the first character. Bytes that are not valid UTF-8 count as one replacement character.
fn split_letter(letters: &[u8]) -> Option<(String, &[u8])> {
    let chunk = letters.utf8_chunks().next()?;
    match chunk.valid().chars().next() {
        Some(letter) => Some((letter.to_string(), &letters[letter.len_utf8()..])),
        None => Some((char::REPLACEMENT_CHARACTER.to_string(), &letters[chunk.invalid().len()..])),
    }
}

fn os_string(bytes: &[u8]) -> OsString {
    OsString::from_vec(bytes.to_vec())
}

#[cfg(test)]
#[path = "getopt_tests.rs"]
mod tests;
