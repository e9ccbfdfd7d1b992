//! Times as they are printed: of day, since the epoch, with a date, since another packet.

pub const SECOND_NS: i64 = 1_000_000_000;
pub const DAY_NS: i64 = 86_400 * SECOND_NS;
/// Later times would overflow: in 2116.
const FARTHEST_NS: i64 = i64::MAX / 2;
const MINUTE_NS: i64 = 60 * SECOND_NS;

/// A time as printed, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrintedTime {
    /// Since the epoch.
    At(i64),
    /// Hours, minutes and seconds: of a day, or since another packet.
    Clock(i64),
}

/// Words in which the time of a packet is looked for.
const MOST_WORDS: usize = 16;

/// The time of the packet in a line, and what follows: the last one before its addresses, as a log
/// has times of its own. Before it is a prefix of all lines.
pub fn stamp(line: &str) -> Option<(PrintedTime, &str)> {
    let ends_at = line.find(" > ").unwrap_or(line.len());
    let (mut found, mut day, mut at) = (None, None, 0);
    for word in line[..ends_at].split([' ', '\t']).take(MOST_WORDS) {
        at += word.len() + 1;
        let time = last(word).and_then(|(before, time)| {
            of_word(time, before.strip_suffix('T').map_or(day, date_behind))
        });
        found = time.zip(line.get(at..)).or(found);
        if !word.is_empty() {
            day = date_behind(word);
        }
    }
    found
}

/// The time that a word ends with, of microseconds or nanoseconds as tcpdump and tshark print it,
/// and what stands before it: `out.txt:12:10:00:00.000000`, `+10:00:00.000000`, `[0.040000]`.
fn last(word: &str) -> Option<(&str, &str)> {
    let word = word.trim_end_matches([']', ')', ',', '|']);
    let (whole, fraction) = word.rsplit_once('.')?;
    let digits = |text: &str| text.bytes().rev().take_while(u8::is_ascii_digit).count();
    let mut at = whole.len() - digits(whole);
    // Hours and minutes, or neither.
    if let Some(minutes) = whole[..at].strip_suffix(':')
        && let Some(hours) = minutes[..minutes.len() - digits(minutes)].strip_suffix(':')
        && digits(hours) > 0
    {
        at = hours.len() - digits(hours);
    }
    let is_negative = |before: &str| !before.ends_with(|sign: char| sign.is_alphanumeric());
    if whole[..at].strip_suffix('-').is_some_and(is_negative) {
        at -= 1;
    }
    let (before, time) = word.split_at(at);
    // A difference of two texts begins its lines with `+`.
    let is_apart = before == "+"
        || before.ends_with('T')
        || !before.ends_with(|sign: char| sign.is_alphanumeric() || "+.".contains(sign));
    (is_apart && [6, 9].contains(&fraction.len())).then_some((before, time))
}

/// Is the word a time as tcpdump and tshark print it?
pub fn is_whole(word: &str) -> bool {
    last(word).is_some_and(|(_, time)| of_word(time, None).is_some())
}

/// The date that a word ends with.
fn date_behind(word: &str) -> Option<i64> {
    const LEN: usize = "2023-11-14".len();
    date(word.get(word.len().checked_sub(LEN)?..)?)
}

pub fn is_date(word: &str) -> bool {
    date(word).is_some()
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Any of Wireshark's times: `2026-11-26 09:00:00.044020`, with a `T` between or as
/// `Nov 26, 2026 09:00:00.044020123 UTC`, of day, since the epoch or since another packet.
pub fn listed(text: &str) -> Option<PrintedTime> {
    let (mut month_and_day, mut day) = (None, None);
    let mut words = text.split([' ', 'T']).filter(|word| !word.is_empty());
    while let Some(word) = words.next() {
        let word = word.trim_end_matches([',', 'Z', 's']);
        if let Some(month) = MONTHS.iter().position(|month| *month == word) {
            month_and_day =
                Some((month as i64 + 1, digits(words.next()?.trim_end_matches(','), 1..=2)?));
        } else if let Some(date) = date(word) {
            day = Some(date);
        } else if let (Some((month, of_month)), Some(year)) = (month_and_day, digits(word, 4..=4)) {
            day = days(year, month, of_month);
        } else {
            let Some(fraction) = word.find(['.', ',']).map(|at| at + 1) else { continue };
            let len = word[fraction..].bytes().take_while(u8::is_ascii_digit).count();
            // Thousands have a comma, too.
            (len > 3 || word[..fraction].ends_with('.')).then_some(())?;
            let (time, zone) = word.split_at(fraction + len);
            let is_end = zone.is_empty() || zone.starts_with(['+', '-']);
            return of_word(time, day).filter(|_| is_end);
        }
    }
    None
}

/// `22:13:20.123456` of a day, `1700000000.123456`, or since another packet `0.123456`. Maybe with
/// a sign, and with more hours than a day has.
fn of_word(word: &str, day: Option<i64>) -> Option<PrintedTime> {
    /// Longer times count from the epoch.
    const MOST_DIGITS: usize = 8;
    let (sign, word) = word.strip_prefix('-').map_or((1, word), |word| (-1, word));
    let (whole, fraction) = word.split_once(['.', ','])?;
    let fraction_ns = decimals_ns(fraction).filter(|_| !fraction.is_empty())?;
    let mut parts = whole.split(':');
    let (first, rest) = (parts.next()?, [parts.next(), parts.next(), parts.next()]);
    let [Some(minutes), Some(seconds), None] = rest else {
        let seconds = digits(whole, 1..=11)?;
        let time_ns = seconds.saturating_mul(SECOND_NS).saturating_add(fraction_ns);
        let is_short = whole.len() <= MOST_DIGITS;
        return Some(if is_short {
            PrintedTime::Clock(sign * time_ns)
        } else {
            PrintedTime::At(time_ns)
        });
    };
    let minutes = digits(first, 2..=6)? * 60 + digits(minutes, 2..=2)?;
    // At most a million hours.
    let time_ns = sign * ((minutes * 60 + digits(seconds, 2..=2)?) * SECOND_NS + fraction_ns);
    Some(match day {
        Some(day) => PrintedTime::At(day.saturating_mul(DAY_NS).saturating_add(time_ns)),
        None => PrintedTime::Clock(time_ns),
    })
}

/// `2023-11-14` in days since the epoch.
fn date(word: &str) -> Option<i64> {
    let (year, rest) = word.split_once('-')?;
    let (month, day) = rest.split_once('-')?;
    days(digits(year, 4..=4)?, digits(month, 2..=2)?, digits(day, 2..=2)?)
}

/// From the epoch to a date.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    (1..=12).contains(&month).then_some(())?;
    // Years from March on, so that a leap day is the last of its year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    Some(days - 719_468)
}

/// The decimals of a second in ns, 0 for none; `None` unless they are up to nine digits.
pub fn decimals_ns(decimals: &str) -> Option<i64> {
    let are_digits = decimals.len() <= 9 && decimals.bytes().all(|digit| digit.is_ascii_digit());
    let digits = decimals.bytes().chain(std::iter::repeat(b'0')).take(9);
    are_digits.then(|| digits.fold(0, |ns, digit| 10 * ns + i64::from(digit - b'0')))
}

fn digits(text: &str, len: std::ops::RangeInclusive<usize>) -> Option<i64> {
    let all_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    if all_digits && len.contains(&text.len()) { text.parse().ok() } else { None }
}

/// Where times without a date begin: midnight before the first one. 0 would mean no time.
const FIRST_DAY_NS: i64 = DAY_NS;

/// Makes one course of time of the times of a text.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Course {
    /// Each time counts from the packet before.
    is_relative: bool,
    /// Time of the last packet: the printed one, or the sum of the printed ones.
    last_ns: i64,
    /// Since the first one.
    midnight_ns: i64,
}

impl Course {
    /// A clock of times that count from the packet before, or of others.
    pub fn new(is_relative: bool) -> Self {
        Self { is_relative, ..Self::default() }
    }

    /// The time of the next packet in ns: since the epoch, or since some midnight.
    pub fn time_ns(&mut self, stamp: PrintedTime) -> i64 {
        let time_ns = match stamp {
            PrintedTime::At(time_ns) => time_ns,
            PrintedTime::Clock(since_ns) if self.is_relative => {
                self.last_ns = self.last_ns.saturating_add(since_ns);
                self.last_ns.saturating_add(FIRST_DAY_NS)
            }
            PrintedTime::Clock(of_day_ns) => self.of_day(of_day_ns) + FIRST_DAY_NS,
        };
        time_ns.clamp(0, FARTHEST_NS)
    }

    fn of_day(&mut self, of_day_ns: i64) -> i64 {
        let was_before_midnight = of_day_ns > self.last_ns + DAY_NS / 2;
        if was_before_midnight && self.last_ns < MINUTE_NS && self.midnight_ns > 0 {
            // Printed late.
            return self.midnight_ns - DAY_NS + of_day_ns;
        }
        if of_day_ns < self.last_ns - DAY_NS / 2 {
            self.midnight_ns = (self.midnight_ns + DAY_NS).min(FARTHEST_NS);
        }
        self.last_ns = of_day_ns;
        self.midnight_ns + of_day_ns
    }
}

/// How the rows of a text follow each other.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum RowOrder {
    #[default]
    InTime,
    /// Newest first.
    Reversed,
    Mixed,
}

/// Finds in the first times of a text whether each counts from the packet before, and their order.
#[derive(Debug, Default)]
pub struct Survey {
    last_ns: Option<i64>,
    /// The second time, where the first is 0.
    second_ns: Option<i64>,
    pairs: u32,
    rises: u32,
    falls: u32,
    /// Falls to less than half.
    drops: u32,
    has_dates: bool,
}

impl Survey {
    pub fn see(&mut self, stamp: PrintedTime) {
        let (PrintedTime::Clock(now_ns) | PrintedTime::At(now_ns)) = stamp;
        self.has_dates |= matches!(stamp, PrintedTime::At(_));
        let Some(last_ns) = self.last_ns.replace(now_ns) else { return };
        if self.pairs == 0 && last_ns == 0 {
            self.second_ns = Some(now_ns);
        }
        let falls = now_ns < last_ns && (self.has_dates || last_ns - now_ns < DAY_NS / 2);
        self.pairs += 1;
        self.rises += u32::from(now_ns > last_ns);
        self.falls += u32::from(falls);
        self.drops += u32::from(falls && now_ns < last_ns / 2);
    }

    /// Gaps often fall to less than half, or are nearly the same; times hardly ever do.
    pub fn is_relative(&self) -> bool {
        let are_even =
            self.second_ns.zip(self.last_ns).is_some_and(|(second, last)| last / 2 < second);
        let fall_like_gaps = self.drops > 0 && self.drops * 8 >= self.pairs
            || are_even && self.falls > 0 && self.falls * 4 >= self.pairs;
        fall_like_gaps && !self.has_dates && !self.is_reversed()
    }

    /// Packets of a capture are in order, but for a few that come late.
    pub fn order(&self) -> RowOrder {
        match () {
            () if self.is_relative() || self.falls < 2 || self.falls * 4 < self.pairs => {
                RowOrder::InTime
            }
            () if self.is_reversed() => RowOrder::Reversed,
            () => RowOrder::Mixed,
        }
    }

    /// Gaps begin with a rise from 0.
    fn is_reversed(&self) -> bool {
        self.falls > 1 && self.rises * 8 <= self.falls
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(line: &str) -> Option<PrintedTime> {
        stamp(line).map(|(stamp, _)| stamp)
    }

    #[test]
    fn every_form_of_time_is_read() {
        let seen = 1_795_247_351_435_718_000;
        assert_eq!(time("1795247351.435718 IP"), Some(PrintedTime::At(seen)));
        assert_eq!(time("1795247351.435718009 IP"), Some(PrintedTime::At(seen + 9)));
        assert_eq!(time("2026-11-21 07:49:11.435718 IP"), Some(PrintedTime::At(seen)));
        assert_eq!(time("1972-02-29 00:00:00.000000 IP"), Some(PrintedTime::At(789 * DAY_NS)));
        let of_day = PrintedTime::Clock(seen % DAY_NS);
        assert_eq!(time("07:49:11.435718 IP"), Some(of_day));
        assert_eq!(time("12  07:49:11.435718 IP"), Some(of_day));
        for prefix in ["12 13 ", "pod-1  | ", "2026-11-26T09:00:00.044020123Z ", "\"", "1\t"] {
            assert_eq!(time(&format!("{prefix}07:49:11.435718 IP")), Some(of_day), "{prefix}");
        }
        assert_eq!(time("1.435718 IP"), Some(PrintedTime::Clock(1_435_718_000)));
        assert_eq!(time("-00:00:00.000002 IP"), Some(PrintedTime::Clock(-2_000)));
        assert_eq!(time("30:00:00.000000 IP"), Some(PrintedTime::Clock(DAY_NS / 4 * 5)));
    }

    #[test]
    fn other_times_are_no_packets() {
        for line in [
            "07:49:11 IP",
            "7:49:11.435718 IP",
            "07:49:11.435 IP",
            "07:49:+1.435718 IP",
            "1.2.3.4 IP",
            "2026-11-21 IP",
            "07:49:11.435718",
            "",
        ] {
            assert_eq!(time(line), None, "{line}");
        }
    }

    #[test]
    fn every_form_of_a_list_is_read() {
        let of_day = PrintedTime::Clock(9 * 3600 * SECOND_NS + 44_000_000);
        let seen = PrintedTime::At(1_795_683_600_044_000_000);
        for (text, expected) in [
            ("-0.000002", PrintedTime::Clock(-2_000)),
            ("1795683600.044", seen),
            ("09:00:00.044", of_day),
            ("2026-11-26 09:00:00.044000", seen),
            ("2026-11-26T09:00:00.044000000Z", seen),
            ("Nov 26, 2026 09:00:00.044000000 UTC", seen),
        ] {
            assert_eq!(listed(text), Some(expected), "{text}");
        }
        for text in ["", "10.0.0.1", "10:00", "TCP", "2026-11-26", "Nov 26, 2026"] {
            assert_eq!(listed(text), None, "{text}");
        }
    }

    fn times_s(clocks: &[i64], is_relative: bool) -> Vec<i64> {
        let mut course = Course::new(is_relative);
        let stamps = clocks.iter().map(|clock| PrintedTime::Clock(clock * SECOND_NS));
        stamps.map(|stamp| (course.time_ns(stamp) - FIRST_DAY_NS) / SECOND_NS).collect()
    }

    #[test]
    fn midnight_passes_and_a_packet_from_before_it_may_come_late() {
        let day = DAY_NS / SECOND_NS;
        let clocks = [day - 1, 1, day - 2, 3, day - 1, 0];
        let expected = [day - 1, day + 1, day - 2, day + 3, day - 1, day];
        assert_eq!(times_s(&clocks, false), expected);
        assert_eq!(times_s(&[5, 3, 4], false), [5, 3, 4]);
    }

    #[test]
    fn gaps_add_up() {
        assert_eq!(times_s(&[0, 3, 1, -2], true), [0, 3, 4, 2]);
    }

    #[test]
    fn times_farther_than_any_are_no_overflow() {
        let far = "999999:59:59.999999999 IP";
        for is_relative in [false, true] {
            let mut course = Course::new(is_relative);
            for line in [far, "00:00:00.000000 IP", "-999999:59:59.000000 IP"].repeat(60_000) {
                let time_ns = course.time_ns(time(line).unwrap());
                assert!((0..=FARTHEST_NS).contains(&time_ns));
            }
        }
        let mut course = Course::new(false);
        for line in ["9999-12-31 99:00:00.000000 IP", "99999999999.000000 IP"] {
            assert_eq!(course.time_ns(time(line).unwrap()), FARTHEST_NS);
        }
    }

    fn is_relative(clocks_us: &[i64]) -> bool {
        let mut survey = Survey::default();
        for clock in clocks_us {
            survey.see(PrintedTime::Clock(clock * 1_000));
        }
        survey.is_relative()
    }

    #[test]
    fn gaps_are_told_from_times() {
        let day = DAY_NS / 1_000;
        assert!(is_relative(&[0, 13, 12, 2740, 9, 103, 5, 40_000]));
        assert!(is_relative(&[0, 200_014, 199_995, 200_007, 199_996, 199_994]));
        assert!(!is_relative(&[0, 13, 25, 2765, 2774, 2877, 2880]));
        assert!(!is_relative(&[0, 500, 490, 900, 890, 1300, 1290]));
        assert!(!is_relative(&[day - 20, day - 10, 5, 7, 6, 9, 12]));
        assert!(!is_relative(&[500_000_000, 500_000_009, 500_000_003, 500_000_012]));
        assert!(!is_relative(&[]));
        assert!(!is_relative(&[900_000, 40_000, 13_000, 12_000, 500, 20, 0]));
    }

    #[test]
    fn rows_out_of_order_are_told_from_packets_that_come_late() {
        let order = |clocks_us: &[i64]| {
            let mut survey = Survey::default();
            for clock in clocks_us {
                survey.see(PrintedTime::At(clock * 1_000));
            }
            survey.order()
        };
        assert_eq!(order(&[1, 2, 5, 9, 8, 12]), RowOrder::InTime);
        assert_eq!(order(&[12, 9, 8, 5, 1]), RowOrder::Reversed);
        assert_eq!(order(&[1, 9, 2, 8, 5, 12, 3]), RowOrder::Mixed);
        assert_eq!(order(&[7]), RowOrder::InTime);
    }
}
