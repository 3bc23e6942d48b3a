//! What reaches the user: data on standard output, errors on standard error.
//!
//! A reader that goes away (a closed pipe) is no error.

use std::fmt::Display;
use std::io::{self, Write};

use eosim_types::visible::visible;

use crate::args::OutputArgs;

/// Prints `text` on standard output.
///
/// # Errors
/// If it cannot be written, except to a pipe that was closed.
pub fn print(text: &str) -> io::Result<()> {
    let (text, mut out) = (plain(text), io::stdout().lock());
    quiet_if_closed(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// `text`, in which nothing moves a cursor or changes a colour, whatever it was made of. JSON stays
/// JSON.
fn plain(text: &str) -> String {
    visible(text, &['\n', '\t'])
}

fn quiet_if_closed(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Says `text` on standard error, unless the user wants data only.
pub fn talk(how: &OutputArgs, text: &str) {
    if !how.quiet {
        // Talk; who does not listen misses nothing.
        let _ = writeln!(io::stderr(), "{}", plain(text));
    }
}

/// Prints an error as all errors are printed: `eosim: error: …`.
pub fn print_error(error: impl Display) {
    say(&error_text(error));
}

/// Says what is not as asked for and hinders nothing: `eosim: note: …`.
pub fn print_note(note: impl Display) {
    say(&plain(&format!("eosim: note: {note}")));
}

fn say(text: &str) {
    // Nothing can be done for a user whose standard error is gone.
    let _ = writeln!(io::stderr(), "{text}");
}

/// The text of an error.
#[must_use]
pub fn error_text(error: impl Display) -> String {
    plain(&format!("eosim: error: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_pipe_is_no_error() {
        assert!(quiet_if_closed(Err(io::ErrorKind::BrokenPipe.into())).is_ok());
        assert!(quiet_if_closed(Err(io::ErrorKind::StorageFull.into())).is_err());
    }

    #[test]
    fn errors_are_named() {
        assert_eq!(error_text("no such file"), "eosim: error: no such file");
        assert_eq!(error_text("no \u{1b}[31mfile"), "eosim: error: no \\u001b[31mfile");
    }
}
