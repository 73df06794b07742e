//! What tools cost: exact decimals, and a quantity's cost without a rounding in between.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

/// The most digits of a price before its point, and behind it. A token can be as cheap as a millionth of a millionth; and with
/// these, price times quantity fits into 128 bits, whatever the quantity.
const MAX_WHOLE_DIGITS: usize = 9;
const MAX_DECIMALS: usize = 12;
/// How many parts of a price make one thousand-millionth of the currency.
const PARTS_PER_NANO: u128 = 10_u128.pow(12 - 9);

/// The bits of a double's fraction, and the exponent of its last bit where the exponent field is 0.
const FRACTION_BITS: u32 = 52;
const LEAST_EXPONENT: i32 = -1_074;

/// What tools cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prices {
    /// An ISO 4217 code; empty where nothing has a price.
    pub currency: String,
    /// By tool, as called, and unit.
    pub tools: BTreeMap<String, BTreeMap<String, Price>>,
}

impl Prices {
    /// What a quantity of a tool's unit costs, in thousand-millionths of the currency; none where the unit has no price.
    #[must_use]
    pub fn cost_nanos(&self, tool: &str, unit: &str, quantity: f64) -> Option<i64> {
        Some(self.tools.get(tool)?.get(unit)?.times(quantity))
    }
}

/// A price of one unit: an exact decimal, 0 or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// In millionths of a millionth of the currency.
    parts: u128,
}

impl Price {
    /// Reads `"0.002"`: digits, and at most one point between them.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let digits =
            |text: &str, most| (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        let parts = if digits(whole, MAX_WHOLE_DIGITS) && digits(decimals, MAX_DECIMALS) {
            format!("{whole}{decimals:0<MAX_DECIMALS$}").parse().ok()
        } else {
            None
        };
        parts.map(|parts| Self { parts }).ok_or_else(|| {
            format!(
                "{text:?} is no price; expected 1 to {MAX_WHOLE_DIGITS} digits, then at most a point and 1 to {MAX_DECIMALS} \
                 digits, such as \"0.002\""
            )
        })
    }

    /// This price times a quantity, in thousand-millionths of the currency: the exact product, rounded once, half to even, and at
    /// most `i64::MAX`. A quantity that is negative or no number costs nothing.
    #[must_use]
    pub fn times(self, quantity: f64) -> i64 {
        if quantity.is_nan() || quantity <= 0.0 {
            return 0;
        }
        if quantity.is_infinite() {
            return if self.parts == 0 { 0 } else { i64::MAX };
        }
        let (mantissa, exponent) = mantissa_and_exponent(quantity);
        // Below 2^123: 53 bits times 21 decimal digits.
        let product = self.parts * u128::from(mantissa);
        let nanos = if exponent < 0 {
            // What a divisor that does not fit divides comes to less than a half.
            PARTS_PER_NANO
                .checked_mul(shifted(1, exponent.unsigned_abs()).unwrap_or(u128::MAX))
                .map_or(0, |divisor| half_to_even(product, divisor))
        } else {
            shifted(product, exponent.unsigned_abs()).map_or(u128::MAX, |parts| half_to_even(parts, PARTS_PER_NANO))
        };
        i64::try_from(nanos).unwrap_or(i64::MAX)
    }
}

/// A double that is positive and finite as mantissa times a power of two, exactly.
fn mantissa_and_exponent(value: f64) -> (u64, i32) {
    let bits = value.to_bits();
    let fraction = bits & ((1 << FRACTION_BITS) - 1);
    match i32::try_from(bits >> FRACTION_BITS).unwrap_or(0) {
        0 => (fraction, LEAST_EXPONENT),
        exponent => (fraction | 1 << FRACTION_BITS, exponent - 1 + LEAST_EXPONENT),
    }
}

/// `value` times two to the power of `bits`, where that fits.
fn shifted(value: u128, bits: u32) -> Option<u128> {
    (value == 0 || bits <= value.leading_zeros()).then(|| value.checked_shl(bits).unwrap_or(0))
}

fn half_to_even(dividend: u128, divisor: u128) -> u128 {
    let (quotient, rest) = (dividend / divisor, dividend % divisor);
    let up = match rest.cmp(&(divisor - rest)) {
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Equal => quotient % 2 == 1,
        std::cmp::Ordering::Greater => true,
    };
    quotient + u128::from(up)
}
