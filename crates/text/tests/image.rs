//! Where machine code lives: never writable and executable, used again when it is free, from any
//! thread.

use rustix::mm::{MprotectFlags, mprotect};
use skep_jit::{Linkage, RunEnv, Tuning};
use skep_text::{MachineCode, compile};
use skep_verifier::Xlated;

fn program(text: &str) -> MachineCode {
    let assembly = skep_insn::asm::assemble(text, &|_| None).expect(text);
    let xlated = Xlated::bare(&assembly.insns).expect(text);
    compile(&xlated, &Linkage::default(), &Tuning::default()).expect(text)
}

fn run(code: &MachineCode) -> u64 {
    // SAFETY: the programs of this file look at nothing.
    unsafe { code.entry()(std::ptr::null_mut(), &mut RunEnv::default()) }
}

#[test]
fn no_memory_is_writable_and_executable() {
    let code = program("r0 = 1\nexit");
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let mut seen = (0, 0);
    for line in maps.lines() {
        let perms = line.split(' ').nth(1).unwrap();
        assert!(!(perms.contains('w') && perms.contains('x')), "{line}");
        if line.contains("memfd:skep-jit") {
            match perms {
                "rw-s" => seen.0 += 1,
                "r-xs" => seen.1 += 1,
                _ => panic!("{line}"),
            }
        }
    }
    assert!(seen.0 >= 1 && seen.1 >= 1, "{maps}");
    // What is executable cannot become writable.
    let page = (code.address() & !4095) as *mut std::ffi::c_void;
    for flags in [MprotectFlags::WRITE, MprotectFlags::READ | MprotectFlags::WRITE] {
        // SAFETY: the page keeps its contents; the call is expected to be refused.
        let refused = unsafe { mprotect(page, 4096, flags) };
        assert_eq!(refused, Err(rustix::io::Errno::ACCESS));
    }
    assert_eq!(run(&code), 1);
}

#[test]
fn code_is_near_the_text_of_the_process() {
    // So that helpers are called directly.
    let code = program("r0 = 1\nexit");
    let text = run as *const () as u64;
    assert!(text.abs_diff(code.address()) < 1 << 31, "{text:#x} {:#x}", code.address());
}

#[test]
fn ranges_are_used_again_by_any_thread() {
    let threads: Vec<_> = (0..4u64)
        .map(|thread| {
            std::thread::spawn(move || {
                let mut kept = Vec::new();
                for round in 0..500u64 {
                    let value = thread * 1000 + round;
                    let filler = "r0 ^= 0\n".repeat((round % 17) as usize);
                    let code = program(&format!("r0 = {value}\n{filler}exit"));
                    assert_eq!(run(&code), value);
                    if round % 7 == 0 {
                        kept.push((code, value));
                    }
                }
                for (code, value) in kept {
                    assert_eq!(run(&code), value);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    // Two programs that live at the same time share nothing.
    let (a, b) = (program("r0 = 1\nexit"), program("r0 = 2\nexit"));
    let (start, len) = (a.address(), a.bytes().len() as u64);
    assert!(b.address() >= start + len || b.address() + (b.bytes().len() as u64) <= start);
}
