//! The first of many rows in some order.

/// The first `limit` of `rows` by their keys, which all differ. Memory grows with the limit only.
pub fn first_by_key<T, K: Ord>(
    rows: impl IntoIterator<Item = T>,
    limit: usize,
    key: impl Fn(&T) -> K,
) -> Vec<T> {
    let Some(last) = limit.checked_sub(1) else { return Vec::new() };
    let order = |one: &(K, T), other: &(K, T)| one.0.cmp(&other.0);
    let (mut first, mut is_cut) = (Vec::new(), false);
    for row in rows {
        let row = (key(&row), row);
        if is_cut && order(&first[last], &row).is_lt() {
            continue;
        }
        first.push(row);
        if first.len() / 2 == limit {
            first.select_nth_unstable_by(last, order);
            first.truncate(limit);
            is_cut = true;
        }
    }
    first.sort_unstable_by(order);
    first.truncate(limit);
    first.into_iter().map(|(_, row)| row).collect()
}

#[cfg(test)]
mod tests {
    use super::first_by_key;

    #[test]
    fn the_first_are_found_wherever_they_are() {
        let rows = |count: u64| (0..count).map(|row| row * 7_919 % 101);
        for limit in [0, 1, 7, 50, 101, usize::MAX] {
            assert!(
                first_by_key(rows(101), limit, |row| *row).into_iter().eq(0..101.min(limit as u64))
            );
        }
    }
}
