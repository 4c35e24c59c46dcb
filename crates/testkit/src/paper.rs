//! A journal in memory.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

use super::journal::{self, Journal, JournalForm};
use super::lines::Store;

/// A simulated disk of limited size for a journal that survives the program.
#[derive(Clone)]
pub struct Paper {
    /// All bytes written.
    pub bytes: Rc<RefCell<Vec<u8>>>,
    /// The bytes that fit on the disk.
    pub room: usize,
    /// True if a partly written line can be removed again.
    pub can_be_cut: bool,
}

impl Default for Paper {
    fn default() -> Paper {
        Paper { bytes: Rc::default(), room: usize::MAX, can_be_cut: true }
    }
}

impl Paper {
    /// The journal that a resumed run reads, with room left on the disk.
    pub fn go_on<F: JournalForm>(&self) -> (F, Journal) {
        let bytes = self.bytes.borrow().clone();
        let store = Box::new(Paper { bytes: Rc::clone(&self.bytes), ..Paper::default() });
        journal::go_on(&bytes, store).map_err(|(line, problem)| format!("{line}: {problem}")).unwrap()
    }
}

impl Store for Paper {
    fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut written = self.bytes.borrow_mut();
        let fits = bytes.len().min(self.room.saturating_sub(written.len()));
        written.extend_from_slice(&bytes[..fits]);
        if fits < bytes.len() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        if !self.can_be_cut {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.bytes.borrow_mut().truncate(usize::try_from(length).unwrap());
        Ok(())
    }
}
