//! Arithmetic on BSON numbers: the wider type wins, and 32 bits grow to 64.

use crate::bson::Value;

/// An arithmetic operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Multiply,
}

/// Why there is no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArithmeticError {
    /// An operand is not a number, or is a decimal.
    Type,
    /// The result does not fit 64 bits.
    Overflow,
}

/// As a double.
pub(crate) fn as_f64(value: &Value<'_>) -> Option<f64> {
    match *value {
        Value::Int32(value) => Some(f64::from(value)),
        Value::Int64(value) => Some(value as f64),
        Value::Double(value) => Some(value),
        _ => None,
    }
}

/// Applies an operator. Decimals are not supported.
pub(crate) fn calculate(
    left: &Value<'_>,
    operator: Operator,
    right: &Value<'_>,
) -> Result<Value<'static>, ArithmeticError> {
    let whole = |value: &Value<'_>| match *value {
        Value::Int32(value) => Some(i64::from(value)),
        Value::Int64(value) => Some(value),
        _ => None,
    };
    if let (Some(one), Some(other)) = (whole(left), whole(right)) {
        let result = match operator {
            Operator::Add => one.checked_add(other),
            Operator::Multiply => one.checked_mul(other),
        }
        .ok_or(ArithmeticError::Overflow)?;
        let narrow = matches!((left, right), (Value::Int32(_), Value::Int32(_)));
        return Ok(match i32::try_from(result) {
            Ok(result) if narrow => Value::Int32(result),
            _ => Value::Int64(result),
        });
    }
    match (as_f64(left), as_f64(right)) {
        (Some(one), Some(other)) => Ok(Value::Double(match operator {
            Operator::Add => one + other,
            Operator::Multiply => one * other,
        })),
        _ => Err(ArithmeticError::Type),
    }
}
