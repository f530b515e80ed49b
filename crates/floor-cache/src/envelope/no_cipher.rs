//! What a build without encryption has instead of ciphers: a type without values.

#[derive(Debug, Clone)]
pub(super) enum Ciphers {}

impl Ciphers {
    pub(super) const fn current(&self) -> u8 {
        match *self {}
    }

    pub(super) const fn seal(&self, _bound: &[u8], _out: &mut Vec<u8>, _from: usize) {
        match *self {}
    }

    pub(super) const fn open(&self, _id: u8, _bound: &[u8], _sealed: &mut [u8]) -> Option<Result<(), ()>> {
        match *self {}
    }
}
