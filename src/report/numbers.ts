/** Numbers as people read them, the same in every locale. */

/** Four significant digits, thousands grouped: `12,350`, `8.123`, `0.001234`. */
export function formatNumber(value: number): string {
  const rounded = Number(value.toPrecision(4))
  if (rounded !== 0 && (Math.abs(rounded) < 1e-4 || Math.abs(rounded) >= 1e15)) return String(rounded)
  const [whole = '', fraction] = String(rounded).split('.')
  const grouped = whole.replaceAll(/\B(?=(\d{3})+$)/g, ',')
  return (fraction === undefined ? grouped : `${grouped}.${fraction}`).replace('-', '−')
}

/** One decimal, always with its sign: `+8.1 %`, `−0.3 %`, `±0.0 %`. */
export function formatPercent(percent: number): string {
  return `${signed(percent)} %`
}

/** An interval of percents: `+7.2 … +9.0`. */
export function formatRange(lo: number, hi: number): string {
  return `${signed(lo)} … ${signed(hi)}`
}

function signed(percent: number): string {
  const digits = Math.abs(percent).toFixed(1)
  return digits === '0.0' ? '±0.0' : `${percent < 0 ? '−' : '+'}${digits}`
}
