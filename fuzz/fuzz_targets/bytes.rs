//! Any bytes: `cargo +nightly fuzz run bytes`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| eosim_fuzz::take(data));
