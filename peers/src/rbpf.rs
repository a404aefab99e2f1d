//! rbpf's JIT.

use crate::{Ctx, Run};
use rbpf::EbpfVmRaw;

pub(crate) fn load(code: Vec<u8>, mut data: Vec<u8>, _expected: u64) -> Result<Run, String> {
    // The process ends with the benchmark.
    let code: &'static [u8] = code.leak();
    let mut vm = EbpfVmRaw::new(Some(code)).map_err(|e| e.to_string())?;
    vm.jit_compile().map_err(|e| e.to_string())?;
    Ok(Box::new(move || {
        let start = data.as_mut_ptr() as u64;
        let mut ctx = Ctx { data: start, data_end: start + data.len() as u64 };
        // SAFETY: the bytes of a plain struct of integers.
        let bytes = unsafe {
            std::slice::from_raw_parts_mut((&raw mut ctx).cast::<u8>(), size_of::<Ctx>())
        };
        // SAFETY: the program stays inside its data, as skep's verifier found of the same source.
        unsafe { vm.execute_program_jit(bytes) }.map_err(|e| e.to_string())
    }))
}
