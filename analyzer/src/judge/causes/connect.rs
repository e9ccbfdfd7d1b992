//! # What happens
//! The connection took long to come about: a SYN or its answer was lost and sent again, after 1 s and
//! twice that each time; or the other end took its time to answer. Users feel it in the first reply: the
//! report also says what share of the first reply's time was connecting.
//!
//! # How it is recognised
//! The same SYN comes again. Or a SYN is answered 200 ms or more after it, and later than two other round
//! trips to the same end take.
//!
//! # What it is not
//! A long way: that shows in all round trips. A loss, where the SYN is never answered, refused with RST and
//! sent again, or answered for an older connection that the other end still had: the report says so. A SYN
//! after FIN or RST between the same ports: another connection begins, and nobody waited for it.
//!
//! # What to do
//! Sent again: look for loss, firewalls that drop, and full accept queues (`ListenOverflows` in
//! `nstat`). Answered late: an overloaded host, or a proxy that connects onwards first. Keep
//! connections open, so that fewer are made.
//!
//! # References
//! RFC 9293, section 3.8.1; RFC 6298, section 5.7; Linux `tcp_syn_retries`, `net.core.somaxconn`.
