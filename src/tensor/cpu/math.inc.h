/* exp, log, tanh and the activations on vectors, without libm.
 *
 * Coefficients are minimax fits of our own (Remez by reweighted least squares in double precision, then rounded). The
 * errors are those of the float evaluation over the whole range:
 *   exp      relative 1e-7      2^n e^r, |r| <= ln 2 / 2, e^r = 1 + r + r^2 P(r)
 *   2^x      relative 2e-7      2^n 2^r, |r| <= 1/2
 *   log      absolute 1e-7      x = 2^n (1 + f), log(1 + f) = f - f^2 / 2 + f^3 P(f)
 *   tanh     relative 4e-7      x P(x^2) / Q(x^2), |x| clamped below 9
 *   GELU     absolute 5e-7      max(x, 0) - z Q(z), z = |x|, Q: the normal distribution's upper tail, one polynomial on
 *                               [0, 5.4]; beyond it z Q(z) < 2e-7
 *   GELU'    absolute 6e-7      g(z) for x < 0 and 1 - g(z) for x > 0, g(z) = Q(z) - z phi(z), one polynomial on [0, 5.6]
 *
 * The last two are polynomials in t = 2 z / c - 1 in [-1, 1], so their terms do not cancel. */

#define POLYNOMIAL(name, ...)                                                                                          \
  INLINE vf name(vf x) {                                                                                               \
    static const float c[] = {__VA_ARGS__};                                                                            \
    vf y = v_set(c[sizeof c / sizeof *c - 1]);                                                                         \
    _Pragma("GCC unroll 20") for (int i = (int)(sizeof c / sizeof *c) - 2; i >= 0; i--) y = v_fma(y, x, v_set(c[i]));  \
    return y;                                                                                                          \
  }

/* clang-format off */
POLYNOMIAL(exp_polynomial, 0.49999994f, 0.166665211f, 0.041668389f, 0.00836871658f, 0.00138145988f)
POLYNOMIAL(exp2_polynomial, 1.0f, 0.693147004f, 0.240222424f, 0.0555073395f, 0.00967151485f, 0.00132647238f)
POLYNOMIAL(log_polynomial, 0.333341658f, -0.250016987f, 0.199548751f, -0.165644258f, 0.149779946f, -0.143790081f,
           0.086721845f)
POLYNOMIAL(tanh_numerator, 1.0f, 0.133810207f, 0.00349558191f, 2.06089808e-05f, 1.33545273e-08f)
POLYNOMIAL(tanh_denominator, 1.0f, 0.467143357f, 0.0258769579f, 0.000328562455f, 7.776502e-07f)
POLYNOMIAL(tail_polynomial, 0.00346698589f, -0.028137058f, 0.102556311f, -0.215001002f, 0.267301828f, -0.154988363f,
           -0.0720344707f, 0.211938769f, -0.134943888f, -0.0491495319f, 0.119666398f, -0.0343686752f, -0.0417247489f,
           0.0245875102f, 0.00570922159f, -0.00487927999f)
POLYNOMIAL(slope_polynomial, -0.0196083803f, 0.129434511f, -0.333577782f, 0.306499153f, 0.383380085f, -1.35806179f,
           1.32877386f, 0.219196394f, -1.77139914f, 1.34765267f, 0.627161443f, -1.43625045f, 0.214100271f,
           0.700884044f, -0.234885827f, -0.178691939f, 0.056055557f, 0.0193372276f)
/* clang-format on */

INLINE vf v_exp(vf x) {
  x = v_max(v_min(x, 89.0f), -104.0f); /* beyond: infinite, and zero */
  vf n = v_round(x * v_set(1.44269504f));
  vf r = v_fnma(n, v_set(0.693359375f), x); /* ln 2 in two parts, the first of few bits */
  r = v_fnma(n, v_set(-2.12194440e-4f), r);
  return v_times_power(v_fma(r * r, exp_polynomial(r), r) + v_set(1.0f), n);
}

/* For x <= 128. */
INLINE vf v_exp2(vf x) {
  x = v_max(x, -150.0f);
  vf n = v_round(x);
  return v_times_power(exp2_polynomial(x - n), n);
}

/* For finite x >= FLT_MIN; NaN stays. */
INLINE vf v_log(vf x) {
  vi bits = (vi)x - 0x3f3504f3; /* relative to 1 / sqrt 2, so that 1 + f is in [1 / sqrt 2, sqrt 2) */
  vf n = v_to_float(bits >> 23);
  vf f = (vf)((bits & 0x7fffff) + 0x3f3504f3) - v_set(1.0f);
  vf square = f * f;
  vf y = v_fma(square * f, log_polynomial(f), v_fma(square, v_set(-0.5f), f));
  y = v_fma(n, v_set(-2.12194440e-4f), y);
  return v_fma(n, v_set(0.693359375f), y) + (x - x);
}

INLINE vf v_tanh(vf x) {
  x = v_max(v_min(x, 9.0f), -9.0f);
  vf u = x * x;
  return v_max(v_min(x * tanh_numerator(u) / tanh_denominator(u), 1.0f), -1.0f);
}

INLINE vf v_sigmoid(vf x) {
  return v_set(1.0f) / (v_set(1.0f) + v_exp(-x));
}

INLINE vf v_gelu(vf x) {
  vf z = v_min(v_abs(x), 5.4f);
  vf tail = tail_polynomial(v_fma(z, v_set(2.0f / 5.4f), v_set(-1.0f)));
  return v_fnma(z, tail, v_max(x, 0.0f));
}

INLINE vf v_gelu_slope(vf x) {
  vf z = v_min(v_abs(x), 5.6f);
  vf g = slope_polynomial(v_fma(z, v_set(2.0f / 5.6f), v_set(-1.0f)));
  return v_where_positive(x, v_set(1.0f) - g, g);
}

INLINE vf v_gelu_tanh(vf x) {
  vf inner = x * v_fma(x * x, v_set(0.0356774081f), v_set(0.797884561f)); /* sqrt(2 / pi) (x + 0.044715 x^3) */
  return v_set(0.5f) * x * (v_set(1.0f) + v_tanh(inner));
}

INLINE vf v_gelu_tanh_slope(vf x) {
  vf u = x * x;
  vf t = v_tanh(x * v_fma(u, v_set(0.0356774081f), v_set(0.797884561f)));
  vf inner_slope = v_fma(u, v_set(0.107032224f), v_set(0.797884561f));
  vf one = v_set(1.0f), half = v_set(0.5f);
  return half * (one + t) + half * x * (one - t * t) * inner_slope;
}

/* f(x); called with a constant activation, so that only one branch remains. */
INLINE vf v_activation(vf x, cq_activation activation) {
  switch (activation) {
  case CQ_IDENTITY: return x;
  case CQ_GELU: return v_gelu(x);
  case CQ_GELU_TANH: return v_gelu_tanh(x);
  case CQ_RELU: return v_max(x, 0.0f);
  case CQ_TANH: return v_tanh(x);
  case CQ_SIGMOID: return v_sigmoid(x);
  case CQ_SILU: return x * v_sigmoid(x);
  }
  return x;
}

/* f'(x), likewise. */
INLINE vf v_activation_slope(vf x, cq_activation activation) {
  vf one = v_set(1.0f);
  switch (activation) {
  case CQ_IDENTITY: return one;
  case CQ_GELU: return v_gelu_slope(x);
  case CQ_GELU_TANH: return v_gelu_tanh_slope(x);
  case CQ_RELU: return v_where_positive(x, one, v_set(0.0f));
  case CQ_TANH: {
    vf t = v_tanh(x);
    return one - t * t;
  }
  case CQ_SIGMOID: {
    vf s = v_sigmoid(x);
    return s * (one - s);
  }
  case CQ_SILU: {
    vf s = v_sigmoid(x);
    return s * (one + x * (one - s));
  }
  }
  return one;
}

/* Calls FUNCTION with the activation as a constant, one inlined copy each. */
#define FOR_ACTIVATION(activation, FUNCTION, ...)                                                                      \
  switch (activation) {                                                                                                \
  case CQ_IDENTITY: FUNCTION(__VA_ARGS__, CQ_IDENTITY); break;                                                         \
  case CQ_GELU: FUNCTION(__VA_ARGS__, CQ_GELU); break;                                                                 \
  case CQ_GELU_TANH: FUNCTION(__VA_ARGS__, CQ_GELU_TANH); break;                                                       \
  case CQ_RELU: FUNCTION(__VA_ARGS__, CQ_RELU); break;                                                                 \
  case CQ_TANH: FUNCTION(__VA_ARGS__, CQ_TANH); break;                                                                 \
  case CQ_SIGMOID: FUNCTION(__VA_ARGS__, CQ_SIGMOID); break;                                                           \
  case CQ_SILU: FUNCTION(__VA_ARGS__, CQ_SILU); break;                                                                 \
  }

/* cq_dropout_bits on LANES elements from i on. */
INLINE vu v_dropout_bits(uint64_t key, uint32_t i) {
  vu x = (v_iota() + (i + (uint32_t)key)) * 0x9e3779b1u ^ (uint32_t)(key >> 32);
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}
