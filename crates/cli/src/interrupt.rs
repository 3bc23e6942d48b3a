//! Ctrl-C, SIGTERM and SIGHUP: the first asks a long command to come to an end, the second ends the
//! process.

use std::sync::atomic::{AtomicBool, Ordering};

use eosim_runner::exit::ExitCode;

static ASKED: AtomicBool = AtomicBool::new(false);

/// Watches from now on; the answer is set once the user has asked to stop.
///
/// # Panics
/// If the system takes no signal handler.
pub fn watch() -> &'static AtomicBool {
    let handle = || {
        if ASKED.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(ExitCode::Interrupted.code()));
        }
    };
    ctrlc::set_handler(handle).expect("one signal handler can be set");
    &ASKED
}
