//! Sentences put together of pieces, straight into a buffer: those of a stall's evidence are most of
//! what JSON with many stalls takes, and `fmt` takes three times as long for them.

/// A part of a sentence.
pub trait Piece {
    /// Writes it behind what is there.
    fn put(&self, out: &mut String);
}

/// Puts pieces one behind the other: `put!(out, "frame ", number, " is a pure ACK")`.
macro_rules! put {
    ($out:expr, $($piece:expr),+ $(,)?) => {{
        $($crate::pieces::Piece::put(&$piece, $out);)+
    }};
}
pub(crate) use put;

/// Lets `format!` write pieces of these types as well.
macro_rules! displayed {
    ($($piece:ty),+ $(,)?) => {$(
        impl std::fmt::Display for $piece {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let mut text = String::new();
                $crate::pieces::Piece::put(self, &mut text);
                out.write_str(&text)
            }
        }
    )+};
}
pub(crate) use displayed;

impl Piece for &str {
    #[inline]
    fn put(&self, out: &mut String) {
        out.push_str(self);
    }
}

impl Piece for u32 {
    fn put(&self, out: &mut String) {
        out.push_str(itoa::Buffer::new().format(*self));
    }
}

/// A number with a comma between the thousands, as reports write them.
pub struct Grouped(pub u64);

impl Piece for Grouped {
    fn put(&self, out: &mut String) {
        let (thousands, rest) = (self.0 / 1000, self.0 % 1000);
        if thousands == 0 {
            out.push_str(itoa::Buffer::new().format(rest));
            return;
        }
        // The leading digit keeps zeros behind it.
        put!(out, Self(thousands), ",", &itoa::Buffer::new().format(1000 + rest)[1..]);
    }
}

displayed!(Grouped);

/// A number from 0 on with so many decimals.
pub struct Decimals<const COUNT: u32>(pub f64);

impl<const COUNT: u32> Piece for Decimals<COUNT> {
    fn put(&self, out: &mut String) {
        let one = 10_u64.pow(COUNT);
        decimals(out, one, (self.0 * one as f64).round() as u64);
    }
}

/// A duration in ms with three decimals.
#[derive(Clone, Copy)]
pub struct Ms(pub i64);

impl Ms {
    pub fn of(ms: f64) -> Self {
        Self((ms * 1e6) as i64)
    }
}

impl Piece for Ms {
    fn put(&self, out: &mut String) {
        if self.0 < 0 {
            out.push('-');
        }
        decimals(out, 1000, (self.0.unsigned_abs() + 500) / 1000);
        out.push_str(" ms");
    }
}

displayed!(Ms);

/// Writes a number of parts, of which so many are one.
fn decimals(out: &mut String, one: u64, number: u64) {
    put!(out, itoa::Buffer::new().format(number / one), ".");
    // The leading digit keeps zeros behind it.
    put!(out, &itoa::Buffer::new().format(one + number % one)[1..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        let printed = [0, 999, 1000, 12_345, 1_234_567].map(|number| Grouped(number).to_string());
        assert_eq!(printed, ["0", "999", "1,000", "12,345", "1,234,567"]);
    }

    #[test]
    fn numbers_have_their_decimals() {
        let mut text = String::new();
        put!(&mut text, Ms(-1_234_567), " ", Ms::of(0.04), " ", Decimals::<5>(0.999_9), " ", 7);
        assert_eq!(text, "-1.235 ms 0.040 ms 0.99990 7");
    }
}
