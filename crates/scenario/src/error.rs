//! What is wrong with an input: file, place in it, what was found, what was expected, and the
//! nearest known name.

use std::fmt;

/// An input that was refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InputError {
    /// The file, or the argument, that holds it.
    pub file: String,
    /// The place: `producers[0].workload`, or a line and column; empty for the whole.
    pub path: String,
    /// What stands there.
    pub found: String,
    /// What should.
    pub expected: String,
    /// A known name close to the one found.
    pub nearest: Option<String>,
}

impl InputError {
    /// `found` at `path` of `file`, where `expected` should be.
    pub fn new(
        file: impl Into<String>,
        path: impl Into<String>,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self {
            file: file.into(),
            path: path.into(),
            found: found.into(),
            expected: expected.into(),
            nearest: None,
        }
    }

    /// The same, with a guess at what was meant.
    #[must_use]
    pub fn with_nearest<'a>(
        mut self,
        word: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        // What stands there already is at the wrong place, not misspelt.
        self.nearest = crate::nearest(word, known).filter(|near| *near != word).map(String::from);
        self
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.file)?;
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        write!(f, "found {}, expected {}", self.found, self.expected)?;
        self.nearest.as_ref().map_or(Ok(()), |word| write!(f, "; did you mean \"{word}\"?"))
    }
}

impl std::error::Error for InputError {}
