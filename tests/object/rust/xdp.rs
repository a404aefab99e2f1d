//! Rejected: four bytes are read where two were compared with the end. Without the core library,
//! which is only there for other targets as source.
#![feature(arbitrary_self_types, lang_items, no_core)]
#![no_core]
#![allow(internal_features)]

#[lang = "pointee_sized"]
pub trait PointeeSized {}
#[lang = "meta_sized"]
pub trait MetaSized: PointeeSized {}
#[lang = "sized"]
pub trait Sized: MetaSized {}
#[lang = "copy"]
pub trait Copy {}
impl Copy for u32 {}
impl Copy for u64 {}

#[lang = "add"]
pub trait Add<R = Self> {
    type Output;
    fn add(self, right: R) -> Self::Output;
}
impl Add for u64 {
    type Output = u64;
    fn add(self, right: u64) -> u64 {
        self + right
    }
}

#[lang = "partial_ord"]
pub trait PartialOrd<R: PointeeSized = Self>: PointeeSized {
    fn gt(&self, right: &R) -> bool;
}
impl PartialOrd for u64 {
    fn gt(&self, right: &u64) -> bool {
        *self > *right
    }
}

#[repr(C)]
pub struct XdpMd {
    data: u32,
    data_end: u32,
}

#[no_mangle]
#[link_section = "xdp"]
pub extern "C" fn protocol(ctx: *const XdpMd) -> i32 {
    let start = unsafe { (*ctx).data } as u64;
    let end = unsafe { (*ctx).data_end } as u64;
    if start + 14 > end {
        return 2;
    }
    let protocol = (start + 12) as *const u32;
    unsafe { *protocol as i32 }
}
