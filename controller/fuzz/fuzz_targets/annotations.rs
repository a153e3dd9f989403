#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rollout_controller_fuzz::annotations(data));
