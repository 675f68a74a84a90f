//! The distribution functions against vectors made with SciPy (`reference/distributions.py`).

use tare_stats::distribution::{
    Contrasts, erfc, f_cdf, f_quantile, incomplete_beta, ln_gamma, normal_cdf, normal_quantile,
    power_two_sided, student_cdf, student_quantile,
};

const VECTORS: &str = include_str!("../reference/distributions.csv");

/// How far a result may be from its reference, relatively.
fn tolerance(function: &str) -> f64 {
    match function {
        "erfc" | "normal_cdf" | "normal_quantile" => 5e-15,
        "ln_gamma" => 2e-14,
        "incomplete_beta" => 5e-13,
        "student_cdf" | "f_cdf" | "f_quantile" => 1e-11,
        // SciPy's own are off by up to 4e-11, as one degree of freedom shows: see the closed forms below.
        "student_quantile" => 1e-10,
        // One degree of freedom and a critical value of 104 are the worst; from two on it is 1e-8.
        "dunnett_critical" => 1e-6,
        // The reference itself is integrated to about 1e-10.
        _ => 2e-8,
    }
}

fn compute(function: &str, x: &[f64]) -> f64 {
    let contrasts = |k: f64, degrees, correlation| Contrasts {
        arms: k as usize,
        degrees,
        correlation,
    };
    match (function, x) {
        ("erfc", &[x]) => erfc(x),
        ("normal_cdf", &[x]) => normal_cdf(x),
        ("normal_quantile", &[p]) => normal_quantile(p),
        ("ln_gamma", &[x]) => ln_gamma(x),
        ("incomplete_beta", &[a, b, x]) => incomplete_beta(a, b, x),
        ("student_cdf", &[t, nu]) => student_cdf(t, nu),
        ("student_quantile", &[p, nu]) => student_quantile(p, nu),
        ("f_quantile", &[p, above, below]) => f_quantile(p, above, below),
        ("f_cdf", &[f, above, below]) => f_cdf(f, above, below),
        ("dunnett", &[c, k, nu, rho]) => contrasts(k, nu, rho).all_within(c),
        ("dunnett_critical", &[alpha, k, nu, rho]) => contrasts(k, nu, rho).critical(alpha),
        ("power", &[c, nu, shift]) => power_two_sided(c, nu, shift),
        _ => panic!("no such function: {function} {x:?}"),
    }
}

#[test]
fn every_function_agrees_with_scipy() {
    let mut checked = std::collections::BTreeMap::new();
    let mut wrong = Vec::new();
    for line in VECTORS.lines().filter(|line| !line.starts_with('#')) {
        let (function, numbers) = line.split_once(',').expect("a name and numbers");
        let numbers: Vec<f64> = numbers
            .split(',')
            .map(|n| n.parse().expect("a number"))
            .collect();
        let (want, arguments) = numbers.split_last().expect("a value");
        let got = compute(function, arguments);
        let error = (got - want).abs() / want.abs().max(1e-300);
        // Relative, except next to 0, where ln Γ crosses it and the tails of erfc underflow.
        if !(error <= tolerance(function) || (got - want).abs() <= 1e-15) {
            wrong.push(format!("{line}: got {got:e}, off by {error:e}"));
        }
        *checked.entry(function).or_insert(0) += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(checked.len(), 12, "functions covered: {checked:?}");
    assert!(checked.values().sum::<i32>() > 300);
}

#[test]
fn students_quantiles_agree_with_their_closed_forms() {
    for p in [1e-9, 0.001, 0.05, 0.4, 0.6, 0.9, 0.975, 0.99917] {
        let one = -1.0 / (std::f64::consts::PI * p).tan();
        let two = (2.0 * p - 1.0) / (2.0 * p * (1.0 - p)).sqrt();
        for (degrees, want) in [(1.0, one), (2.0, two)] {
            let got = student_quantile(p, degrees);
            assert!(
                (got / want - 1.0).abs() < 1e-12,
                "{p} {degrees}: {got} for {want}"
            );
        }
    }
}

#[test]
fn dunnetts_critical_values_agree_with_the_published_tables() {
    // C. W. Dunnett, Biometrics 20 (1964), two-sided 5 %, two decimals.
    for (arms, degrees, published) in [
        (2, 5.0, 3.03),
        (3, 5.0, 3.29),
        (2, 10.0, 2.57),
        (3, 10.0, 2.76),
        (4, 10.0, 2.89),
        (2, 20.0, 2.38),
        (4, 20.0, 2.65),
        (3, f64::INFINITY, 2.35),
    ] {
        let contrasts = Contrasts {
            arms,
            degrees,
            correlation: 0.5,
        };
        let got = contrasts.critical(0.05);
        assert!((got - published).abs() <= 0.0051, "{arms} {degrees}: {got}");
    }
}

#[test]
fn quantiles_outside_the_unit_interval_are_not_numbers() {
    assert!(normal_quantile(-0.1).is_nan() && normal_quantile(1.1).is_nan());
    assert!(student_quantile(f64::NAN, 4.0).is_nan());
    assert_eq!(normal_quantile(1.0), f64::INFINITY);
    assert_eq!(student_quantile(0.0, 4.0), f64::NEG_INFINITY);
}
