//! Declares rows that are computed once: each value with its name, its meaning and its type.

/// Declares a row that is made of these values: `row! { /// Docs. Row(from: &What) { name: Type =
/// value, .. } }`, after what several need: `with { let common = from.common(); }`.
macro_rules! row {
    ($(#[$meta:meta])* $row:ident($($from:ident: $source:ty),+)
    $(with { $(let $local:pat = $common:expr;)+ })?
    {
        $($(#[$doc:meta])* $name:ident: $type:ty = $value:expr,)+
    }) => {
        $(#[$meta])*
        pub struct $row {
            $($(#[$doc])* pub $name: $type,)+
        }

        impl $row {
            pub fn new($($from: $source),+) -> Self {
                $($(let $local = $common;)+)?
                Self { $($name: $value),+ }
            }
        }
    };
}
pub(crate) use row;
