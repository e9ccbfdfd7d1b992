//! How words that outputs have are declared: each beside what it means.

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

            pub fn name(self) -> &'static str {
                Self::NAMES[self as usize]
            }
        }
    };
}
pub(crate) use named;
