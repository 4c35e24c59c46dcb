//! The manual pages, which are part of the program.

/// A page from the directory `man`.
pub(super) struct ManualPage {
    /// File name; it ends with the section.
    pub file: &'static str,
    /// Text in roff.
    pub text: &'static str,
}

macro_rules! pages {
    ($($file:literal)*) => {
        /// All pages.
        pub(super) const PAGES: &[ManualPage] =
            &[$(ManualPage { file: $file, text: include_str!(concat!("../../../man/", $file)) },)*];
    };
}

pages! {
    "hail.1" "harep.1" "hbal.1" "hcheck.1" "hgroup.1" "hinfo.1" "hplace.1" "hroller.1" "hscan.1" "hspace.1"
    "hsqueeze.1" "htools.1" "htools-format.5"
}

impl ManualPage {
    /// Name of the section's directory, within the one for manual pages.
    pub(super) fn directory(&self) -> String {
        format!("man{}", self.file.rsplit('.').next().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_part_of_the_program() {
        let files = std::fs::read_dir("man").unwrap();
        let mut files: Vec<String> =
            files.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        files.sort();
        let mut pages: Vec<&str> = PAGES.iter().map(|page| page.file).collect();
        pages.sort();
        assert_eq!(pages, files);
        let known = ["man1", "man5"];
        assert!(PAGES.iter().all(|page| known.contains(&page.directory().as_str())));
    }
}
