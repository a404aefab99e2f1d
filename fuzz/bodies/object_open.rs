//! ELF objects, alone and inside of other files, without kernel BTF and with their own as if it
//! were the kernel's (so that CO-RE, kfuncs and externs find something); as libbpf opens them, as
//! any loader does, and as they are.

use skep_object::{Loader, Object, OpenOptions, scan};
use std::sync::Arc;

const KCONFIG: &str = "CONFIG_HZ=1000\nCONFIG_BPF=y\nCONFIG_VETH=m\nCONFIG_NAME=\"x\"\n";

/// No panic; what the scan finds lies in the file, in order; programs refer to maps that exist.
pub(crate) fn run(data: &[u8]) {
    let mut end = 0;
    for range in scan(data) {
        assert!(end <= range.start && range.start < range.end && range.end <= data.len());
        end = range.end;
        if range != (0..data.len()) {
            open(&data[range], &OpenOptions::default());
        }
    }
    let Some(object) = open(data, &OpenOptions::default()) else { return };
    let options = OpenOptions {
        name: "x.bpf".into(),
        kernel_btf: object.btf,
        kconfig: Some(KCONFIG.into()),
        kallsyms: Some(Arc::new(|name| (name.len() > 4).then_some(0xffff_ffff_8100_0000))),
        kernel_version: 0x06_12_2c,
        cpus: 2,
        empty_map_entries: 1,
        guess_ext_types: true,
        ..OpenOptions::default()
    };
    open(data, &OpenOptions { loader: Loader::Any, ..options.clone() });
    open(data, &options);
    open(data, &OpenOptions { as_in_file: true, ..OpenOptions::default() });
}

fn open(data: &[u8], options: &OpenOptions) -> Option<Object> {
    let object = match Object::open(data, options) {
        Ok(object) => object,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return None;
        }
    };
    for entry in &object.programs {
        match &entry.program {
            Ok(program) => {
                assert_eq!(program.maps.len(), object.maps.len());
                assert!(program.func_info.is_sorted_by_key(|info| info.insn_off));
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    Some(object)
}
