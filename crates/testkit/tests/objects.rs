//! Programs that make objects (`tests/programs/kfuncs`), in the kernel and here: what they return.

use skep::{Host, KernelBtf};
use skep_kernel::bpf::{self, RunInput};
use skep_kernel::judge::as_loaded;
use skep_kernel::run::Loaded;
use skep_runtime::{Ctx, Engine, LoadOptions, Options, Runtime};
use skep_testkit::engine;
use std::path::Path;

/// What comes out of lists, trees and values: seen in Linux 6.18.
const WANTED: [(&str, i32); 4] = [
    ("list_order", 54_542_319),
    ("tree_order", 10_112_360),
    ("two_places", 4242),
    ("in_values", 30_008),
];

#[test]
fn objects_go_where_they_are_put() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = path.join("../../tests/programs/kfuncs/objects.bpf.o");
    // Kfuncs are the kernel's, and known by its BTF.
    let Ok(host) = Host::read(&KernelBtf::Running) else { return };
    if host.kernel_btf.is_none() {
        return;
    }
    let bytes = std::fs::read(&path).unwrap();
    let object = skep::object::Object::open(&bytes, &host.open_options(&path)).unwrap();
    for (name, wanted) in WANTED {
        let entry = object.programs.iter().find(|entry| &*entry.name == name).unwrap();
        let program = as_loaded(entry.program.as_ref().unwrap());
        if bpf::available().is_ok() {
            let loaded = Loaded::new(std::slice::from_ref(&program)).unwrap();
            let input = RunInput { data: &[0; 64], repeat: 1, ..RunInput::default() };
            assert_eq!(loaded.run(&input).unwrap().retval as i32, wanted, "{name} in the kernel");
        }
        let verified = engine::verified(&program).unwrap();
        for engine in [Engine::Interp, Engine::Jit] {
            let runtime = Runtime::new(Options { cpus: 1, ..Options::default() }).unwrap();
            let maps = runtime.create_maps(&program.maps, program.btf.as_ref());
            let options = LoadOptions { engine, ..LoadOptions::default() };
            let instance = runtime.load(&verified, &maps, &options).unwrap();
            let mut ctx = Ctx::packet(instance.prog_type(), &[0; 64]).unwrap();
            assert_eq!(instance.run(&mut ctx).unwrap().retval as i32, wanted, "{name}");
        }
    }
}
