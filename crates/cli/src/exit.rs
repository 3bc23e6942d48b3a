//! Exit codes, which are an interface: scripts rely on them.

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Exit {
    /// Everything ran, nothing is broken.
    Fine = 0,
    /// The testbed itself failed.
    Internal = 1,
    /// Wrong usage or input.
    Usage = 2,
    /// Nothing was selected.
    Nothing = 4,
    /// The model differs from a recording.
    Conformance = 15,
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
