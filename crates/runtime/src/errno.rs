//! `Errno`: the error of a map operation or a helper.

use skep_uapi::errno;
use std::fmt;

/// A positive errno.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Errno(i32);

macro_rules! errnos {
    ($($name:ident,)*) => {
        #[expect(missing_docs, reason = "named as in the kernel's headers")]
        impl Errno {
            $(pub const $name: Errno = Errno(errno::$name);)*

            /// The symbolic name, empty for a number without one here.
            pub fn name(self) -> &'static str {
                match self.0 {
                    $(errno::$name => stringify!($name),)*
                    _ => "",
                }
            }
        }
    };
}

errnos! {
    EPERM,
    ENOENT,
    E2BIG,
    EBADF,
    EAGAIN,
    ENOMEM,
    EACCES,
    EFAULT,
    EBUSY,
    EEXIST,
    ENODEV,
    EINVAL,
    ENOSPC,
    ERANGE,
    EDEADLK,
    EPROTO,
    EOPNOTSUPP,
    EAFNOSUPPORT,
    ETIMEDOUT,
    EALREADY,
    ENOTSUPP,
}

impl Errno {
    /// The number, as a positive value.
    pub fn number(self) -> i32 {
        self.0
    }

    /// What a helper returns: the negated number, sign-extended.
    pub fn as_ret(self) -> u64 {
        i64::from(-self.0) as u64
    }

    /// The result of a kfunc that returns an int: the upper half of the register is 0.
    pub(crate) fn as_int(self) -> u64 {
        u64::from(-self.0 as u32)
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            "" => write!(f, "errno {}", self.0),
            name => f.write_str(name),
        }
    }
}

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Errno {}
