//! # What happens
//! Something was owed that never came, until one end gave up, the connection was closed or reset, or the capture
//! ended: an answer to a request, the rest of a message, an ACK of bytes, an answer to keep-alives or to a SYN. The longest
//! wait of all, and no exchange: no latency has it.
//!
//! # How it is recognised
//! The client sent a request, and the server nothing but ACKs, for 200 ms and more, until FIN, RST or the end
//! of the capture. A short message with which the client gives up, such as a TLS alert, is no request. Or the
//! request was sent again for a second and more and never acknowledged. Of anything else a second and four round
//! trips must have passed: bytes or a SYN are sent again to the end; several keep-alives are not answered; the last
//! segment was cut from a longer message, or is full-sized where nobody closed.
//!
//! # What it is not
//! A message that gets no answer: where the client goes on though nobody has answered, as a log
//! shipper does, where its last message is much shorter than the requests that were answered, or
//! where it closes at once; a protocol that answers some messages only may look the same. A slow
//! answer, where the capture ended before as much time had passed as the server took for another
//! one. Bytes that are not sent again were acknowledged, though the capture lacks that. A request into a connection that its server had closed: that is counted by itself.
//!
//! # What to do
//! Acknowledged: look into the server's program, which has the request; its threads, locks and what
//! it calls. Never acknowledged: look for what drops it; after minutes without a packet a firewall
//! or NAT has mostly forgotten the connection (keep-alives more often than its timer, or a shorter
//! idle timeout of the pool). Where all copies arrive at the server, its host dropped them:
//! checksums, a firewall, a full buffer.
//!
//! # References
//! RFC 9293, sections 3.6.1 and 3.8.3; RFC 5382, section 5; Linux `tcp_retries2`, `tcp_keepalive_time`.
