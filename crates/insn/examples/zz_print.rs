use skep_insn::*;
use std::io::*;
struct N(std::collections::HashMap<i32, String>);
impl InsnNames for N {
    fn helper_name(&self, i: i32) -> Option<&str> {
        self.0.get(&i).map(|s| &**s)
    }
    fn kfunc_name(&self, i: Insn) -> Option<&str> {
        (i.imm != 0).then_some("bpf_rdonly_cast")
    }
}
fn main() {
    let mut n = N(Default::default());
    for l in std::fs::read_to_string("/tmp/insnlab/helpers.txt").unwrap_or_default().lines() {
        let (a, b) = l.split_once(' ').unwrap();
        n.0.insert(a.parse().unwrap(), b.into());
    }
    let leaks = std::env::args().nth(1).is_none();
    for l in stdin().lines() {
        let l = l.unwrap();
        let b: Vec<u8> = (0..l.len() / 2)
            .map(|i| u8::from_str_radix(&l[2 * i..2 * i + 2], 16).unwrap())
            .collect();
        let v = decode_all(&b, Endian::Little).unwrap();
        let mut s = String::new();
        write_insn(&mut s, &v, &n, leaks).unwrap();
        println!("{s}");
    }
}
