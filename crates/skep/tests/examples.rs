//! The examples do what they say: each asserts it.

#![cfg(all(feature = "runtime", target_os = "linux"))]

#[allow(dead_code)]
#[path = "../examples/packet_filter.rs"]
mod packet_filter;
#[allow(dead_code)]
#[path = "../examples/plugin_host.rs"]
mod plugin_host;
#[allow(dead_code)]
#[path = "../examples/policy_hook.rs"]
mod policy_hook;

#[test]
fn packets_are_filtered_on_two_threads() {
    packet_filter::main().expect("runs");
}

#[test]
fn a_policy_changes_while_it_is_asked() {
    policy_hook::main().expect("runs");
}

#[test]
fn a_plugin_is_limited_stopped_and_counted() {
    plugin_host::main().expect("runs");
}
