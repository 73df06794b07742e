use proptest::prelude::*;

use super::*;

fn price(text: &str) -> Price {
    Price::parse(text).unwrap()
}

#[test]
fn prices_are_decimals_within_bounds() {
    for (text, parts) in [
        ("0", 0),
        ("0.002", 2_000_000_000),
        ("1", 1_000_000_000_000),
        ("007.50", 7_500_000_000_000),
        ("0.000000000001", 1),
        ("999999999.999999999999", 999_999_999_999_999_999_999),
    ] {
        assert_eq!(price(text).parts, parts, "{text}");
    }
    for wrong in ["", ".", "1.", ".5", "-1", "+1", "1e3", "1,5", " 1", "1.2.3", "١", "1234567890", "0.0000000000001"] {
        assert!(Price::parse(wrong).unwrap_err().contains("is no price"), "{wrong}");
    }
}

#[test]
fn costs_are_exact_beyond_what_a_double_holds() {
    assert_eq!(price("0.000000001").times(9_007_199_254_740_994.0), 9_007_199_254_740_994);
    assert_eq!(price("0.002").times(1.0), 2_000_000);
    // The double nearest to 0.1 is a little more than that, by less than a nano here.
    assert_eq!(price("3").times(0.1), 300_000_000);
    assert_eq!(price("999999999.999999999999").times(9.0), 8_999_999_999_999_999_999 + 1);
}

#[test]
fn halves_go_to_the_even_neighbour() {
    for (quantity, nanos) in [(0.5, 0), (1.5, 2), (2.5, 2), (3.5, 4), (0.499, 0), (0.501, 1), (2.500_001, 3)] {
        assert_eq!(price("0.000000001").times(quantity), nanos, "{quantity}");
    }
    for (text, nanos) in [("0.0000000005", 0), ("0.0000000015", 2), ("0.000000002500", 2), ("0.000000002501", 3)] {
        assert_eq!(price(text).times(1.0), nanos, "{text}");
    }
}

#[test]
fn the_ends_of_the_scale() {
    let most = price("999999999.999999999999");
    for (price, quantity, nanos) in [
        (most, f64::MAX, i64::MAX),
        (most, f64::INFINITY, i64::MAX),
        (most, 9.3, i64::MAX),
        (most, f64::MIN_POSITIVE, 0),
        (most, 5e-324, 0),
        (price("0"), f64::MAX, 0),
        (price("0"), f64::INFINITY, 0),
        (price("0.000000000001"), f64::MAX, i64::MAX),
        (price("1"), 0.0, 0),
        (price("1"), -0.0, 0),
        (price("1"), -1.0, 0),
        (price("1"), f64::NAN, 0),
        (price("1"), 9_223_372_036.0, 9_223_372_036_000_000_000),
        (price("1"), 9_223_372_037.0, i64::MAX),
    ] {
        assert_eq!(price.times(quantity), nanos, "{price:?} {quantity:e}");
    }
}

#[test]
fn what_has_no_price_has_no_cost() {
    let prices = Prices {
        currency: "USD".into(),
        tools: [("t".to_owned(), [("calls".to_owned(), price("0.5"))].into())].into(),
    };
    assert_eq!(prices.cost_nanos("t", "calls", 2.0), Some(1_000_000_000));
    assert_eq!(prices.cost_nanos("t", "pages", 2.0), None);
    assert_eq!(prices.cost_nanos("u", "calls", 2.0), None);
}

/// Multiplication as on paper, on decimal digits: every double is a finite decimal, which the standard library writes out.
mod paper {
    /// Digits, the last one first, and how many of them stand behind the point.
    pub(super) struct Decimal(Vec<u8>, usize);

    pub(super) fn read(text: &str) -> Decimal {
        let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
        Decimal(format!("{whole}{decimals}").bytes().rev().map(|digit| digit - b'0').collect(), decimals.len())
    }

    fn product(a: &Decimal, b: &Decimal) -> Decimal {
        let mut digits = vec![0_u8; a.0.len() + b.0.len() + 1];
        for (i, x) in a.0.iter().enumerate() {
            let mut carry = 0;
            for (j, y) in b.0.iter().chain(std::iter::repeat_n(&0, digits.len() - i - b.0.len())).enumerate() {
                let sum = digits[i + j] + x * y + carry;
                (digits[i + j], carry) = (sum % 10, sum / 10);
            }
        }
        Decimal(digits, a.1 + b.1)
    }

    /// In thousand-millionths, half to even, at most `i64::MAX`.
    pub(super) fn nanos(a: &Decimal, b: &Decimal) -> i64 {
        let Decimal(mut digits, scale) = product(a, b);
        let cut = if let Some(cut) = scale.checked_sub(9) {
            cut
        } else {
            digits.splice(0..0, std::iter::repeat_n(0, 9 - scale));
            0
        };
        digits.resize(digits.len().max(cut + 1), 0);
        let (rest, whole) = digits.split_at(cut);
        let mut number = String::from_utf8(whole.iter().rev().map(|digit| digit + b'0').collect()).unwrap();
        number = number.trim_start_matches('0').to_owned();
        if number.len() > 19 {
            return i64::MAX;
        }
        let number: u128 = if number.is_empty() { 0 } else { number.parse().unwrap() };
        let first = rest.last().copied().unwrap_or(0);
        let more = rest.iter().rev().skip(1).any(|digit| *digit != 0);
        let up = first > 5 || (first == 5 && (more || number % 2 == 1));
        i64::try_from(number + u128::from(up)).unwrap_or(i64::MAX)
    }
}

/// Any double that a tool may report, and those at which costs are neither 0 nor too large more often than chance has them.
fn quantity() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>().prop_map(f64::abs).prop_filter("finite", |value| value.is_finite()),
        (0_u64..1 << 53, -70_i32..40).prop_map(|(mantissa, exponent)| {
            #[allow(clippy::cast_precision_loss, reason = "53 bits fit")]
            let mantissa = mantissa as f64;
            mantissa * f64::from(exponent).exp2()
        }),
        (0_u32..100_000).prop_map(|halves| f64::from(halves) / 2.0),
        (0_u32..100_000).prop_map(|cents| f64::from(cents) / 100.0),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn costs_are_what_paper_says(text in "[0-9]{1,9}(\\.[0-9]{1,12})?|0\\.0{0,11}[0-9]", quantity in quantity()) {
        // With all the digits that a double can have; the shortest text that reads back as one is not that one.
        let exact = paper::nanos(&paper::read(&text), &paper::read(&format!("{quantity:.1074}")));
        prop_assert_eq!(price(&text).times(quantity), exact, "{} x {:e}", text, quantity);
    }
}
