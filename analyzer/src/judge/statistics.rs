//! Medians without sorting, and densities of distributions.

/// The lower median; `None` without values.
pub fn lower<T: Ord + Copy>(values: &mut [T]) -> Option<T> {
    nth(values, values.len().saturating_sub(1) / 2)
}

/// The upper median; `None` without values.
pub fn upper<T: Ord + Copy>(values: &mut [T]) -> Option<T> {
    nth(values, values.len() / 2)
}

/// The upper median of values, each with its count; `None` without values.
pub fn weighted(values: &mut [(i64, u64)]) -> Option<i64> {
    values.sort_unstable();
    let half = values.iter().map(|&(_, count)| count).sum::<u64>() / 2;
    let mut passed = 0;
    let middle = values.iter().find(|&&(_, count)| {
        passed += count;
        passed > half
    });
    middle.map(|&(value, _)| value)
}

/// The median absolute deviation; `None` without values.
pub fn deviation(values: &mut [i64]) -> Option<i64> {
    let middle = upper(values)?;
    for value in &mut *values {
        *value = (*value - middle).abs();
    }
    upper(values)
}

/// How much the second of each pair grows with the first, by least squares; 0 where that does not vary.
pub fn slope(pairs: &[(f64, f64)]) -> f64 {
    let count = pairs.len().max(1) as f64;
    let (sum_x, sum_y) = pairs.iter().fold((0.0, 0.0), |(x, y), pair| (x + pair.0, y + pair.1));
    let (mean_x, mean_y) = (sum_x / count, sum_y / count);
    let (both, alone) = pairs.iter().fold((0.0, 0.0), |(both, alone), (x, y)| {
        (both + (x - mean_x) * (y - mean_y), alone + (x - mean_x).powi(2))
    });
    if alone > 0.0 { both / alone } else { 0.0 }
}

fn nth<T: Ord + Copy>(values: &mut [T], at: usize) -> Option<T> {
    (at < values.len()).then(|| *values.select_nth_unstable(at).1)
}

pub fn exponential(x: f64, mean: f64) -> f64 {
    (-x / mean).exp() / mean
}

/// Around a median, with a standard deviation of the logarithm.
pub fn log_normal(x: f64, median: f64, deviation: f64) -> f64 {
    let x = x.max(1e-6);
    let off = (x / median).ln() / deviation;
    (-off * off / 2.0).exp() / (x * deviation * (2.0 * std::f64::consts::PI).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One connection with many late ACKs outweighs several with one each.
    #[test]
    fn a_value_weighs_as_often_as_it_counts() {
        assert_eq!(weighted(&mut []), None);
        assert_eq!(weighted(&mut [(200, 1), (40, 5), (300, 1)]), Some(40));
        assert_eq!(weighted(&mut [(200, 1), (40, 1)]), Some(200));
    }

    #[test]
    fn the_middle_is_found_whatever_the_order() {
        let medians = |values: &[i64]| (lower(&mut values.to_vec()), upper(&mut values.to_vec()));
        assert_eq!(medians(&[]), (None, None));
        assert_eq!(medians(&[7]), (Some(7), Some(7)));
        assert_eq!(medians(&[9, 2, 5]), (Some(5), Some(5)));
        assert_eq!(medians(&[8, 1, 6, 3]), (Some(3), Some(6)));
    }
}
