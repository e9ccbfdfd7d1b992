//! Sums of which each field is a sum.

use crate::judge::nagle::nodelay::NagleTotals;

/// A sum that others of its kind are added to.
pub trait Sum {
    fn add_up(&mut self, more: Self);
}

/// Declares a struct of sums, which is a sum itself.
macro_rules! sums {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[$doc:meta])* $vis:vis $field:ident: $type:ty,)+
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Default)]
        pub struct $name {
            $($(#[$doc])* $vis $field: $type,)+
        }

        impl $crate::result::sums::Sum for $name {
            fn add_up(&mut self, more: Self) {
                $($crate::result::sums::Sum::add_up(&mut self.$field, more.$field);)+
            }
        }
    };
}
pub(super) use sums;

impl Sum for u64 {
    fn add_up(&mut self, more: Self) {
        *self += more;
    }
}

/// A time in ns.
impl Sum for i64 {
    fn add_up(&mut self, more: Self) {
        *self = self.saturating_add(more);
    }
}

impl<T: Sum, const LEN: usize> Sum for [T; LEN] {
    fn add_up(&mut self, more: Self) {
        self.iter_mut().zip(more).for_each(|(sum, more)| sum.add_up(more));
    }
}

impl Sum for NagleTotals {
    fn add_up(&mut self, more: Self) {
        *self += more;
    }
}
