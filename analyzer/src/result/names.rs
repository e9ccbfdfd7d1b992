//! The user's names for addresses, which outputs print instead.

use crate::track::Endpoint;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

/// Names by address. They hold letters, digits, `.`, `-` and `_`, so no output has to escape them.
#[derive(Debug, Clone, Default)]
pub struct Names(HashMap<IpAddr, String>);

impl Names {
    /// `None` for a name with anything else in it.
    pub fn new(names: HashMap<IpAddr, String>) -> Option<Self> {
        names.values().all(|name| is_plain(name)).then_some(Self(names))
    }

    /// With the names of addresses that stand for them in printed text, unless two texts use one
    /// for different names; what the user calls an address goes first.
    pub fn with_printed<'a>(
        &self,
        texts: impl Iterator<Item = &'a BTreeMap<IpAddr, String>>,
    ) -> Self {
        let mut printed: HashMap<IpAddr, Option<&str>> = HashMap::new();
        for (addr, name) in texts.flatten().filter(|(_, name)| is_plain(name)) {
            let same = printed.entry(*addr).or_insert(Some(name));
            *same = same.filter(|same| same == name);
        }
        let printed = printed.into_iter().filter_map(|(addr, name)| Some((addr, name?.to_owned())));
        Self(printed.chain(self.0.clone()).collect())
    }

    /// Without these names of a text.
    pub fn without_printed(&mut self, text: &BTreeMap<IpAddr, String>) {
        self.0.retain(|addr, name| text.get(addr) != Some(name));
    }

    pub fn get(&self, addr: IpAddr) -> Option<&str> {
        self.0.get(&addr).map(String::as_str)
    }

    pub fn iter(&self) -> impl Iterator<Item = (IpAddr, &str)> {
        self.0.iter().map(|(&addr, name)| (addr, name.as_str()))
    }

    /// The name, else the address.
    pub fn addr(&self, addr: IpAddr) -> String {
        self.get(addr).map_or_else(|| addr.to_string(), str::to_owned)
    }

    /// The name, else the address, with the port.
    pub fn endpoint(&self, endpoint: Endpoint) -> String {
        match self.get(endpoint.addr) {
            Some(name) => format!("{name}:{}", endpoint.port),
            None => endpoint.to_string(),
        }
    }

    /// These names, for other addresses.
    pub fn moved(&self, to: impl Fn(IpAddr) -> IpAddr) -> Self {
        Self(self.0.iter().map(|(&addr, name)| (to(addr), name.clone())).collect())
    }
}

fn is_plain(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    (1..=63).contains(&name.len()) && name.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Option<Names> {
        Names::new([(IpAddr::from([10, 0, 0, 5]), name.to_owned())].into())
    }

    #[test]
    fn a_name_stands_for_its_address_only() {
        let names = named("payments").unwrap();
        let endpoint = |last: u8| Endpoint { addr: IpAddr::from([10, 0, 0, last]), port: 80 };
        assert_eq!(names.endpoint(endpoint(5)), "payments:80");
        assert_eq!(names.endpoint(endpoint(6)), "10.0.0.6:80");
        assert_eq!(names.addr(IpAddr::from([10, 0, 0, 6])), "10.0.0.6");
    }

    #[test]
    fn a_text_names_the_addresses_that_were_made_up_for_it() {
        let addr = |last: u8| IpAddr::from([192, 0, 2, last]);
        let text = |names: [&str; 3]| {
            std::iter::zip([1, 2, 3].map(addr), names.map(str::to_owned)).collect()
        };
        let texts: [BTreeMap<IpAddr, String>; 2] =
            [text(["web", "db", "a<b>"]), text(["web", "cache", "a<b>"])];
        let user = Names::new([(addr(4), "mine".to_owned())].into()).unwrap();
        let all = user.with_printed(texts.iter());
        assert_eq!(
            [1, 2, 3, 4].map(|last| all.get(addr(last))),
            [Some("web"), None, None, Some("mine")]
        );
        let user = Names::new([(addr(1), "mine".to_owned())].into()).unwrap();
        assert_eq!(user.with_printed(texts.iter()).get(addr(1)), Some("mine"));
    }

    #[test]
    fn names_that_an_output_would_have_to_escape_are_refused() {
        for name in ["", "a b", "a\"", "<a>", "a:1", "é", &"a".repeat(64)] {
            assert!(named(name).is_none(), "{name}");
        }
        assert!(named(&"a".repeat(63)).is_some());
    }
}
