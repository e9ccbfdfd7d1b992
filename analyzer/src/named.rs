//! How words that outputs have are declared: each beside what it means.

/// One of few names, in the order of the members.
pub trait Named: Copy {
    const NAMES: &'static [&'static str];

    /// Its place among the names.
    fn index(self) -> u8;

    fn name(self) -> &'static str;
}

/// Declares an enum whose members have names: `named! { enum Kind { Member = "name", .. } }`.
macro_rules! named {
    ($(#[$meta:meta])* enum $kind:ident { $($(#[$doc:meta])* $member:ident = $name:literal,)+ }) => {
        $(#[$meta])*
        pub enum $kind {
            $($(#[$doc])* $member,)+
        }

        impl $kind {
            /// In the order of the members.
            pub const NAMES: [&'static str; [$($name),+].len()] = [$($name),+];
            #[allow(dead_code, reason = "not every kind is gone through")]
            pub const MEMBERS: [Self; Self::NAMES.len()] = [$(Self::$member),+];

            pub fn name(self) -> &'static str {
                Self::NAMES[self as usize]
            }
        }

        impl $crate::named::Named for $kind {
            const NAMES: &'static [&'static str] = &Self::NAMES;

            #[inline]
            fn index(self) -> u8 {
                self as u8
            }

            #[inline]
            fn name(self) -> &'static str {
                self.name()
            }
        }
    };
}
pub(crate) use named;
