//! The wire format of protobuf: varints, lengths and tags.

use crate::types::protobuf::error::ProtobufError;

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// Negative numbers are in two's complement with 64 bits.
    Varint(u64),
    /// Eight bytes.
    Fixed64(u64),
    /// Four bytes.
    Fixed32(u32),
    /// Text, bytes or an embedded message.
    Bytes(&'a [u8]),
}

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const LENGTH: u64 = 2;
const FIXED32: u64 = 5;

/// The fields of a message, in order. Ends after the first error.
pub fn fields(message: &[u8]) -> MessageFields<'_> {
    MessageFields { rest: message }
}

/// The iterator of [`fields`].
pub struct MessageFields<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for MessageFields<'a> {
    type Item = Result<(u32, Value<'a>), ProtobufError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

impl<'a> MessageFields<'a> {
    fn field(&mut self) -> Result<(u32, Value<'a>), ProtobufError> {
        let key = read_varint(&mut self.rest)?;
        let number = u32::try_from(key >> 3).ok().filter(|number| *number > 0);
        let number = number.ok_or_else(|| ProtobufError(format!("illegal tag {}", key >> 3)))?;
        let value = match key & 7 {
            VARINT => Value::Varint(read_varint(&mut self.rest)?),
            FIXED64 => Value::Fixed64(u64::from_le_bytes(self.chunk()?)),
            FIXED32 => Value::Fixed32(u32::from_le_bytes(self.chunk()?)),
            LENGTH => {
                let length = usize::try_from(read_varint(&mut self.rest)?).unwrap_or(usize::MAX);
                Value::Bytes(self.take(length)?)
            }
            other => return Err(ProtobufError(format!("illegal wireType {other}"))),
        };
        Ok((number, value))
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], ProtobufError> {
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or_else(cut_off)?;
        self.rest = rest;
        Ok(bytes)
    }

    fn chunk<const N: usize>(&mut self) -> Result<[u8; N], ProtobufError> {
        self.take(N)?.try_into().map_err(|_| cut_off())
    }
}

/// Reads a varint from the front.
pub(crate) fn read_varint(from: &mut &[u8]) -> Result<u64, ProtobufError> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = from.split_first().ok_or_else(cut_off)?;
        *from = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(ProtobufError("proto: integer overflow".to_owned()))
}

fn cut_off() -> ProtobufError {
    ProtobufError("unexpected EOF".to_owned())
}

fn write_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

pub(crate) fn varint(out: &mut Vec<u8>, number: u32, value: u64) {
    write_varint(out, u64::from(number) << 3 | VARINT);
    write_varint(out, value);
}

pub(crate) fn fixed64(out: &mut Vec<u8>, number: u32, value: u64) {
    write_varint(out, u64::from(number) << 3 | FIXED64);
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends a field of bytes, or an embedded message.
pub fn bytes(out: &mut Vec<u8>, number: u32, value: &[u8]) {
    write_varint(out, u64::from(number) << 3 | LENGTH);
    write_varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

/// Appends a field of text.
pub fn text(out: &mut Vec<u8>, number: u32, value: &str) {
    bytes(out, number, value.as_bytes());
}
