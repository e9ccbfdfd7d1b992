//! Medians without sorting.

/// The lower median; `None` without values.
pub fn lower<T: Ord + Copy>(values: &mut [T]) -> Option<T> {
    nth(values, values.len().saturating_sub(1) / 2)
}

/// The upper median; `None` without values.
pub fn upper<T: Ord + Copy>(values: &mut [T]) -> Option<T> {
    nth(values, values.len() / 2)
}

/// The median absolute deviation; `None` without values.
pub fn deviation(values: &mut [i64]) -> Option<i64> {
    let middle = upper(values)?;
    for value in &mut *values {
        *value = (*value - middle).abs();
    }
    upper(values)
}

/// Standard deviation.
pub fn standard_deviation(values: &[i64]) -> f64 {
    let count = values.len().max(1) as f64;
    let mean = values.iter().map(|&value| value as f64).sum::<f64>() / count;
    (values.iter().map(|&value| (value as f64 - mean).powi(2)).sum::<f64>() / count).sqrt()
}

/// How closely two series of values go together, from -1 to 1; 0 where one of them does not vary.
///
/// By their ranks: a single value far off decides nothing.
pub fn correlation(one: &[i64], other: &[i64]) -> f64 {
    let pairs: Vec<(f64, f64)> = ranks(one).into_iter().zip(ranks(other)).collect();
    let turned: Vec<(f64, f64)> = pairs.iter().map(|&(x, y)| (y, x)).collect();
    let slopes = (slope(&pairs), slope(&turned));
    (slopes.0 * slopes.1).max(0.0).sqrt().copysign(slopes.0)
}

/// The place of each value among all; equal ones share the middle of theirs.
fn ranks(values: &[i64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let rank = |value: &i64| {
        let below = sorted.partition_point(|other| other < value);
        let up_to = sorted.partition_point(|other| other <= value);
        (below + up_to) as f64 / 2.0
    };
    values.iter().map(rank).collect()
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

/// `None` without values.
pub fn lower_quartile<T: Ord + Copy>(values: &mut [T]) -> Option<T> {
    nth(values, values.len() / 4)
}

fn nth<T: Ord + Copy>(values: &mut [T], at: usize) -> Option<T> {
    (at < values.len()).then(|| *values.select_nth_unstable(at).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_found_whatever_the_order() {
        let medians = |values: &[i64]| (lower(&mut values.to_vec()), upper(&mut values.to_vec()));
        assert_eq!(medians(&[]), (None, None));
        assert_eq!(medians(&[7]), (Some(7), Some(7)));
        assert_eq!(medians(&[9, 2, 5]), (Some(5), Some(5)));
        assert_eq!(medians(&[8, 1, 6, 3]), (Some(3), Some(6)));
    }

    #[test]
    fn values_go_together_by_their_order() {
        assert!((correlation(&[1, 2, 3, 4], &[10, 11, 12, 9_000]) - 1.0).abs() < 1e-9);
        assert!((correlation(&[1, 2, 3, 4], &[9, 7, 7, 1]) + 0.948).abs() < 1e-3);
        assert!(correlation(&[1, 2, 3], &[5, 5, 5]).abs() < 1e-9);
    }
}
