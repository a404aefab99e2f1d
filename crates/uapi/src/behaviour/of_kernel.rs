//! The rules of a kernel: the reference, the newest, or one that its release tells.

use super::{BEHAVIOURS, Behaviour, Behaviours};
use crate::column::{COLUMNS, REFERENCE, Standing};

impl Behaviours {
    /// Those of Linux 6.18.44.
    pub const fn reference() -> Behaviours {
        Behaviours::of_column(REFERENCE)
    }

    /// Those of the newest tested kernel.
    pub const fn newest() -> Behaviours {
        Behaviours::of_column(COLUMNS.len() - 1)
    }

    /// The rules of a release (`uname -r`): those of the tested kernel of its series; or of the
    /// next tested kernel ([`Neighbour`](crate::Neighbour) has those of the one before); or of the
    /// oldest or newest one, for a release beyond it.
    pub fn of_release(release: &str) -> Behaviours {
        let [_, after] = Standing::of(release).columns();
        Behaviours::of_column(after)
    }

    /// The rules of a column, and later fixes.
    pub(crate) fn mended(column: usize) -> Behaviours {
        let mut rules = Behaviours::of_column(column);
        BEHAVIOURS.iter().for_each(|row| rules.set(row.name, row.holds_if_mended(column)));
        rules
    }

    /// The rules that hold for one and not for the other.
    pub fn differing(&self, other: &Behaviours) -> impl Iterator<Item = &'static Behaviour> {
        BEHAVIOURS.iter().filter(|row| self.get(row.name) != other.get(row.name))
    }
}

impl Default for Behaviours {
    fn default() -> Behaviours {
        Behaviours::reference()
    }
}
