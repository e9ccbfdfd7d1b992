//! How a row is declared: each attribute once, with its meaning, its type and its value.

/// Declares a row that is made of these values: `row! { /// Docs. Row(from: &What) { name: Type = value, .. } }`.
/// What several values need stands before them: `with { let common = from.common(); }`.
macro_rules! row {
    ($(#[$meta:meta])* $row:ident($($from:ident: $source:ty),+)
    $(with { $(let $local:ident = $common:expr;)+ })?
    {
        $($(#[$doc:meta])* $name:ident: $type:ty = $value:expr,)+
    }) => {
        $(#[$meta])*
        #[pyo3::pyclass(frozen, get_all)]
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
pub(super) use row;
