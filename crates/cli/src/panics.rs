//! Panics: those of actors become verdicts, so nothing is printed when they happen; those of the
//! testbed itself end it with exit code 1.

use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::sync::Mutex;

/// The last panic, with its place.
static LAST: Mutex<String> = Mutex::new(String::new());

/// What [`std::thread::scope`] says when one of its threads has panicked, which is no news.
const OF_SCOPE: &str = "a scoped thread panicked";

/// Does `work`.
///
/// # Errors
/// What a panic in it said, and where it happened.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    set_hook(Box::new(|info| {
        let text = info.to_string();
        if let Ok(mut last) = LAST.lock()
            && !text.contains(OF_SCOPE)
        {
            *last = text;
        }
    }));
    let last = |_| LAST.lock().map(|last| last.clone()).unwrap_or_default();
    catch_unwind(AssertUnwindSafe(work)).map_err(last)
}
