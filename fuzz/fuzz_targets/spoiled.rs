//! Good inputs, spoiled in some places: `cargo +nightly fuzz run spoiled`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| eosim_fuzz::spoil(data));
